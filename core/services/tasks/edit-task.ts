import type { FieldProblem } from "#core/domain/field-problem.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import type { Allowance, Quotas } from "#core/domain/quotas.ts";
import { isTagged, type TaskWithVersion } from "#core/domain/task.ts";
import type { EditResult } from "#core/ports/task-store.ts";
import { checkQuotas } from "./check-quotas.ts";
import type { EditRefusal } from "./decide-edit.ts";
import { decideEdit } from "./decide-edit.ts";
import { isSame } from "./same.ts";
import { sealSecrets } from "./seal-secrets.ts";
import type { SecretSettings, TaskServiceDeps, TaskSettings } from "./task-settings.ts";

export type Applied<R> =
  | { readonly kind: "ok"; readonly settings: TaskSettings }
  | { readonly kind: "refuse"; readonly refusal: R };

interface EditOptions {
  /** Null, or not given: there are none. */
  readonly quotas?: Allowance | null;
  /** All that `apply` may set. */
  readonly secrets?: SecretSettings;
}

/**
 * Edits a live task. `apply` lays the caller's changes over the task as it is under its lock: pure, may be called again.
 * With `ifTags` only a task that one of them names is edited. What the edit changes has to keep to the quotas; a task that was
 * completed and goes on counts as a new one.
 */
export async function editTask<R>(
  { shards, random, retention, sealer, otherZoneData = false }: Omit<TaskServiceDeps, "clock">,
  tenantId: TenantId,
  taskId: TaskId,
  ifTags: readonly string[] | null,
  apply: (current: TaskWithVersion) => Applied<R>,
  { quotas = null, secrets }: EditOptions = {},
): Promise<EditResult<EditRefusal | R>> {
  const sealed = await sealSecrets(sealer, tenantId, taskId, secrets);
  const context = { run: randomRun(random.bytes(2)), retention, sealed, otherZoneData };
  return shards.forTask(taskId).tasks.edit<EditRefusal | R>(
    tenantId,
    taskId,
    (locked) => {
      const { task } = locked;
      if (ifTags !== null && !isTagged(ifTags, task))
        return { kind: "refuse", refusal: { kind: "tag-mismatch", task } };
      const applied = apply(locked);
      if (applied.kind !== "ok") return applied;
      const problems = quotas === null ? [] : beyondQuotas(locked, applied.settings, quotas);
      return problems.length === 0
        ? decideEdit(locked, applied.settings, context)
        : { kind: "refuse", refusal: { kind: "invalid", problems } };
    },
    retention,
    quotas,
  );
}

/** A quota that was lowered since does not stand in the way of other changes. */
function beyondQuotas(
  { task, version }: TaskWithVersion,
  { schedule, request }: TaskSettings,
  quotas: Quotas,
): FieldProblem[] {
  const bodyOf = ({ body, bodyBase64 }: TaskSettings["request"]) => ({ body, bodyBase64 });
  const body = bodyOf(request);
  return checkQuotas(
    {
      ...(isSame(schedule, task.schedule) ? {} : { schedule }),
      ...(isSame(body, bodyOf(version.request)) ? {} : { request: body }),
    },
    quotas,
  );
}
