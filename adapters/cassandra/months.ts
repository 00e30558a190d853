/**
 * A partition holds one task's jobs of one calendar month (UTC) of their scheduled time, as the number YYYYMM. A list walks
 * partitions from the newest that can hold anything down to the one in which the task was made.
 *
 * Where rows may have expired a page can be empty and tell nothing of where it ends: there the ranges begin with an hour and each is as
 * long as all before, so that what half of the time was enough for is followed by what fits into the other half.
 */
import { assert } from "#core/domain/assert.ts";
import {
  type JobId,
  makeJobId,
  partsOfJobId,
  RUN_OF_OCCURRENCE,
  type TaskId,
  taskIdToBytes,
} from "#core/domain/ids.ts";
import { HISTORY_MONTHS_MAX } from "#core/domain/limits.ts";
import type { TaskJobsFilter } from "#core/ports/job-store.ts";

/** Clocks of databases and of ours may differ by this. */
const SLACK_MS = 86_400_000;
/** What is scheduled later cannot have expired: rows live for so long from their write (migrations/cassandra). */
const KEPT_MS = 30 * 86_400_000;
const EXPIRED_RANGE_MS = 3_600_000;

/** One range of one partition, read newest first. */
export type Step =
  | {
      readonly kind: "range";
      readonly month: number;
      readonly fromMs: number;
      readonly toMs: number;
    }
  /** Jobs of one instant with smaller ids. */
  | {
      readonly kind: "instant";
      readonly month: number;
      readonly atMs: number;
      readonly below: JobId;
    };

export function monthOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

/** The first instant of a month, in epoch ms. */
export function monthStartMs(month: number): number {
  return Date.UTC(Math.floor(month / 100), (month % 100) - 1, 1);
}

/** `months` may be negative. */
function addMonths(month: number, months: number): number {
  const count = Math.floor(month / 100) * 12 + (month % 100) - 1 + months;
  return Math.floor(count / 12) * 100 + (count % 12) + 1;
}

/** What a list has to read, newest first; empty when nothing can match. `nowMs` bounds how new a finished job can be. */
export function planSteps(
  taskId: TaskId,
  filter: Pick<TaskJobsFilter, "fromMs" | "toMs">,
  before: JobId | null,
  nowMs: number,
): Step[] {
  const newest = monthOf(nowMs + SLACK_MS);
  const oldest = addMonths(newest, 1 - HISTORY_MONTHS_MAX);
  const fromMs = Math.max(filter.fromMs ?? 0, madeAtMs(taskId) - SLACK_MS, monthStartMs(oldest));
  const endMs = Math.min(
    filter.toMs ?? Number.POSITIVE_INFINITY,
    monthStartMs(addMonths(newest, 1)),
  );
  const cursor = before === null ? null : partsOfJobId(before);
  const toMs = Math.min(endMs, cursor?.scheduledAtMs ?? Number.POSITIVE_INFINITY);
  const steps: Step[] = [];
  if (before !== null && cursor !== null && cursor.run !== RUN_OF_OCCURRENCE) {
    const atMs = cursor.scheduledAtMs;
    if (atMs >= fromMs && atMs < endMs)
      steps.push({ kind: "instant", month: monthOf(atMs), atMs, below: before });
  }
  const keptFromMs = nowMs - KEPT_MS;
  for (let endsMs = toMs; endsMs > fromMs; ) {
    const month = monthOf(endsMs - 1);
    const beforeMs = Math.min(toMs, keptFromMs) - endsMs;
    const longestFromMs = beforeMs < 0 ? keptFromMs : endsMs - beforeMs - EXPIRED_RANGE_MS;
    const beginsMs = Math.max(fromMs, monthStartMs(month), longestFromMs);
    steps.push({ kind: "range", month, fromMs: beginsMs, toMs: endsMs });
    endsMs = beginsMs;
  }
  assert(steps.length <= 2 * HISTORY_MONTHS_MAX + 2, "a list reads a bounded number of ranges");
  return steps;
}

/** A cursor below everything that the step covers. */
export function cursorAfter(step: Step, taskId: TaskId): JobId {
  return makeJobId(step.kind === "range" ? step.fromMs : step.atMs, taskId, RUN_OF_OCCURRENCE);
}

/** When the task was made: the first six bytes of its id. */
function madeAtMs(taskId: TaskId): number {
  return taskIdToBytes(taskId)
    .subarray(0, 6)
    .reduce((ms, byte) => ms * 256 + byte, 0);
}
