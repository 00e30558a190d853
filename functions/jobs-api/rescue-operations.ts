/** Retry and cancel of one job; dead letters and their retry. */
import { LAST_INSTANT_MS } from "#core/domain/cron.ts";
import type { JobId } from "#core/domain/ids.ts";
import { parseJobId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import { JOB_ATTEMPTS_MAX } from "#core/domain/limits.ts";
import type { DeadLetterFilter, DeadLetterPlace } from "#core/ports/job-store.ts";
import { cancelJob } from "#core/services/jobs/cancel-job.ts";
import type { JobWithRequest } from "#core/services/jobs/get-job.ts";
import { type ListedDeadLetter, listDeadLetters } from "#core/services/jobs/list-dead-letters.ts";
import { retryDeadLetters } from "#core/services/jobs/retry-dead-letters.ts";
import { type RetryDeps, retryJob } from "#core/services/jobs/retry-job.ts";
import type { ApiAnswer, ApiRequest } from "../_shared/api-event.ts";
import { readCursor, writeCursor } from "../_shared/cursor.ts";
import { noQuery, nothingSchema } from "../_shared/field-types.ts";
import { idempotencyOf, replay } from "../_shared/idempotent.ts";
import { deadLettersQuery, retryDeadLettersSchema } from "../_shared/job-schema.ts";
import { writePage } from "../_shared/page.ts";
import { presentDeadLetter, presentJob } from "../_shared/present-job.ts";
import { isoInstant } from "../_shared/present-request.ts";
import { fieldsProblem, HttpProblem } from "../_shared/problem.ts";
import { historyAway, jobIdOf, noSuchJob, queryOf } from "../_shared/read-request.ts";
import { validate } from "../_shared/validate.ts";

export interface RescueDeps extends RetryDeps {
  readonly retention: Retention;
}

export async function retryOperation(deps: RescueDeps, request: ApiRequest): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  validate(nothingSchema, request.json);
  const jobId = jobIdOf(request);
  const answerOf = (made: JobWithRequest): ApiAnswer => ({
    status: 202,
    headers: { location: `/v1/jobs/${made.job.id}` },
    body: { json: presentJob(made, deps.clock.nowMs()) },
  });
  const idempotency = await idempotencyOf(request, `POST /v1/jobs/${jobId}/retry`, answerOf);
  const { tenantId, quotas } = request.principal;
  const result = await retryJob(deps, tenantId, jobId, idempotency, quotas.weight);
  switch (result.kind) {
    case "moved":
      return answerOf(result);
    case "not-found":
      throw noSuchJob();
    case "not-dead":
      throw new HttpProblem(409, "the job is not dead: only dead jobs are retried");
    case "test":
      throw new HttpProblem(409, "the job is a test, which is sent once: test its task again");
    case "task-gone":
      throw new HttpProblem(409, "the job's task is deleted");
    case "attempts-full":
      throw new HttpProblem(
        409,
        `the job may not make more than ${JOB_ATTEMPTS_MAX} attempts: run its task instead`,
      );
    case "body-not-kept":
      throw new HttpProblem(
        409,
        "the job is archived, and the long body that it was run with has not been kept: run the task with it",
      );
    case "fits-no-longer": {
      const told = result.faults.slice(0, 3).map(({ field, message }) => `${field} ${message}`);
      throw new HttpProblem(
        409,
        `the job is archived, and what it was run with does not fit its task as it is now (${told.join("; ")}): run the task instead`,
      );
    }
    case "history-away":
      throw historyAway();
    default:
      return replay(result);
  }
}

export async function cancelOperation(deps: RescueDeps, request: ApiRequest): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  validate(nothingSchema, request.json);
  const result = await cancelJob(deps, request.principal.tenantId, jobIdOf(request));
  switch (result.kind) {
    case "cancelled":
    case "marked":
      return {
        status: result.kind === "cancelled" ? 200 : 202,
        body: { json: presentJob(result, deps.clock.nowMs()) },
      };
    case "finished":
      throw new HttpProblem(409, "the job has finished");
    case "not-found":
      throw noSuchJob();
    case "history-away":
      throw historyAway();
  }
}

export async function listDeadLettersOperation(
  deps: RescueDeps,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const { limit, cursor, ...asked } = validate(deadLettersQuery, queryOf(request));
  const filter = filterOf(asked);
  const { tenantId } = request.principal;
  const scope = { tenantId, list: "dead letters", filter: { ...filter } };
  const text = readCursor(scope, cursor, (place) => (parsePlace(place) === null ? null : place));
  const before = text === null ? null : parsePlace(text);
  const page = await listDeadLetters(deps, tenantId, filter, before, limit);
  const nowMs = deps.clock.nowMs();
  const written = writePage(
    page,
    (item: ListedDeadLetter) => presentDeadLetter(item, nowMs),
    ({ diedAtMs, job }) => writeCursor(scope, `${diedAtMs} ${job.id}`),
  );
  return { status: 200, body: { text: written } };
}

export async function retryDeadLettersOperation(
  deps: RescueDeps,
  request: ApiRequest,
): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const { limit, perSecond, ...asked } = validate(retryDeadLettersSchema, request.json);
  const { tenantId, quotas } = request.principal;
  const pace = { limit, perSecond, weight: quotas.weight };
  const retried = await retryDeadLetters(deps, tenantId, filterOf(asked), pace);
  if (retried.kind === "passed-over") {
    const to = isoInstant(retried.downToMs + 1);
    const message = `must be ${to} or earlier: what died later is of deleted tasks, and more than one request passes over`;
    throw fieldsProblem([{ field: "to", message }]);
  }
  const { matched, moved, failed } = retried;
  return { status: 202, body: { json: { matched, moved, failed } } };
}

function filterOf({
  taskId,
  from,
  to,
}: {
  readonly taskId?: DeadLetterFilter["taskId"] | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}): DeadLetterFilter {
  return { taskId: taskId ?? null, fromMs: from ?? null, toMs: to ?? null };
}

function parsePlace(text: string): DeadLetterPlace | null {
  const [, ms = "", id = ""] = /^(\d{1,15}) (job_\w+)$/.exec(text) ?? [];
  const jobId: JobId | null = parseJobId(id);
  const diedAtMs = Number(ms);
  return jobId === null || diedAtMs > LAST_INSTANT_MS ? null : { diedAtMs, jobId };
}
