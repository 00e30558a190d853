/**
 * Turns one due task into the rows of its runs: what the scheduler's tick, an edit and a resume have in common.
 *
 * Next runs are computed from the previous ones, never from the clock. What is older than MISSED_AFTER_MS counts as missed and
 * follows the task's catch-up policy; what is late by less is made as usual. Every bound that cuts the walk leaves the rest due,
 * so the next tick goes on where this one stopped: late means delayed, never skipped.
 */
import { RUN_OF_OCCURRENCE, RUN_OF_SEVERAL } from "./ids.ts";
import type { Covers, Job, Retention } from "./job.ts";
import { REASON_MISSED } from "./job.ts";
import { MATERIALIZE_PER_TASK_MAX, MISSED_AFTER_MS, SKIPPED_ROWS_MAX } from "./limits.ts";
import { makeScheduledJob, makeSkippedJob } from "./make-job.ts";
import { nextOccurrence } from "./schedule.ts";
import type { DueTask } from "./task.ts";

export interface PlanBounds {
  /** The database's now. */
  readonly nowMs: number;
  /** Occurrences up to here are made. */
  readonly untilMs: number;
  /** Rows of missed runs, made or skipped, at least 1. The one of catch-up `latest` may come on top. */
  readonly missedRowsMax: number;
  /** Rows of runs that are not missed. */
  readonly dueRowsMax: number;
  /** Occurrences that may be stepped over, at least 1. */
  readonly stepsMax: number;
  readonly retention: Retention;
  /** Counts a job that is due at an instant, and answers its queue; not given: the first lane of the task's priority. */
  readonly queueAt?: (dueAtMs: number) => number;
}

export interface RunPlan {
  readonly jobs: Job[];
  /** Null when the schedule has no occurrence left. */
  readonly nextRunAtMs: number | null;
  /** Null when nothing was made or skipped. */
  readonly madeUntilMs: number | null;
  readonly steps: number;
}

/** Plans the runs of `task` from its `nextRunAtMs` on. Throws ScheduleError when its schedule cannot go on. */
export function planRuns(task: DueTask, bounds: PlanBounds): RunPlan {
  const window = { startAtMs: task.startAtMs, endAtMs: task.endAtMs };
  const missedBeforeMs = bounds.nowMs - MISSED_AFTER_MS;
  const dueRowsMax = Math.min(bounds.dueRowsMax, MATERIALIZE_PER_TASK_MAX);
  const caughtUp: Job[] = [];
  const due: Job[] = [];
  const skipped: number[] = [];
  const make = (trigger: "schedule" | "catch_up", scheduledAtMs: number, dueAtMs: number) =>
    makeScheduledJob(task, trigger, scheduledAtMs, bounds.nowMs, bounds.queueAt?.(dueAtMs));
  let atMs = task.nextRunAtMs;
  let madeUntilMs: number | null = null;
  let steps = 0;
  while (atMs !== null && atMs <= bounds.untilMs && steps < bounds.stepsMax) {
    const missed = atMs < missedBeforeMs;
    if (!missed && due.length >= dueRowsMax) break;
    const nextMs = nextOccurrence(task.schedule, window, atMs);
    if (!missed) {
      due.push(make("schedule", atMs, Math.max(atMs, bounds.nowMs)));
    } else if (isCaughtUp(task, nextMs, missedBeforeMs)) {
      // The latest is never cut: by the next tick another run of a fast schedule would be the latest, and so for ever.
      if (task.catchUp === "all" && caughtUp.length >= bounds.missedRowsMax) break;
      caughtUp.push(make("catch_up", atMs, bounds.nowMs));
    } else {
      skipped.push(atMs);
    }
    madeUntilMs = atMs;
    atMs = nextMs;
    steps++;
  }
  const skippedRows = makeSkippedRows(task, skipped, {
    ...bounds,
    missedRowsMax: Math.max(1, bounds.missedRowsMax - caughtUp.length),
  });
  return {
    jobs: [...skippedRows, ...caughtUp, ...due],
    nextRunAtMs: atMs,
    madeUntilMs,
    steps,
  };
}

/** Whether a missed run is made after all: all of them, or the latest only. */
function isCaughtUp(task: DueTask, nextMs: number | null, missedBeforeMs: number): boolean {
  if (task.catchUp === "all") return true;
  return task.catchUp === "latest" && (nextMs === null || nextMs >= missedBeforeMs);
}

/** Up to SKIPPED_ROWS_MAX skipped runs have a row each, as far as rows are left; the others share one that says how many. */
function makeSkippedRows(task: DueTask, skipped: readonly number[], bounds: PlanBounds): Job[] {
  const rowsMax = Math.min(SKIPPED_ROWS_MAX, bounds.missedRowsMax);
  const single = skipped.length <= rowsMax ? skipped : skipped.slice(0, rowsMax - 1);
  const rest = skipped.slice(single.length);
  const row = (atMs: number, covers: Covers | null) =>
    makeSkippedJob(task, atMs, {
      reason: REASON_MISSED,
      run: covers === null ? RUN_OF_OCCURRENCE : RUN_OF_SEVERAL,
      covers,
      nowMs: bounds.nowMs,
      retention: bounds.retention,
    });
  const rows = single.map((atMs) => row(atMs, null));
  const fromMs = rest[0];
  const toMs = rest.at(-1);
  if (fromMs !== undefined && toMs !== undefined)
    rows.push(row(fromMs, { count: rest.length, fromMs, toMs }));
  return rows;
}
