/**
 * How much waits, for whoever watches. Entries of the queue index are counted in exact ranges and up to a bound, so that the cost
 * is the same at a standstill of a million jobs.
 */
import { PRIORITIES, priorityRank } from "#core/domain/queue.ts";
import { columns, integer, interval } from "../literals.ts";
import { dueIn, headIn, type QueueRange, queueRanges } from "./queue-range.ts";

export const WAITING_RANGES = queueRanges(["pending", "waiting"]);

/**
 * Which ranges have anything that is due by now + `aheadMs`, and what is not made: literal sub-selects, of which each reads one entry.
 *
 * Index: queue (status, queue, due_at) for the heads; next_run (status, priority, next_run_at) for what is not made; the workers are
 *   few. Locks: none. Isolation: READ COMMITTED.
 * Result: one row: clock, live workers, the earliest run of each priority that is due and not made (NULL: none), then the earliest
 *   `due_at` of each of WAITING_RANGES, NULL where nothing has come to it.
 */
export function selectBacklogHeadsSql(aheadMs: number): string {
  const unmade = PRIORITIES.map(
    (priority) =>
      `(SELECT next_run_at FROM tasks FORCE INDEX (next_run) WHERE status = 'active' AND priority = ${priorityRank(priority)} AND next_run_at <= UTC_TIMESTAMP(3) ORDER BY next_run_at LIMIT 1)`,
  );
  const heads = WAITING_RANGES.map((range) => headIn(range, untilOf(aheadMs)));
  return `SELECT ${columns([
    "UTC_TIMESTAMP(3)",
    "(SELECT COUNT(*) FROM workers WHERE fenced_at IS NULL AND lease_until > UTC_TIMESTAMP(3))",
    ...unmade,
    ...heads,
  ])}`;
}

/** What is counted together: jobs of these ranges that are due by now + `aheadMs`. */
export interface Count {
  readonly ranges: readonly QueueRange[];
  readonly aheadMs: number;
  readonly max: number;
}

/**
 * Jobs that wait, each count up to its `max`.
 *
 * Index: queue, an exact range per branch; it covers the statement. Locks: none. Isolation: READ COMMITTED.
 * Result: one row, a column per count.
 */
export function countBacklogSql(counts: readonly Count[]): string {
  const looks = counts.map(({ ranges, aheadMs, max }) => {
    const branches = ranges.map(
      (range) => `(SELECT 1 ${dueIn(range, untilOf(aheadMs))} LIMIT ${integer(max)})`,
    );
    return `(SELECT COUNT(*) FROM (${branches.join(" UNION ALL ")} LIMIT ${integer(max)}) AS counted)`;
  });
  return `SELECT ${columns(looks)}`;
}

function untilOf(aheadMs: number): string {
  return `UTC_TIMESTAMP(3) + ${interval(aheadMs)}`;
}
