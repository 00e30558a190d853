import type { JobId, TaskId } from "#core/domain/ids.ts";
import { REVOCATIONS_KEPT_MS } from "#core/domain/limits.ts";
import { integer, interval, jobId, orNull, taskId } from "../literals.ts";

/**
 * Removes revocations that nobody reads any more, the oldest first.
 *
 * Index: at, forwards. Locks: the rows removed (X). Isolation: READ COMMITTED. Result: how many.
 */
export function pruneRevocationsSql(limit: number): string {
  return `DELETE FROM revocations WHERE at < UTC_TIMESTAMP(3) - ${interval(REVOCATIONS_KEPT_MS)} ORDER BY at LIMIT ${integer(limit)}`;
}

/**
 * The last statement of a pause, delete or cancel: executors look REVOCATION_WINDOW_MS back from now, so its time should be near the
 * COMMIT.
 *
 * Index: primary key. Locks: the new row (X). Isolation: READ COMMITTED. Result: 1.
 */
export function insertRevocationSql(task: TaskId, job: JobId | null): string {
  return `INSERT INTO revocations (at, task_id, job_id) VALUES (UTC_TIMESTAMP(3), ${taskId(task)}, ${orNull(jobId)(job)})`;
}

/**
 * Revocations younger than a window, in any order.
 *
 * Index: at. Locks: none. Isolation: READ COMMITTED. Result: (task_id, job_id).
 */
export function listRevocationsSql(withinMs: number): string {
  return `SELECT task_id, job_id FROM revocations FORCE INDEX (at) WHERE at > UTC_TIMESTAMP(3) - ${interval(withinMs)}`;
}
