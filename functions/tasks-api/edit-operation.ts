/** PATCH: a merge patch over the task as it is under its lock, checked by the schema that create has. */
import type { TaskWithVersion } from "#core/domain/task.ts";
import type { Applied } from "#core/services/tasks/edit-task.ts";
import { editTask } from "#core/services/tasks/edit-task.ts";
import type { TaskServiceDeps } from "#core/services/tasks/task-settings.ts";
import type { ApiAnswer, ApiRequest } from "../_shared/api-event.ts";
import { noQuery } from "../_shared/field-types.ts";
import { fieldsProblem, type HttpProblem } from "../_shared/problem.ts";
import { ifTagsOf, noSuchTask, queryOf, taskIdOf } from "../_shared/read-request.ts";
import { secretsOf } from "../_shared/secret-fields.ts";
import { taskPatchSchema, taskSchema } from "../_shared/task-schema.ts";
import { check, validate } from "../_shared/validate.ts";
import { isObject, mergeTask } from "./merge-patch.ts";
import {
  nameTaken,
  presentSettings,
  tagMismatch,
  taskAnswer,
  tooManyTasks,
} from "./present-task.ts";

export async function editTaskOperation(
  deps: TaskServiceDeps,
  request: ApiRequest,
): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const taskId = taskIdOf(request);
  const patch = request.json;
  if (!isObject(patch)) throw fieldsProblem([{ field: "", message: "must be an object" }]);
  const given = validate(taskPatchSchema, patch);
  const { tenantId, quotas } = request.principal;
  const result = await editTask(
    deps,
    tenantId,
    taskId,
    ifTagsOf(request),
    (current) => applyPatch(current, patch),
    { quotas, secrets: secretsOf(given.request ?? {}) },
  );
  switch (result.kind) {
    case "written":
    case "unchanged":
      return taskAnswer(result.current);
    case "not-found":
      throw noSuchTask();
    case "name-taken":
      throw nameTaken(result);
    case "quota":
      throw tooManyTasks(result);
    case "refused":
      throw problemOfRefusal(result.refusal);
  }
}

type Refusal = Extract<
  Awaited<ReturnType<typeof editTask<PatchRefusal>>>,
  { kind: "refused" }
>["refusal"];
interface PatchRefusal {
  readonly kind: "problem";
  readonly problem: HttpProblem;
}

/** In the place of a stored schedule, which goes on as it is, also where a new one like it is refused by now. */
const KEPT_SCHEDULE = { type: "every", seconds: 1 };

function applyPatch(
  current: TaskWithVersion,
  patch: Readonly<Record<string, unknown>>,
): Applied<PatchRefusal> {
  const isKept = patch.schedule === undefined;
  const merged = mergeTask(presentSettings(current), patch);
  const checked = check(taskSchema, isKept ? { ...merged, schedule: KEPT_SCHEDULE } : merged);
  if (checked.kind !== "ok")
    return { kind: "refuse", refusal: { kind: "problem", problem: checked.problem } };
  const { schedule } = isKept ? current.task : checked.value;
  return { kind: "ok", settings: { ...checked.value, schedule } };
}

function problemOfRefusal(refusal: Refusal): HttpProblem {
  switch (refusal.kind) {
    case "problem":
      return refusal.problem;
    case "invalid":
      return fieldsProblem(refusal.problems);
    case "tag-mismatch":
      return tagMismatch(refusal.task);
  }
}
