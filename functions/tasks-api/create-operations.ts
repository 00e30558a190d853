/** Create, one and many, and PUT by name. */

import { BULK_BYTES_MAX } from "#core/domain/limits.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import { type Created, createTask } from "#core/services/tasks/create-task.ts";
import { createTasks } from "#core/services/tasks/create-tasks.ts";
import { type Expected, putTask } from "#core/services/tasks/put-task.ts";
import type { TaskServiceDeps, TaskSettings } from "#core/services/tasks/task-settings.ts";
import type { ApiAnswer, ApiRequest } from "../_shared/api-event.ts";
import { noQuery } from "../_shared/field-types.ts";
import { idempotencyOf, replay } from "../_shared/idempotent.ts";
import { fieldsProblem, HttpProblem } from "../_shared/problem.ts";
import { ifTagsOf, queryOf } from "../_shared/read-request.ts";
import { bulkSchema, taskName, taskSchema } from "../_shared/task-schema.ts";
import { type Checked, check, validate } from "../_shared/validate.ts";
import { presentProblem, refuseLargeAnswer } from "./bulk-answer.ts";
import { etagOf, nameTaken, presentTask, taskAnswer, tooManyTasks } from "./present-task.ts";

export async function createOperation(
  deps: TaskServiceDeps,
  request: ApiRequest,
): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const settings = validate(taskSchema, request.json);
  const { tenantId, quotas } = request.principal;
  const sealer = settings.secrets && deps.sealer;
  const idempotency = await idempotencyOf(request, "POST /v1/tasks", createdAnswer, sealer);
  const made = await createTask(deps, tenantId, settings, { quotas, idempotency });
  switch (made.kind) {
    case "created":
      return createdAnswer(made.created);
    case "replayed":
    case "key-reused":
    case "key-in-work":
      return replay(made);
    default:
      throw problemOfCreation(made);
  }
}

function createdAnswer(created: TaskWithVersion): ApiAnswer {
  return taskAnswer(created, 201, { location: `/v1/tasks/${created.task.id}` });
}

function problemOfCreation(refused: Exclude<Created, { readonly kind: "created" }>): HttpProblem {
  switch (refused.kind) {
    case "invalid":
      return fieldsProblem(refused.problems);
    case "name-taken":
      return nameTaken(refused);
    case "quota":
      return tooManyTasks(refused);
  }
}

export async function createManyOperation(
  deps: TaskServiceDeps,
  request: ApiRequest,
): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  if (request.bodyBytes > BULK_BYTES_MAX) {
    const detail = `the request has ${request.bodyBytes} bytes, at most ${BULK_BYTES_MAX} are allowed`;
    throw new HttpProblem(413, detail);
  }
  const { items } = validate(bulkSchema, request.json);
  const checked = items.map((item) => check(taskSchema, item));
  refuseLargeAnswer(checked);
  const valid: readonly TaskSettings[] = checked.flatMap((one) =>
    one.kind === "ok" ? [one.value] : [],
  );
  const answerOf = (results: readonly Created[]) => createdManyAnswer(checked, results);
  // What is not valid may hold a secret in any place, and another release may take it.
  const { sealer } = deps;
  const idempotency = await idempotencyOf(request, "POST /v1/tasks/bulk", answerOf, sealer);
  const { tenantId, quotas } = request.principal;
  const made = await createTasks(deps, tenantId, valid, quotas, idempotency);
  return made.kind === "made" ? answerOf(made.results) : replay(made);
}

/** `results` are those of the valid ones. */
function createdManyAnswer(
  checked: readonly Checked<TaskSettings>[],
  results: readonly Created[],
): ApiAnswer {
  let at = 0;
  const items = checked.map((one) => {
    if (one.kind === "invalid") return presentProblem(one.problem);
    const result = results[at++];
    if (result === undefined) throw new Error("every valid task has a result (indicates a bug)");
    return result.kind === "created"
      ? { status: 201, task: presentTask(result.created) }
      : presentProblem(problemOfCreation(result));
  });
  return { status: 200, body: { json: { items } } };
}

export async function putOperation(deps: TaskServiceDeps, request: ApiRequest): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const name = nameOf(request);
  const settings = validate(taskSchema, request.json);
  if (settings.name !== null && settings.name !== name)
    throw fieldsProblem([{ field: "name", message: "is not the name in the path" }]);
  const { tenantId, quotas } = request.principal;
  const put = await putTask(deps, tenantId, { ...settings, name }, expectedOf(request), quotas);
  switch (put.kind) {
    case "created":
      return createdAnswer(put.created);
    case "replaced":
      return taskAnswer(put.current);
    case "mismatch":
      throw unexpected(put.task);
    default:
      throw problemOfCreation(put);
  }
}

/** The name in the path. Throws 400 for one that cannot be decoded, 422 for what can be no task's. */
export function nameOf({ pathParameters }: ApiRequest): string {
  const decoded = decodeName(pathParameters.name ?? "");
  if (decoded === null) throw new HttpProblem(400, "the name in the path cannot be decoded");
  const checked = check(taskName, decoded);
  if (checked.kind === "ok") return checked.value;
  throw fieldsProblem([{ field: "name", message: checked.problem.message }]);
}

/** API Gateway hands on what is in the path as it was sent; of the query it has decoded each value. Null when it cannot be decoded. */
function decodeName(sent: string): string | null {
  try {
    return decodeURIComponent(sent);
  } catch {
    return null;
  }
}

function expectedOf(request: ApiRequest): Expected {
  const ifNoneMatch = request.header("if-none-match")?.trim();
  const ifMatch = request.header("if-match")?.trim();
  if (ifNoneMatch) {
    if (ifNoneMatch !== "*")
      throw fieldsProblem([{ field: "If-None-Match", message: "can only be *" }]);
    if (ifMatch)
      throw fieldsProblem([{ field: "If-None-Match", message: "cannot be with If-Match" }]);
    return { kind: "nothing" };
  }
  if (ifMatch === "*") return { kind: "something" };
  const tags = ifTagsOf(request);
  return tags === null ? { kind: "anything" } : { kind: "tagged", tags };
}

function unexpected(task: Task | null): HttpProblem {
  if (task === null) return new HttpProblem(412, "there is no task of this name");
  const etag = etagOf(task);
  const detail = `the task of this name has the ETag ${etag}, which the request does not expect`;
  return new HttpProblem(412, detail, { headers: { etag } });
}
