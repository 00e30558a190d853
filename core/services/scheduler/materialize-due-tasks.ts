/**
 * One tick of the scheduler: tasks that are due, or will be inside the horizon, become jobs, in one transaction with a constant
 * number of statements. Missed runs have a share of their own, so that a storm of them never delays what is due now, and what that
 * leaves of the tick besides.
 */

import { RUN_OF_OCCURRENCE, type TaskId } from "#core/domain/ids.ts";
import type { Job, Retention } from "#core/domain/job.ts";
import {
  HORIZON_MS,
  MATERIALIZE_CATCH_UP_JOBS_MAX,
  MATERIALIZE_JOBS_MAX,
  MATERIALIZE_OLDEST_MAX,
  MATERIALIZE_STEPS_MAX,
  MISSED_AFTER_MS,
  REASON_LENGTH_MAX,
} from "#core/domain/limits.ts";
import { makeSkippedJob } from "#core/domain/make-job.ts";
import type { PlanBounds } from "#core/domain/plan-runs.ts";
import { planRuns } from "#core/domain/plan-runs.ts";
import { ScheduleError } from "#core/domain/schedule.ts";
import type { DueTask } from "#core/domain/task.ts";
import type { TenantLanes } from "#core/domain/tenant-lanes.ts";
import type { Metrics } from "#core/ports/metrics.ts";
import type {
  DueTasks,
  Materialized,
  MaterializePlan,
  TaskAdvance,
  TaskStore,
} from "#core/ports/task-store.ts";

export interface MaterializeDeps {
  readonly tasks: Pick<TaskStore, "materialize">;
  readonly metrics: Metrics;
  readonly retention: Retention;
  /** Not given: every job goes into the first lane of its priority. */
  readonly lanes?: TenantLanes;
}

/**
 * Runs one tick of at most `jobsMax` jobs, and as many tasks. Null when nothing was due up to now + `horizonMs`; call again at once
 * otherwise.
 */
export async function materializeDueTasks(
  deps: MaterializeDeps,
  horizonMs = HORIZON_MS,
  jobsMax = MATERIALIZE_JOBS_MAX,
): Promise<Materialized | null> {
  const bounds = {
    horizonMs,
    missedTasksMax: partOf(MATERIALIZE_CATCH_UP_JOBS_MAX, jobsMax),
    missedOldestMax: partOf(MATERIALIZE_OLDEST_MAX, jobsMax),
    tasksMax: jobsMax,
  };
  const done = await deps.tasks.materialize(bounds, (due) =>
    planTick(due, deps, horizonMs, jobsMax),
  );
  if (done === null) return null;
  deps.metrics.count("materialized", done.made);
  deps.metrics.count("materialize_already_made", done.alreadyMade);
  deps.metrics.count("schedule_errors", done.errors);
  return done;
}

/** Plans one tick: pure, but for what `lanes` counts. Tasks that find no room stay due and come first in the next one. */
export function planTick(
  due: DueTasks,
  { retention, lanes }: Pick<MaterializeDeps, "retention" | "lanes">,
  horizonMs = HORIZON_MS,
  jobsMax = MATERIALIZE_JOBS_MAX,
): MaterializePlan {
  const { nowMs } = due;
  const tick = new TickPlan({ nowMs, untilMs: nowMs + horizonMs, retention }, lanes);
  const missedMax = partOf(MATERIALIZE_CATCH_UP_JOBS_MAX, jobsMax);
  const behind = tick.planMissed(due.missed, missedMax, "up to now");
  for (const task of due.due) if (!tick.planDue(task, jobsMax - tick.jobs.length)) break;
  tick.planMissed(behind, jobsMax - tick.jobs.length, "missed only");
  return { jobs: tick.jobs, advances: [...tick.advances.values()] };
}

/** What a whole tick has `ofWhole` for, of a smaller one; never nothing. */
function partOf(ofWhole: number, jobsMax: number): number {
  return Math.max(1, Math.floor((ofWhole * jobsMax) / MATERIALIZE_JOBS_MAX));
}

class TickPlan {
  readonly jobs: Job[] = [];
  /** One a task: the last. */
  readonly advances = new Map<TaskId, TaskAdvance>();
  #stepsLeft = MATERIALIZE_STEPS_MAX;
  readonly #bounds: Pick<PlanBounds, "nowMs" | "untilMs" | "retention">;
  readonly #lanes: TenantLanes | undefined;

  constructor(bounds: Pick<PlanBounds, "nowMs" | "untilMs" | "retention">, lanes?: TenantLanes) {
    this.#bounds = bounds;
    this.#lanes = lanes;
  }

  /** Shares the room for missed runs evenly over the tasks that have any. Returns those that are behind all the same, as they are then. */
  planMissed(
    missed: readonly DueTask[],
    rowsMax: number,
    what: "up to now" | "missed only",
  ): DueTask[] {
    const behind: DueTask[] = [];
    let rowsLeft = rowsMax;
    let tasksLeft = missed.length;
    for (const task of missed) {
      if (rowsLeft < 1 || this.#stepsLeft < 1) break;
      const missedRowsMax = Math.ceil(rowsLeft / tasksLeft);
      const stepsMax = Math.ceil(this.#stepsLeft / tasksLeft);
      // What it has that is due by now counts as part of the share: a storm that ends all at once would take the tick whole. At
      // least one such run is made, or a fast schedule that is planned once a second would stay behind for ever.
      const before = this.jobs.length;
      const dueRowsMax = what === "up to now" ? missedRowsMax : 0;
      this.#plan(task, { missedRowsMax, dueRowsMax, stepsMax });
      rowsLeft -= this.jobs.length - before;
      tasksLeft--;
      const nextRunAtMs = this.advances.get(task.id)?.nextRunAtMs ?? null;
      if (nextRunAtMs !== null && nextRunAtMs < this.#bounds.nowMs - MISSED_AFTER_MS)
        behind.push({ ...task, nextRunAtMs });
    }
    return behind;
  }

  planDue(task: DueTask, dueRowsMax: number): boolean {
    if (dueRowsMax < 1) return false;
    // What is due is not missed: it needs no room for that, and each run made is one step.
    this.#plan(task, { missedRowsMax: 1, dueRowsMax, stepsMax: MATERIALIZE_JOBS_MAX });
    return true;
  }

  #plan(task: DueTask, room: Pick<PlanBounds, "missedRowsMax" | "dueRowsMax" | "stepsMax">): void {
    const lanes = this.#lanes;
    const { tenantId, priority } = task;
    try {
      const plan = planRuns(task, {
        ...(lanes && { queueAt: (dueAtMs) => lanes.place(tenantId, priority, dueAtMs) }),
        ...this.#bounds,
        ...room,
      });
      this.#stepsLeft -= plan.steps;
      this.jobs.push(...plan.jobs);
      this.#advance(task, plan.nextRunAtMs, plan.madeUntilMs, null);
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      this.#stop(task, error.message.slice(0, REASON_LENGTH_MAX));
    }
  }

  /** One bad schedule stops nobody else: its task is marked, and the run that was due has a row that says why it did not happen. */
  #stop(task: DueTask, reason: string): void {
    if (task.nextRunAtMs !== null) {
      this.jobs.push(
        makeSkippedJob(task, task.nextRunAtMs, {
          // What is too long for its column would fail the tick, and every tick after it.
          reason: `schedule cannot go on: ${reason}`.slice(0, REASON_LENGTH_MAX),
          run: RUN_OF_OCCURRENCE,
          covers: null,
          ...this.#bounds,
        }),
      );
    }
    this.#advance(task, null, task.nextRunAtMs, reason);
  }

  #advance(
    { id: taskId }: DueTask,
    nextRunAtMs: number | null,
    madeUntilMs: number | null,
    error: string | null,
  ): void {
    const before = this.advances.get(taskId)?.madeUntilMs ?? null;
    this.advances.set(taskId, { taskId, nextRunAtMs, madeUntilMs: madeUntilMs ?? before, error });
  }
}
