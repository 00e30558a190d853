/** Which critical tasks an executor makes itself, straight into its own hands, because they are due before a tick would be sure to come. */
import type { TenantId } from "#core/domain/ids.ts";
import type { Job, Retention } from "#core/domain/job.ts";
import { FAST_AHEAD_MS } from "#core/domain/limits.ts";
import { planRuns } from "#core/domain/plan-runs.ts";
import { oneLaneDown, queueOf } from "#core/domain/queue.ts";
import { ScheduleError } from "#core/domain/schedule.ts";
import type { DueTask } from "#core/domain/task.ts";
import type { DueTasks, MaterializePlan, TaskAdvance } from "#core/ports/task-store.ts";

/** How many may be made, in slots that only critical jobs use. */
export interface CriticalRoom {
  /** Of all tenants within their quotas. */
  readonly jobs: number;
  /** Up to where jobs beyond a quota may fill it: never to the last one. */
  readonly beyond: number;
  /** Of one tenant within its quota. */
  leftOf(tenantId: TenantId): number;
}

export const NO_CRITICAL: CriticalRoom = { jobs: 0, beyond: 0, leftOf: () => 0 };

/**
 * Plans what there is room for: first what is within the tenants' quotas, then the rest, a lane down. A task whose schedule cannot
 * go on is left to the scheduler, which marks it.
 */
export function planCritical(
  { nowMs, due }: Pick<DueTasks, "nowMs" | "due">,
  room: CriticalRoom,
  retention: Retention,
): MaterializePlan {
  const jobs: Job[] = [];
  const advances: TaskAdvance[] = [];
  const plan = (task: DueTask, dueRowsMax: number, queue: number): void => {
    if (dueRowsMax < 1) return;
    const untilMs = nowMs + FAST_AHEAD_MS;
    const bounds = {
      nowMs,
      untilMs,
      missedRowsMax: 1,
      dueRowsMax,
      stepsMax: dueRowsMax,
      retention,
      queueAt: () => queue,
    };
    try {
      const { jobs: planned, nextRunAtMs, madeUntilMs } = planRuns(task, bounds);
      jobs.push(...planned);
      advances.push({ taskId: task.id, nextRunAtMs, madeUntilMs, error: null });
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
    }
  };
  const first = queueOf("critical");
  const made = new Map<TenantId, number>();
  const later: DueTask[] = [];
  for (const task of due) {
    const { tenantId } = task;
    const count = made.get(tenantId) ?? 0;
    const left = room.leftOf(tenantId) - count;
    if (left < 1) {
      later.push(task);
      continue;
    }
    const before = jobs.length;
    plan(task, Math.min(left, room.jobs - before), first);
    made.set(tenantId, count + jobs.length - before);
  }
  for (const task of later)
    plan(task, room.beyond - jobs.length, oneLaneDown(first, task.tenantId));
  return { jobs, advances };
}
