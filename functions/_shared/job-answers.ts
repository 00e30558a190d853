/** What the jobs API answers, and `/run`. */
import { z } from "zod";
import { CALL_ERRORS } from "#core/domain/call-error.ts";
import { JOB_STATUSES, TRIGGERS } from "#core/domain/job.ts";
import { PRIORITIES } from "#core/domain/queue.ts";
import { answeredInstant, jobIdText, pageOf, taskIdText } from "./answer-types.ts";
import { answeredRequest, listedRequest } from "./task-answers.ts";

const phaseMs = z.number().nullable();

const timings = z
  .strictObject({
    dnsMs: phaseMs,
    connectMs: phaseMs,
    tlsMs: phaseMs,
    firstByteMs: phaseMs.describe("From the request to the answer's status and headers."),
    totalMs: z.number(),
  })
  .describe(
    "Milliseconds of each phase; null for one that did not happen (a warm connection dials nothing) or did not end.",
  );

/** Text: there may be further codes. */
export const callError = z
  .string()
  .describe(
    `Why no answer came, by a stable code. ${Object.entries(CALL_ERRORS)
      .map(([code, meaning]) => `\`${code}\`: ${meaning}.`)
      .join(" ")}`,
  )
  .meta({ examples: ["timeout"] });

const attempt = z.strictObject({
  attempt: z.int().describe("As the endpoint got it in `X-Attempt`."),
  claimedAt: answeredInstant.nullable().describe("When an executor took the job."),
  startedAt: answeredInstant.describe("When it was sent."),
  lagMs: z
    .int()
    .describe(
      "Sent minus due: of the first attempt of `trigger: schedule` `scheduledAt`, of any other its `runAt`.",
    ),
  durationMs: z.number().describe("From `startedAt` to the end."),
  timings: timings.nullable().describe("null when nothing was dialled or sent."),
  statusCode: z.int().nullable(),
  error: callError.nullable().describe("null when an answer came."),
  responseBody: z
    .string()
    .nullable()
    .describe("The first bytes of the answer: 128 of a success, 1,024 of a failure."),
});

const missed = z
  .strictObject({
    count: z.int(),
    from: answeredInstant,
    to: answeredInstant,
    atLeast: z.literal(true).optional().describe("Counting stopped: it may be more."),
  })
  .describe("Several runs that did not happen, which this job stands for.");

const jobFields = {
  id: jobIdText,
  taskId: taskIdText,
  trigger: z.enum(TRIGGERS),
  status: z.enum(JOB_STATUSES),
  priority: z.enum(PRIORITIES),
  scheduledAt: answeredInstant,
  runAt: answeredInstant.describe("When the next call may be sent, or the last one might."),
  attempt: z
    .int()
    .min(0)
    .describe(
      "Calls so far, the one under way included; a due job that is `running` may still wait for its turn, for at most half a minute.",
    ),
  maxAttempts: z.int(),
  attempts: z.array(attempt).describe("The newest 30, in their order."),
  finishedAt: answeredInstant.nullable(),
  reason: z
    .string()
    .nullable()
    .describe(
      "Why it ended as it did, where that is not a success, or why it is to end; of one that is `waiting`, for which limit: `waiting: limit of https://api.example.com`.",
    ),
  limit: z
    .string()
    .nullable()
    .describe(
      "The limit in whose line it is or last was, in every status: an endpoint, which the limit of all calls may have slowed too, or `all calls`. null: in none, or it was taken away meanwhile.",
    ),
  retryOf: jobIdText.nullable().describe("The archived job of which it is another try."),
  missed: missed.nullable(),
};

/** What came of a test call, beside its job. */
const outcomeFields = {
  status: z.enum(["succeeded", "dead", "cancelled"]),
  reason: jobFields.reason,
  statusCode: attempt.shape.statusCode,
  error: attempt.shape.error,
  durationMs: z.number().nullable().describe("null when nothing was sent."),
  timings: attempt.shape.timings,
  responseBody: z
    .string()
    .nullable()
    .describe("The first 1,024 bytes of the answer; null where the task does not keep answers."),
};

/** History keeps a long body as its size and hash. */
const jobRequest = answeredRequest.extend({
  bodyBytes: z.int().min(0).optional(),
  bodySha256: z
    .string()
    .optional()
    .describe(
      "Of an archived job whose body is longer than 256 bytes, which history does not keep.",
    ),
});

export const jobAnswer = z.strictObject({
  ...jobFields,
  request: jobRequest
    .nullable()
    .describe("What is sent; null once the task's request of that time is gone."),
});
export const testAnswer = z.strictObject({ ...outcomeFields, job: jobAnswer });
export const listedJob = z.strictObject({ ...jobFields, request: listedRequest.nullable() });
export const jobPage = pageOf(listedJob).extend({
  historyAvailable: z
    .literal(false)
    .optional()
    .describe("Only where history could not be asked: archived jobs are missing."),
});

export const deadLetter = listedJob.extend({
  diedAt: answeredInstant.describe("By what the list is sorted; just before or at `finishedAt`."),
});
export const deadLetterPage = pageOf(deadLetter);

export const retriedAnswer = z.strictObject({
  matched: z
    .int()
    .describe("Dead letters that the filter matches and whose task is there, up to `limit`."),
  moved: z.int().describe("Those that are in line again."),
  failed: z
    .int()
    .describe(
      "Those that are not: not dead any more, their task gone just now, or as many attempts made as a job can.",
    ),
});
