import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { Allowance } from "#core/domain/quotas.ts";
import { decidePause } from "./decide-pause.ts";
import { type Change, changeWithJobs } from "./finish-jobs.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

/**
 * Pauses a live task: its jobs that have not begun end as cancelled, and no call starts later than 3 s after. One whose last job is ahead
 * of its time is completed already, and counts again when it is paused.
 */
export function pauseTask(
  deps: Pick<TaskServiceDeps, "shards" | "clock" | "retention">,
  tenantId: TenantId,
  taskId: TaskId,
  quotas: Allowance | null = null,
): Promise<Change<{ readonly kind: "completed" }>> {
  return changeWithJobs(deps, { tenantId, taskId }, "paused", () =>
    deps.shards.forTask(taskId).tasks.edit(tenantId, taskId, decidePause, deps.retention, quotas),
  );
}
