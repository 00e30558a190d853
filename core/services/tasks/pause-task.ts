import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { EditResult } from "#core/ports/task-store.ts";
import { decidePause } from "./decide-pause.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

/** Pauses a live task: its jobs that have not begun end as cancelled, and no call starts later than 3 s after. */
export function pauseTask(
  { shards, retention }: Pick<TaskServiceDeps, "shards" | "retention">,
  tenantId: TenantId,
  taskId: TaskId,
): Promise<EditResult<{ readonly kind: "completed" }>> {
  return shards.forTask(taskId).tasks.edit(tenantId, taskId, decidePause, retention);
}
