import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import type { EditResult } from "#core/ports/task-store.ts";
import { decideResume } from "./decide-pause.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

/** Resumes a paused task, and one whose schedule had stopped: both go on from now. */
export function resumeTask(
  { shards, random, retention }: Omit<TaskServiceDeps, "clock">,
  tenantId: TenantId,
  taskId: TaskId,
): Promise<EditResult<{ readonly kind: "completed" }>> {
  const context = { run: randomRun(random.bytes(2)), retention };
  return shards
    .forTask(taskId)
    .tasks.edit(tenantId, taskId, (locked) => decideResume(locked, context), retention);
}
