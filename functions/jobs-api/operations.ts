/** The operations of the jobs API: parse, call a service, map the result. */
import type { JobId } from "#core/domain/ids.ts";
import { parseJobId } from "#core/domain/ids.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { JobServiceDeps } from "#core/services/jobs/get-job.ts";
import { getJob } from "#core/services/jobs/get-job.ts";
import { listTaskJobs } from "#core/services/jobs/list-task-jobs.ts";
import type { ApiAnswer, ApiRequest, Operation } from "../_shared/api-event.ts";
import { readCursor, writeCursor } from "../_shared/cursor.ts";
import { noQuery } from "../_shared/field-types.ts";
import { taskJobsQuery } from "../_shared/job-schema.ts";
import { writePage } from "../_shared/page.ts";
import { presentJob, presentJobInList } from "../_shared/present-job.ts";
import {
  historyAway,
  jobIdOf,
  noSuchJob,
  noSuchTask,
  queryOf,
  taskIdOf,
} from "../_shared/read-request.ts";
import type { OperationOf } from "../_shared/routes.ts";
import { validate } from "../_shared/validate.ts";
import {
  cancelOperation,
  listDeadLettersOperation,
  type RescueDeps,
  retryDeadLettersOperation,
  retryOperation,
} from "./rescue-operations.ts";

export interface JobsApiDeps extends JobServiceDeps, RescueDeps {
  readonly clock: Clock;
}

/** The table that the handler dispatches by. */
export function jobsOperations(deps: JobsApiDeps): Record<OperationOf<"jobs-api">, Operation> {
  return {
    getJob: (request) => get(deps, request),
    listTaskJobs: (request) => list(deps, request),
    retryJob: (request) => retryOperation(deps, request),
    cancelJob: (request) => cancelOperation(deps, request),
    listDeadLetters: (request) => listDeadLettersOperation(deps, request),
    retryDeadLetters: (request) => retryDeadLettersOperation(deps, request),
  };
}

async function get(deps: JobsApiDeps, request: ApiRequest): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const found = await getJob(deps, request.principal.tenantId, jobIdOf(request));
  if (found.kind === "not-found") throw noSuchJob();
  if (found.kind === "history-away") throw historyAway();
  return { status: 200, body: { json: presentJob(found, deps.clock.nowMs()) } };
}

async function list(deps: JobsApiDeps, request: ApiRequest): Promise<ApiAnswer> {
  const taskId = taskIdOf(request);
  const { limit, cursor, ...rest } = validate(taskJobsQuery, queryOf(request, ["status"]));
  const filter = {
    statuses: rest.status ?? null,
    fromMs: rest.from ?? null,
    toMs: rest.to ?? null,
  };
  const { tenantId } = request.principal;
  const scope = { tenantId, list: `jobs of ${taskId}`, filter };
  const before = readCursor<JobId>(scope, cursor, parseJobId);
  const page = await listTaskJobs(deps, { tenantId, taskId, filter, before, limit });
  if (page === null) throw noSuchTask();
  const nowMs = deps.clock.nowMs();
  const { items, nextBefore, historyAvailable } = page;
  const text = writePage(
    {
      items,
      more: nextBefore !== null,
      endCursor: nextBefore === null ? null : writeCursor(scope, nextBefore),
      fields: historyAvailable ? {} : { historyAvailable },
    },
    (item) => presentJobInList(item, nowMs),
    ({ job }) => writeCursor(scope, job.id),
  );
  return { status: 200, body: { text } };
}
