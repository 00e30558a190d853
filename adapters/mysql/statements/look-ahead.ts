import { PRIORITIES, priorityRank } from "#core/domain/queue.ts";
import { columns, integer, interval } from "../literals.ts";

/**
 * How dense what is due ahead of the horizon is: of each priority the next run of the first task and of the one `depth - 1` later.
 *
 * Index: next_run (status, priority, next_run_at), an exact range per priority in index order; it covers the statement, which
 *   reads at most `depth` entries of each.
 * Locks: none. Isolation: READ COMMITTED.
 * Result: one row: the clock, then first and deep per priority, most urgent first (NULL: there is none).
 */
export function lookAheadSql(afterMs: number, untilMs: number, depth: number): string {
  const at = (priority: number, offset: number) =>
    `(SELECT next_run_at FROM tasks FORCE INDEX (next_run) WHERE status = 'active' AND priority = ${priority} AND next_run_at > UTC_TIMESTAMP(3) + ${interval(afterMs)} AND next_run_at <= UTC_TIMESTAMP(3) + ${interval(untilMs)} ORDER BY next_run_at LIMIT 1 OFFSET ${integer(offset)})`;
  const looks = PRIORITIES.map(priorityRank).flatMap((rank) => [at(rank, 0), at(rank, depth - 1)]);
  return `SELECT ${columns(["UTC_TIMESTAMP(3)", ...looks])}`;
}
