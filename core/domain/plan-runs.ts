/**
 * Turns one due task into the rows of its runs: what the scheduler's tick, an edit and a resume have in common.
 *
 * Next runs are computed from the previous ones, never from the clock. What is older than MISSED_AFTER_MS counts as missed and
 * follows the task's catch-up policy; what is late by less is made as usual. Every bound that cuts the walk leaves the rest due,
 * so the next tick goes on where this one stopped: late means delayed, never skipped.
 */
import { RUN_OF_OCCURRENCE } from "./ids.ts";
import type { Job, Retention } from "./job.ts";
import { REASON_MISSED } from "./job.ts";
import {
  MATERIALIZE_PER_TASK_MAX,
  MISSED_AFTER_MS,
  SKIP_STEPS_MAX,
  SKIPPED_ROWS_MAX,
} from "./limits.ts";
import { makeScheduledJob, makeSkippedJob } from "./make-job.ts";
import { nextOccurrence } from "./schedule.ts";
import type { DueTask } from "./task.ts";

export interface PlanBounds {
  /** The database's now. */
  readonly nowMs: number;
  /** Occurrences up to here are made. */
  readonly horizonMs: number;
  /** Rows of missed runs that may still be made, this task included. */
  readonly missedRowsMax: number;
  /** Rows altogether. */
  readonly rowsMax: number;
  readonly retention: Retention;
}

export interface RunPlan {
  readonly jobs: Job[];
  /** Null when the schedule has no occurrence left. */
  readonly nextRunAtMs: number | null;
  /** Null when nothing was made or skipped. */
  readonly madeUntilMs: number | null;
}

/** Plans the runs of `task` from its `nextRunAtMs` on. Throws ScheduleError when its schedule cannot go on. */
export function planRuns(task: DueTask, bounds: PlanBounds): RunPlan {
  const window = { startAtMs: task.startAtMs, endAtMs: task.endAtMs };
  const missedBeforeMs = bounds.nowMs - MISSED_AFTER_MS;
  const jobs: Job[] = [];
  const skipped: number[] = [];
  let atMs = task.nextRunAtMs;
  let madeUntilMs: number | null = null;
  let missedRows = 0;
  let dueRows = 0;
  for (
    let steps = 0;
    atMs !== null && atMs <= bounds.horizonMs && steps < SKIP_STEPS_MAX;
    steps++
  ) {
    const rows = jobs.length + Math.min(skipped.length, SKIPPED_ROWS_MAX + 1);
    if (rows >= bounds.rowsMax) break;
    const nextMs = nextOccurrence(task.schedule, window, atMs);
    if (atMs >= missedBeforeMs) {
      if (dueRows >= MATERIALIZE_PER_TASK_MAX) break;
      jobs.push(makeScheduledJob(task, "schedule", atMs, bounds.nowMs));
      dueRows++;
    } else if (isCaughtUp(task, nextMs, missedBeforeMs)) {
      if (missedRows >= bounds.missedRowsMax) break;
      jobs.push(makeScheduledJob(task, "catch_up", atMs, bounds.nowMs));
      missedRows++;
    } else {
      skipped.push(atMs);
    }
    madeUntilMs = atMs;
    atMs = nextMs;
  }
  return { jobs: [...skippedRows(task, skipped, bounds), ...jobs], nextRunAtMs: atMs, madeUntilMs };
}

/** Whether a missed run is made after all: all of them, or the latest only. */
function isCaughtUp(task: DueTask, nextMs: number | null, missedBeforeMs: number): boolean {
  if (task.catchUp === "all") return true;
  return task.catchUp === "latest" && (nextMs === null || nextMs >= missedBeforeMs);
}

/** Up to SKIPPED_ROWS_MAX skipped runs have a row each; what is beyond shares one that says how many. */
function skippedRows(task: DueTask, skipped: readonly number[], bounds: PlanBounds): Job[] {
  const { nowMs, retention } = bounds;
  const single = skipped.slice(0, SKIPPED_ROWS_MAX);
  const rest = skipped.slice(SKIPPED_ROWS_MAX);
  const rows = single.map((atMs) =>
    makeSkippedJob(task, atMs, {
      reason: REASON_MISSED,
      run: RUN_OF_OCCURRENCE,
      covers: null,
      nowMs,
      retention,
    }),
  );
  const fromMs = rest[0];
  const toMs = rest.at(-1);
  if (fromMs !== undefined && toMs !== undefined) {
    const covers = { count: rest.length, fromMs, toMs };
    rows.push(
      makeSkippedJob(task, fromMs, {
        reason: REASON_MISSED,
        run: RUN_OF_OCCURRENCE,
        covers,
        nowMs,
        retention,
      }),
    );
  }
  return rows;
}
