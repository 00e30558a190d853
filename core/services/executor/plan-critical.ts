/** Which critical tasks an executor makes itself, straight into its own hands, because they are due before a tick would be sure to come. */
import type { TenantId } from "#core/domain/ids.ts";
import type { Job, Retention } from "#core/domain/job.ts";
import { FAST_AHEAD_MS, FAST_PER_TENANT_MAX } from "#core/domain/limits.ts";
import { planRuns } from "#core/domain/plan-runs.ts";
import { ScheduleError } from "#core/domain/schedule.ts";
import type { DueTask } from "#core/domain/task.ts";
import type { DueTasks, MaterializePlan, TaskAdvance } from "#core/ports/task-store.ts";

/**
 * Plans up to `jobsMax` jobs, those of one tenant beyond FAST_PER_TENANT_MAX only after all others. A task whose schedule cannot go
 * on is left to the scheduler, which marks it.
 */
export function planCritical(
  { nowMs, due }: Pick<DueTasks, "nowMs" | "due">,
  jobsMax: number,
  retention: Retention,
): MaterializePlan {
  const jobs: Job[] = [];
  const advances: TaskAdvance[] = [];
  const plan = (task: DueTask, most: number): void => {
    const dueRowsMax = Math.min(most, jobsMax - jobs.length);
    if (dueRowsMax < 1) return;
    const horizonMs = nowMs + FAST_AHEAD_MS;
    const bounds = {
      nowMs,
      horizonMs,
      missedRowsMax: 1,
      dueRowsMax,
      stepsMax: dueRowsMax,
      retention,
    };
    try {
      const { jobs: made, nextRunAtMs, madeUntilMs } = planRuns(task, bounds);
      jobs.push(...made);
      advances.push({ taskId: task.id, nextRunAtMs, madeUntilMs, error: null });
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
    }
  };
  const counts = new Map<TenantId, number>();
  const later: DueTask[] = [];
  for (const task of due) {
    const count = counts.get(task.tenantId) ?? 0;
    if (count >= FAST_PER_TENANT_MAX) {
      later.push(task);
      continue;
    }
    const before = jobs.length;
    plan(task, FAST_PER_TENANT_MAX - count);
    counts.set(task.tenantId, count + jobs.length - before);
  }
  for (const task of later) plan(task, jobsMax);
  return { jobs, advances };
}
