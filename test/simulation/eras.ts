/**
 * Which occurrences a task owes: its schedule as it was in force, from one edit to the next. Reckoned here once more, by arithmetic of
 * its own, so that it does not believe what it is to check.
 */
import type { Schedule } from "#core/domain/schedule.ts";
import type { Task } from "#core/domain/task.ts";

export interface Era {
  readonly schedule: Schedule;
  /** Of a new task whose `at` had passed: it runs at once. */
  readonly atMs: number | null;
  readonly endAtMs: number | null;
  /** Exclusive. */
  readonly fromMs: number;
  /** Inclusive; null while it is in force. */
  toMs: number | null;
}

/** Takes note of what has become of a task at an instant of the database's clock. */
export function followEras(
  eras: Era[],
  before: Task | undefined,
  after: Task,
  nowMs: number,
): void {
  const { schedule, endAtMs, nextRunAtMs } = after;
  if (before === undefined) {
    const firstMs = nextRunAtMs ?? nowMs;
    const atMs = schedule.type === "at" ? firstMs : null;
    eras.push({ schedule, atMs, endAtMs, fromMs: firstMs - 1, toMs: null });
    return;
  }
  const sameTiming =
    before.endAtMs === endAtMs && JSON.stringify(before.schedule) === JSON.stringify(schedule);
  if (sameTiming && before.status === after.status) return;
  // A task completes when its last occurrence has its row: nothing changes in what it owes.
  if (sameTiming && after.status === "completed" && before.status === "active") return;
  const last = eras.at(-1);
  if (last !== undefined) last.toMs ??= nowMs;
  // A task begins by the clock of who made it, which may be ahead of the database's; and that may step back: what an edit has
  // decided by the later time stays decided.
  const fromMs = Math.max(nowMs, last?.fromMs ?? 0);
  if (after.status !== "deleted") eras.push({ schedule, atMs: null, endAtMs, fromMs, toMs: null });
}

/** The occurrences of an era up to `untilMs`, in order. */
export function occurrencesOf(era: Era, untilMs: number): number[] {
  const { schedule, fromMs, endAtMs } = era;
  const lastMs = Math.min(era.toMs ?? untilMs, untilMs, (endAtMs ?? Number.MAX_SAFE_INTEGER) - 1);
  if (schedule.type === "at") {
    const atMs = era.atMs ?? Date.parse(schedule.at);
    return atMs > fromMs && atMs <= lastMs ? [atMs] : [];
  }
  const periodMs = periodOf(schedule);
  const first = Math.floor(fromMs / periodMs) + 1;
  const found: number[] = [];
  for (let atMs = first * periodMs; atMs <= lastMs; atMs += periodMs) found.push(atMs);
  return found;
}

/** Crons of the simulation fire every so many seconds, a divisor of 60. */
function periodOf(schedule: Exclude<Schedule, { type: "at" }>): number {
  if (schedule.type === "every") return schedule.seconds * 1_000;
  const seconds = /^\*\/(\d+) \* \* \* \* \*$/.exec(schedule.expression)?.[1];
  if (seconds === undefined || 60 % Number(seconds) !== 0)
    throw new Error(`the simulation cannot reckon ${schedule.expression}`);
  return Number(seconds) * 1_000;
}
