import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import type { EditResult } from "#core/ports/task-store.ts";
import type { EditRefusal } from "./decide-edit.ts";
import { decideEdit } from "./decide-edit.ts";
import type { TaskServiceDeps, TaskSettings } from "./task-settings.ts";

export type Applied<R> =
  | { readonly kind: "ok"; readonly settings: TaskSettings }
  | { readonly kind: "refuse"; readonly refusal: R };

/**
 * Edits a live task. `apply` lays the caller's changes over the task as it is under its lock: pure, may be called again.
 * With `ifVersion` only that version of the task is edited.
 */
export function editTask<R>(
  { shards, random, retention }: Omit<TaskServiceDeps, "clock">,
  tenantId: TenantId,
  taskId: TaskId,
  ifVersion: number | null,
  apply: (current: TaskWithVersion) => Applied<R>,
): Promise<EditResult<EditRefusal | R>> {
  const context = { run: randomRun(random.bytes(2)), retention };
  return shards.forTask(taskId).tasks.edit<EditRefusal | R>(
    tenantId,
    taskId,
    (locked) => {
      const { version } = locked.task;
      if (ifVersion !== null && ifVersion !== version)
        return { kind: "refuse", refusal: { kind: "version-mismatch", version } };
      const applied = apply(locked);
      return applied.kind === "ok" ? decideEdit(locked, applied.settings, context) : applied;
    },
    retention,
  );
}
