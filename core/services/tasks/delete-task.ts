import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import type { EditResult } from "#core/ports/task-store.ts";
import type { StateRefusal } from "./decide-pause.ts";
import { decideDelete } from "./decide-pause.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

/** Deletes a live task: its name is free at once, its jobs stay readable. With `ifVersion` only that version of it. */
export function deleteTask(
  { shards, random, retention }: Omit<TaskServiceDeps, "clock">,
  tenantId: TenantId,
  taskId: TaskId,
  ifVersion: number | null,
): Promise<EditResult<StateRefusal>> {
  const context = { run: randomRun(random.bytes(2)), retention };
  return shards
    .forTask(taskId)
    .tasks.edit(tenantId, taskId, (locked) => decideDelete(locked, ifVersion, context), retention);
}
