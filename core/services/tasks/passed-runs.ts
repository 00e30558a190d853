/**
 * The one row of what did not happen: all occurrences that passed while a task was paused, or that an edit would otherwise
 * leave behind. Nothing is dropped silently, and a year of seconds costs one row.
 */
import { assert } from "#core/domain/assert.ts";
import type { Covers, Job, Retention } from "#core/domain/job.ts";
import { REASON_MISSED, REASON_PAUSED } from "#core/domain/job.ts";
import { makeSkippedJob } from "#core/domain/make-job.ts";
import { nextOccurrence, ScheduleError } from "#core/domain/schedule.ts";
import type { DueTask, Task } from "#core/domain/task.ts";

/** Occurrences of a cron that are counted one by one; beyond it the row says "at least". */
export const COUNTED_RUNS_MAX = 2_000;
const REASON_STOPPED = "schedule could not go on";

export interface PassedRunsOptions {
  /** A random run number: the occurrence's own id may exist. */
  readonly run: number;
  /** Occurrences from the task's next run on that have a row all the same: a resume keeps what was claimed ahead. */
  readonly madeMs?: readonly number[];
  readonly nowMs: number;
  readonly retention: Retention;
}

/** The row that covers a task's occurrences up to now, now included, that have no row; none when there are none. */
export function coverPassedRuns(task: Task, options: PassedRunsOptions): Job[] {
  const made = new Set(options.madeMs ?? []);
  const fromMs = firstWithoutRow(task, made);
  if (fromMs === null || fromMs > options.nowMs) return [];
  const { count, ...all } = countRuns(task, fromMs, options.nowMs);
  const among = [...made].filter((ms) => ms > fromMs && ms <= all.toMs && isRun(task, ms));
  const covers = { ...all, count: count - among.length };
  return [makeSkippedJob(task, fromMs, { ...options, reason: reasonOf(task), covers })];
}

/** Rows of a schedule that the task had before, made ahead of the edit, are no runs of this one. A schedule that throws has none. */
function isRun(task: Task, atMs: number): boolean {
  try {
    return nextOccurrence(task.schedule, task, atMs - 1) === atMs;
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    return false;
  }
}

/** A stopped schedule has no next run: what it owes begins after its last row, if it can be computed by now. */
function firstWithoutRow(task: Task, made: ReadonlySet<number>): number | null {
  const { nextRunAtMs, madeUntilMs } = task;
  if (nextRunAtMs === null && (task.error === null || madeUntilMs === null)) return null;
  try {
    let atMs = nextRunAtMs ?? nextOccurrence(task.schedule, task, madeUntilMs ?? 0);
    while (atMs !== null && made.has(atMs)) atMs = nextOccurrence(task.schedule, task, atMs);
    return atMs;
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    return null;
  }
}

function reasonOf(task: Task): string {
  if (task.status === "paused") return REASON_PAUSED;
  return task.error === null ? REASON_MISSED : REASON_STOPPED;
}

/** Counts the occurrences from `fromMs`, which is one, to `toMs`. A schedule that throws counts as far as it came. */
function countRuns(task: DueTask, fromMs: number, toMs: number): Covers {
  assert(fromMs <= toMs, "runs are counted forwards");
  if (task.schedule.type === "every") return countPeriods(task, fromMs, toMs);
  let count = 1;
  let lastMs = fromMs;
  try {
    for (; count <= COUNTED_RUNS_MAX; count++) {
      const nextMs = nextOccurrence(task.schedule, task, lastMs);
      if (nextMs === null || nextMs > toMs) return { count, fromMs, toMs: lastMs };
      lastMs = nextMs;
    }
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    return { count, atLeast: true, fromMs, toMs };
  }
  return { count: COUNTED_RUNS_MAX, atLeast: true, fromMs, toMs };
}

function countPeriods(task: DueTask, fromMs: number, toMs: number): Covers {
  assert(task.schedule.type === "every", "only periods are counted by arithmetic");
  const secondMs = nextOccurrence(task.schedule, task, fromMs);
  if (secondMs === null || secondMs > toMs) return { count: 1, fromMs, toMs: fromMs };
  const periodMs = task.schedule.seconds * 1_000;
  const untilMs = task.endAtMs === null ? toMs : Math.min(toMs, task.endAtMs - 1);
  const further = Math.floor((untilMs - secondMs) / periodMs);
  return { count: further + 2, fromMs, toMs: secondMs + further * periodMs };
}
