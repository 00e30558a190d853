import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { decidePause } from "./decide-pause.ts";
import { type Change, changeWithJobs } from "./finish-jobs.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

/**
 * Pauses a live task: its jobs that wait end as cancelled, and no call starts later than 3 s after. Also beyond a quota: who
 * wants calls to stop is not to be refused.
 */
export function pauseTask(
  deps: Pick<TaskServiceDeps, "shards" | "clock" | "retention">,
  tenantId: TenantId,
  taskId: TaskId,
): Promise<Change<{ readonly kind: "completed" }>> {
  return changeWithJobs(deps, { tenantId, taskId }, "paused", () =>
    deps.shards.forTask(taskId).tasks.edit(tenantId, taskId, decidePause, deps.retention),
  );
}
