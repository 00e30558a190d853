import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import { decideResume } from "./decide-pause.ts";
import { type Change, changeWithJobs } from "./finish-jobs.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

/** Resumes a paused task, and one whose schedule had stopped: both go on from now. */
export function resumeTask(
  deps: TaskServiceDeps,
  tenantId: TenantId,
  taskId: TaskId,
): Promise<Change<{ readonly kind: "completed" }>> {
  const { shards, random, retention } = deps;
  const context = { run: randomRun(random.bytes(2)), retention };
  return changeWithJobs(deps, { tenantId, taskId }, "resumed", () =>
    shards
      .forTask(taskId)
      .tasks.edit(tenantId, taskId, (locked) => decideResume(locked, context), retention),
  );
}
