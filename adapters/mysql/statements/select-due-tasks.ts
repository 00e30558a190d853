import { FAST_AHEAD_MS, MISSED_AFTER_MS } from "#core/domain/limits.ts";
import { PRIORITIES, type Priority, priorityRank } from "#core/domain/queue.ts";
import { instant, integer, interval } from "../literals.ts";
import { DUE_TASK_COLUMNS, NO_DUE_TASK_COLUMNS } from "../task-rows.ts";

const CLOCK = `SELECT UTC_TIMESTAMP(3) AS now, ${NO_DUE_TASK_COLUMNS}`;

/**
 * The first statement of a tick: the database's clock in a row of its own, then the tasks that missed a run. First those of each
 * priority that are furthest behind, up to `oldest`; then, most urgent first, those that are least behind: what a few ticks can bring
 * up to now does not wait for what takes minutes, and the furthest behind do not wait for ever.
 *
 * Index: next_run (status, priority, next_run_at), an exact range per priority in index order, then the same ranges backward.
 * Locks: index entry and row of each task returned (X); those that others hold are passed over. The outer LIMIT ends the walk:
 *   later branches are not begun, and nothing is locked that is not returned (test/integration/locks.test.ts).
 * Isolation: READ COMMITTED, no gap locks.
 * Result: row 0 is the clock, the rest are tasks; `now` is NULL in them. With each its line, read as of the statement's begin. A task
 *   may come twice.
 */
export function selectMissedTasksSql(missedAfterMs: number, oldest: number, limit: number): string {
  const before = `next_run_at < UTC_TIMESTAMP(3) - ${interval(missedAfterMs)}`;
  const branches = [
    `(${CLOCK})`,
    ...PRIORITIES.map((priority) => branch(priority, before, oldest)),
    ...PRIORITIES.map((priority) => branch(priority, before, limit, " DESC")),
  ];
  return `${branches.join(" UNION ALL ")} LIMIT ${integer(limit + 1)}`;
}

/**
 * The second statement of a tick: what is due up to the horizon, without what the first one covers. Both bounds come from the
 * first one's clock, so that no task falls between the two.
 *
 * Index: next_run, an exact range per priority in index order, most urgent first. Locks, isolation: as above. Result: tasks only.
 */
export function selectDueTasksSql(fromMs: number, untilMs: number, limit: number): string {
  const within = `next_run_at >= ${instant(fromMs)} AND next_run_at <= ${instant(untilMs)}`;
  const branches = PRIORITIES.map((priority) => branch(priority, within, limit));
  return `${branches.join(" UNION ALL ")} LIMIT ${integer(limit)}`;
}

/**
 * The first statement of a make-and-take, after the worker's own row: the clock, then critical tasks that are due.
 *
 * Index: next_run, an exact range in index order. Locks, isolation, result: as the first.
 */
export function selectCriticalTasksSql(limit: number): string {
  const within = `next_run_at >= UTC_TIMESTAMP(3) - ${interval(MISSED_AFTER_MS)} AND next_run_at <= UTC_TIMESTAMP(3) + ${interval(FAST_AHEAD_MS)}`;
  return `(${CLOCK}) UNION ALL ${branch("critical", within, limit)} LIMIT ${integer(limit + 1)}`;
}

function branch(priority: Priority, range: string, limit: number, direction = ""): string {
  return `(SELECT NULL, ${DUE_TASK_COLUMNS} FROM tasks FORCE INDEX (next_run) WHERE status = 'active' AND priority = ${priorityRank(priority)} AND ${range} ORDER BY next_run_at${direction} LIMIT ${integer(limit)} FOR UPDATE SKIP LOCKED)`;
}
