/** The operations of the tasks API: parse, call a service, map the result. */
import type { TaskId } from "#core/domain/ids.ts";
import { parseTaskId } from "#core/domain/ids.ts";
import type { Payload } from "#core/domain/job.ts";
import { requestOfJob } from "#core/domain/request-of-job.ts";
import { atInstantMs } from "#core/domain/schedule.ts";
import type { MadeRun } from "#core/ports/task-store.ts";
import type { SigningDeps } from "#core/services/signing/rotate-signing-secret.ts";
import { deleteTask } from "#core/services/tasks/delete-task.ts";
import { getTask, getTaskByName } from "#core/services/tasks/get-task.ts";
import { listTasks } from "#core/services/tasks/list-tasks.ts";
import { listUpcoming } from "#core/services/tasks/list-upcoming.ts";
import { pauseTask } from "#core/services/tasks/pause-task.ts";
import type { Occurrence } from "#core/services/tasks/preview-schedule.ts";
import { previewSchedule } from "#core/services/tasks/preview-schedule.ts";
import { resumeTask } from "#core/services/tasks/resume-task.ts";
import { runTask } from "#core/services/tasks/run-task.ts";
import type { TaskServiceDeps } from "#core/services/tasks/task-settings.ts";
import type { ApiAnswer, ApiRequest, Operation } from "../_shared/api-event.ts";
import { readCursor, writeCursor } from "../_shared/cursor.ts";
import { noQuery, nothingSchema } from "../_shared/field-types.ts";
import { idempotencyOf, replay } from "../_shared/idempotent.ts";
import { writePage } from "../_shared/page.ts";
import { presentJob } from "../_shared/present-job.ts";
import { isoInstant } from "../_shared/present-request.ts";
import { fieldsProblem, HttpProblem } from "../_shared/problem.ts";
import { ifTagsOf, noSuchTask, queryOf, taskIdOf } from "../_shared/read-request.ts";
import type { OperationOf } from "../_shared/routes.ts";
import { listTasksQuery, previewSchema, runSchema, upcomingQuery } from "../_shared/task-schema.ts";
import { validate } from "../_shared/validate.ts";
import type { HealthDeps } from "./check-health.ts";
import { checkHealth } from "./check-health.ts";
import { createManyOperation, createOperation, nameOf, putOperation } from "./create-operations.ts";
import { editTaskOperation } from "./edit-operation.ts";
import {
  deleteLimitOperation,
  listLimitsOperation,
  putLimitOperation,
} from "./limit-operations.ts";
import {
  nameTaken,
  presentTaskInList,
  tagMismatch,
  taskAnswer,
  tooManyTasks,
} from "./present-task.ts";
import { serveDocs, serveOpenApi } from "./serve-docs.ts";
import { listSigningOperation, rotateSigningOperation } from "./signing-operations.ts";
import { testOperation } from "./test-operation.ts";

export type TasksApiDeps = TaskServiceDeps & HealthDeps & SigningDeps;

/** The table that the handler dispatches by. */
export function tasksOperations(deps: TasksApiDeps): Record<OperationOf<"tasks-api">, Operation> {
  return {
    getHealth: () => checkHealth(deps),
    getOpenApi: async () => serveOpenApi(),
    getDocs: async () => serveDocs(),
    createTask: (request) => createOperation(deps, request),
    createTasks: (request) => createManyOperation(deps, request),
    putTask: (request) => putOperation(deps, request),
    listTasks: (request) => list(deps, request),
    getTask: (request) => get(deps, request),
    getTaskByName: (request) => getByName(deps, request),
    editTask: (request) => editTaskOperation(deps, request),
    deleteTask: (request) => remove(deps, request),
    pauseTask: (request) => changeState(deps, request, pauseTask, "paused"),
    resumeTask: (request) => changeState(deps, request, resumeTask, "resumed"),
    runTask: (request) => run(deps, request),
    testTask: (request) => testOperation(deps, request),
    listUpcoming: (request) => upcoming(deps, request),
    previewSchedule: (request) => preview(deps, request),
    listLimits: (request) => listLimitsOperation(deps, request),
    putLimit: (request) => putLimitOperation(deps, request),
    deleteLimit: (request) => deleteLimitOperation(deps, request),
    listSigningSecrets: (request) => listSigningOperation(deps, request),
    rotateSigningSecret: (request) => rotateSigningOperation(deps, request),
  };
}

async function get(deps: TasksApiDeps, request: ApiRequest): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const found = await getTask(deps, request.principal.tenantId, taskIdOf(request));
  if (found === null) throw noSuchTask();
  return taskAnswer(found);
}

async function getByName(deps: TasksApiDeps, request: ApiRequest): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const found = await getTaskByName(deps, request.principal.tenantId, nameOf(request));
  if (found === null) throw noSuchTask();
  return taskAnswer(found);
}

async function list(deps: TasksApiDeps, request: ApiRequest): Promise<ApiAnswer> {
  const { limit, cursor, ...rest } = validate(listTasksQuery, queryOf(request));
  const { tenantId } = request.principal;
  const filter = {
    status: rest.status ?? null,
    priority: rest.priority ?? null,
    tag: rest.tag ?? null,
  };
  const scope = { tenantId, list: "tasks", filter };
  const before = readCursor<TaskId>(scope, cursor, parseTaskId);
  const { items, nextBefore } = await listTasks(deps, tenantId, filter, before, limit);
  const endCursor = nextBefore === null ? null : writeCursor(scope, nextBefore);
  const text = writePage(
    { items, more: nextBefore !== null, endCursor },
    presentTaskInList,
    ({ task }) => writeCursor(scope, task.id),
  );
  return { status: 200, body: { text } };
}

async function remove(deps: TasksApiDeps, request: ApiRequest): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const { tenantId } = request.principal;
  const result = await deleteTask(deps, tenantId, taskIdOf(request), ifTagsOf(request));
  if (result.kind === "not-found") throw noSuchTask();
  if (result.kind === "jobs-left") throw jobsLeft("deleted", "cancelled");
  if (result.kind === "refused" && result.refusal.kind === "tag-mismatch")
    throw tagMismatch(result.refusal.task);
  return { status: 204, body: null };
}

async function changeState(
  deps: TasksApiDeps,
  request: ApiRequest,
  change: typeof pauseTask | typeof resumeTask,
  done: string,
): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  validate(nothingSchema, request.json);
  const result = await change(deps, request.principal.tenantId, taskIdOf(request));
  switch (result.kind) {
    case "written":
    case "unchanged":
      return taskAnswer(result.current);
    case "refused":
      throw new HttpProblem(409, `the task is completed: it cannot be ${done}`);
    case "jobs-left":
      throw jobsLeft(done, done === "paused" ? "cancelled" : "taken back");
    case "not-found":
      throw noSuchTask();
    case "name-taken":
      throw nameTaken(result);
    case "quota":
      throw tooManyTasks(result);
  }
}

/** Time was up: the task itself is as was asked. */
function jobsLeft(done: string, becoming: string): HttpProblem {
  const detail = `the task is ${done}, but it has more jobs than one request gets through: some are still to be ${becoming}; ask the same again to go on, or wait: it goes on by itself, more slowly`;
  return new HttpProblem(503, detail, { headers: { "retry-after": "1" } });
}

async function run(deps: TasksApiDeps, request: ApiRequest): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const taskId = taskIdOf(request);
  const { request: over } = validate(runSchema, request.json);
  const payload = over === undefined || Object.keys(over).length === 0 ? null : over;
  const answerOf = ({ job, version }: MadeRun): ApiAnswer => ({
    status: 202,
    headers: { location: `/v1/jobs/${job.id}` },
    body: {
      json: presentJob({ job, request: requestOfJob(job, version.request) }, deps.clock.nowMs()),
    },
  });
  const { tenantId, quotas } = request.principal;
  const idempotency = await idempotencyOf(request, `POST /v1/tasks/${taskId}/run`, answerOf);
  const options = { quotas, idempotency };
  const made = await runTask(deps, tenantId, taskId, payload as Payload | null, options);
  switch (made.kind) {
    case "made":
      return answerOf(made);
    case "not-found":
      throw noSuchTask();
    case "invalid":
      throw fieldsProblem(made.problems);
    default:
      return replay(made);
  }
}

async function upcoming(deps: TasksApiDeps, request: ApiRequest): Promise<ApiAnswer> {
  const { count } = validate(upcomingQuery, queryOf(request));
  const found = await listUpcoming(deps, request.principal.tenantId, taskIdOf(request), count);
  if (found === null) throw noSuchTask();
  return occurrencesAnswer(found.items, found.warnings);
}

async function preview(deps: TasksApiDeps, request: ApiRequest): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const { schedule: parsed, count, after } = validate(previewSchema, request.json);
  const { schedule } = parsed;
  const window = { startAtMs: null, endAtMs: null };
  const nowMs = deps.clock.nowMs();
  const items = previewSchedule(schedule, window, count, after ?? nowMs);
  const passed =
    schedule.type === "at" && atInstantMs(schedule) <= nowMs
      ? ["the time has passed: a task that POST makes with it runs at once"]
      : [];
  return occurrencesAnswer(items, [...passed, ...parsed.warnings]);
}

function occurrencesAnswer(items: readonly Occurrence[], warnings: readonly string[]): ApiAnswer {
  const presented = items.map(({ atMs, local }) => ({ at: isoInstant(atMs), local }));
  return { status: 200, body: { json: { items: presented, warnings } } };
}
