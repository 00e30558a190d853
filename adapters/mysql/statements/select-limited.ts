/** What waits in line. Index of all: next_in_line (limit_key, queue, due_at) of limited. Isolation: READ COMMITTED. */
import type { LimitKey } from "#core/domain/call-limit.ts";
import { CLAIMED_COLUMNS } from "../job-rows.ts";
import { columns, instant, integer, interval, text } from "../literals.ts";

/**
 * Lines that have a job that is due, in the order of the index from the key after `after` on, and round: of each key and queue one entry
 * is read (a loose index scan), whatever waits in it, and no more than are asked for, but for those that are not due.
 *
 * Locks: none. Result: (key, queue, head), at most `max`.
 */
export function listLinesSql(aheadMs: number, max: number, after: LimitKey | null): string {
  const limit = integer(max);
  const lines = (where: string) =>
    `(SELECT limit_key, queue, MIN(due_at) AS head FROM limited FORCE INDEX (next_in_line) ${where}GROUP BY limit_key, queue HAVING head <= UTC_TIMESTAMP(3) + ${interval(aheadMs)} ORDER BY limit_key, queue LIMIT ${limit})`;
  if (after === null) return lines("");
  const key = text(after);
  return `${lines(`WHERE limit_key > ${key} `)} UNION ALL ${lines(`WHERE limit_key <= ${key} `)} LIMIT ${limit}`;
}

/** How many jobs of each key are due, counted up to `max`. Locks: none. Result: (key, count). */
export function countWaitingSql(keys: readonly LimitKey[], max: number): string {
  const counts = keys.map(
    (key) =>
      `(SELECT ${columns([text(key), "COUNT(*)"])} FROM (SELECT 1 FROM limited FORCE INDEX (next_in_line) WHERE limit_key = ${text(key)} AND due_at <= UTC_TIMESTAMP(3) LIMIT ${integer(max)}) AS due)`,
  );
  return counts.join(" UNION ALL ");
}

const JOINED =
  "FROM limited FORCE INDEX (next_in_line) STRAIGHT_JOIN jobs FORCE INDEX (PRIMARY) ON jobs.part = limited.part AND jobs.id = limited.job_id";

export interface LimitedBranch {
  readonly key: LimitKey;
  readonly queue: number;
  readonly limit: number;
  /** What was taken from a line is dead in the index until it is purged, which a long snapshot puts off: it is not walked below this. */
  readonly floorMs: number | null;
}

/**
 * Jobs of lines whose limits the take holds, branch by branch: the longest due of each queue.
 *
 * Index: an exact range per branch in index order, then the primary key of jobs.
 * Locks: entry and row of limited, row of jobs (X) of what is returned. What others hold is passed over: they may hold a job and want its
 *   place in line, so this never waits for either.
 * Result: (key, job as it waits).
 */
export function selectLimitedSql(branches: readonly LimitedBranch[], untilMs: number): string {
  const selects = branches.map(
    ({ key, queue, limit, floorMs }) =>
      `(SELECT limited.limit_key, ${CLAIMED_COLUMNS} ${JOINED} WHERE limited.limit_key = ${text(key)} AND limited.queue = ${integer(queue)}${floorMs === null ? "" : ` AND limited.due_at >= ${instant(floorMs)}`} AND limited.due_at <= ${instant(untilMs)} AND jobs.status = 'waiting' ORDER BY limited.due_at LIMIT ${integer(limit)} FOR UPDATE SKIP LOCKED)`,
  );
  return selects.join(" UNION ALL ");
}

/** The first jobs of a line, due or not. Index, locks: as above. Result: ids. */
export function lockLineSql(key: LimitKey, max: number): string {
  return `SELECT jobs.id ${JOINED} WHERE limited.limit_key = ${text(key)} AND jobs.status = 'waiting' ORDER BY limited.queue, limited.due_at LIMIT ${integer(max)} FOR UPDATE SKIP LOCKED`;
}
