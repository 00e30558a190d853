/** Removes tasks that ended long ago and have no jobs any more, with their versions. */
import type { TaskId } from "#core/domain/ids.ts";
import { integer, interval, taskId, taskKey } from "../literals.ts";

/**
 * Which tasks to remove: deleted, or completed, and without jobs.
 *
 * Index: ended (ended_at), a range; by_task of jobs, one look per task. Stops at the limit.
 * Locks: index entry and row of each task returned (X): no run by hand and no retry of a dead job can begin meanwhile. Tasks that
 *   others hold are passed over.
 * Isolation: READ COMMITTED. The jobs are read as of the statement's begin: a job that was made while it walked is seen by the
 *   next one only.
 * Result: ids.
 */
export function lockEndedTasksSql(olderThanMs: number, limit: number): string {
  return `SELECT t.id FROM tasks AS t FORCE INDEX (ended) WHERE t.ended_at < UTC_TIMESTAMP(3) - ${interval(olderThanMs)} AND NOT EXISTS (SELECT /*+ NO_SEMIJOIN() */ 1 FROM jobs FORCE INDEX (by_task) WHERE jobs.task_id = t.id) ORDER BY t.ended_at LIMIT ${integer(limit)} FOR UPDATE OF t SKIP LOCKED`;
}

/** Under the lock of the tasks. Index: by_task, one look per task. Locks: none. Result: those that have jobs after all. */
export function selectTasksWithJobsSql(ids: readonly TaskId[]): string {
  const rows = ids.map((id) => `ROW(${taskId(id)})`).join(",");
  return `SELECT r.task_id FROM (VALUES ${rows}) AS r (task_id) WHERE EXISTS (SELECT /*+ NO_SEMIJOIN() */ 1 FROM jobs FORCE INDEX (by_task) WHERE jobs.task_id = r.task_id)`;
}

/**
 * Index: primary keys, driven by the group in key order. Locks: rows of tasks that are held already, their versions (X).
 * Isolation: READ COMMITTED. Result: the number of tasks and versions removed.
 */
export function deleteTasksSql(ids: readonly TaskId[]): string {
  const keys = ids.map(taskKey).sort((a, b) => a.part - b.part || (a.id < b.id ? -1 : 1));
  const rows = keys.map(({ part, id }) => `ROW(${part},${id})`).join(",");
  return `DELETE t, v FROM (VALUES ${rows}) AS r (part, id) STRAIGHT_JOIN tasks AS t FORCE INDEX (PRIMARY) ON t.part = r.part AND t.id = r.id LEFT JOIN task_versions AS v FORCE INDEX (PRIMARY) ON v.part = r.part AND v.task_id = r.id`;
}
