/** What the examples of the documentation are made of. */

export const TASK_EXAMPLE = {
  id: "task_01m7v41f00emv820g30g2gc1r8",
  name: "digest",
  description: null,
  tags: ["nightly"],
  status: "active",
  schedule: { type: "cron", expression: "0 9 * * *", timezone: "Europe/Madrid" },
  priority: "high",
  request: {
    method: "POST",
    url: "https://example.com/hook",
    headers: { "content-type": "application/json" },
    body: '{"a":1}',
  },
  timeoutSeconds: 30,
  retry: {
    maxAttempts: 3,
    initialDelaySeconds: 10,
    factor: 3,
    maxDelaySeconds: 21_600,
    jitter: 0.2,
    retryOn: null,
  },
  captureResponse: true,
  catchUp: "all",
  startAt: null,
  endAt: null,
  nextRunAt: "2026-12-01T08:00:00.000Z",
  error: null,
  version: 1,
  createdAt: "2026-11-20T00:00:00.000Z",
  updatedAt: "2026-11-20T00:00:00.000Z",
};

const { body, ...headOfRequest } = TASK_EXAMPLE.request;
export const LISTED_TASK_EXAMPLE = {
  ...TASK_EXAMPLE,
  request: { ...headOfRequest, bodyBytes: body.length },
};

const FIRST_ATTEMPT = {
  attempt: 1,
  claimedAt: "2026-12-01T07:59:59.131Z",
  startedAt: "2026-12-01T08:00:00.004Z",
  lagMs: 4,
  durationMs: 81,
  timings: { dnsMs: 1.2, connectMs: 14.8, tlsMs: 31.4, firstByteMs: 33.1, totalMs: 80.9 },
  statusCode: 500,
  error: null,
  responseBody: "no",
};

export const JOB_EXAMPLE = {
  id: "job_00t4c4y4g0038fp82y00x9pg41061050r3gg000",
  taskId: TASK_EXAMPLE.id,
  trigger: "schedule",
  status: "dead",
  priority: "high",
  scheduledAt: "2026-12-01T08:00:00.000Z",
  runAt: "2026-12-01T08:00:41.000Z",
  attempt: 3,
  maxAttempts: 3,
  attempts: [
    FIRST_ATTEMPT,
    {
      attempt: 2,
      claimedAt: "2026-12-01T08:00:09.122Z",
      startedAt: "2026-12-01T08:00:10.002Z",
      lagMs: 2,
      durationMs: 30_000,
      timings: { dnsMs: 0.9, connectMs: 15.1, tlsMs: 30.2, firstByteMs: null, totalMs: 30_000.3 },
      statusCode: null,
      error: "timeout",
      responseBody: null,
    },
    {
      attempt: 3,
      claimedAt: "2026-12-01T08:00:40.117Z",
      startedAt: "2026-12-01T08:00:41.003Z",
      lagMs: 3,
      durationMs: 75,
      timings: { dnsMs: 1, connectMs: 14.6, tlsMs: 30.8, firstByteMs: 28.2, totalMs: 75.1 },
      statusCode: 500,
      error: null,
      responseBody: "no",
    },
  ],
  request: TASK_EXAMPLE.request,
  finishedAt: "2026-12-01T08:00:41.078Z",
  reason: "attempts used up",
  limit: null,
  retryOf: null,
  missed: null,
};

export const LISTED_JOB_EXAMPLE = { ...JOB_EXAMPLE, request: LISTED_TASK_EXAMPLE.request };

export const MANUAL_JOB_EXAMPLE = {
  ...JOB_EXAMPLE,
  id: "job_00t4c4y4g0038fp82y00x9pg41061050r3gg1yn",
  trigger: "manual",
  status: "pending",
  runAt: JOB_EXAMPLE.scheduledAt,
  attempt: 0,
  attempts: [],
  finishedAt: null,
  reason: null,
};

export const RETRIED_JOB_EXAMPLE = {
  ...JOB_EXAMPLE,
  status: "pending",
  runAt: "2026-12-01T10:00:00.000Z",
  maxAttempts: 6,
  finishedAt: null,
  reason: null,
};

export const CANCELLED_JOB_EXAMPLE = {
  ...MANUAL_JOB_EXAMPLE,
  status: "cancelled",
  finishedAt: "2026-12-01T08:00:01.000Z",
  reason: "cancelled by caller",
};

const { statusCode, error, durationMs, timings, responseBody } = FIRST_ATTEMPT;

export const TEST_JOB_EXAMPLE = {
  ...MANUAL_JOB_EXAMPLE,
  trigger: "test",
  maxAttempts: 1,
};

export const TEST_EXAMPLE = {
  ...{ status: "dead", reason: "attempts used up", statusCode, error, durationMs, timings },
  responseBody,
  job: {
    ...TEST_JOB_EXAMPLE,
    status: "dead",
    attempt: 1,
    attempts: [FIRST_ATTEMPT],
    finishedAt: "2026-12-01T08:00:00.085Z",
    reason: "attempts used up",
  },
};
