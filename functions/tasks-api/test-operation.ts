/** POST …/test: answers what came of the call, or the job when it is not over yet. */
import type { AttemptRecord, Job } from "#core/domain/job.ts";
import { TEST_WAIT_MS } from "#core/domain/limits.ts";
import { requestOfJob } from "#core/domain/request-of-job.ts";
import type { MadeRun } from "#core/ports/task-store.ts";
import type { TaskServiceDeps } from "#core/services/tasks/task-settings.ts";
import { TEST_LIMIT, testTask } from "#core/services/tasks/test-task.ts";
import type { ApiAnswer, ApiRequest } from "../_shared/api-event.ts";
import { noQuery, nothingSchema } from "../_shared/field-types.ts";
import { presentJob, presentTimings } from "../_shared/present-job.ts";
import { HttpProblem } from "../_shared/problem.ts";
import { noSuchTask, queryOf, taskIdOf } from "../_shared/read-request.ts";
import { validate } from "../_shared/validate.ts";

/** What is left of the request's time for the last look and the answer. */
const ANSWER_MS = 1_500;

export async function testOperation(
  deps: TaskServiceDeps,
  request: ApiRequest,
): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  validate(nothingSchema, request.json);
  const { principal, deadlineMs, abandoned } = request;
  const untilMs = Math.min(deps.clock.monotonicMs() + TEST_WAIT_MS, deadlineMs - ANSWER_MS);
  const wait = { untilMs, abandoned };
  const tested = await testTask(deps, principal.tenantId, taskIdOf(request), wait);
  switch (tested.kind) {
    case "not-found":
      throw noSuchTask();
    case "limited":
      throw tooManyTests(tested.retryAfterMs);
    case "under-way":
      return answer(202, tested, presentedJob(tested, deps));
    case "ended": {
      const { job } = tested;
      const outcome = presentOutcome(job);
      return answer(200, tested, { ...outcome, job: presentedJob(tested, deps) });
    }
  }
}

function answer(status: number, { job }: MadeRun, json: unknown): ApiAnswer {
  return { status, headers: { location: `/v1/jobs/${job.id}` }, body: { json } };
}

function presentedJob({ job, version }: MadeRun, { clock }: Pick<TaskServiceDeps, "clock">) {
  return presentJob({ job, request: requestOfJob(job, version.request) }, clock.nowMs());
}

function presentOutcome(job: Job) {
  const record: AttemptRecord | undefined = job.attempts[job.claimNo];
  return {
    status: job.status,
    reason: job.reason,
    statusCode: record?.statusCode ?? null,
    error: record?.error ?? null,
    durationMs: record?.durationMs ?? null,
    timings: presentTimings(record?.timings),
    responseBody: record?.responseBody ?? null,
  };
}

function tooManyTests(retryAfterMs: number): HttpProblem {
  const { callsMax, windowMs } = TEST_LIMIT;
  const detail = `the tenant has had ${callsMax} tests in ${windowMs / 1_000} s, which is as many as it may`;
  const headers = { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) };
  return new HttpProblem(429, detail, { headers });
}
