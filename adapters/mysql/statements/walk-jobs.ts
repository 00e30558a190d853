/**
 * Walks over a task's jobs, newest first, a page at a time: `status` is in no index with the task, and jobs that have ended stay for
 * two weeks. Index: by_task (task_id, id). Locks: none. Isolation: READ COMMITTED.
 */
import { type JobId, partitionOfTask, type TaskId, type TenantId } from "#core/domain/ids.ts";
import { integer, jobId, orNull, taskId, text } from "../literals.ts";

/** What a change of its task is for: `open` has not ended, `running` is in a worker's hands. */
export type Walked = "open" | "running";

/** The last of the next `rows` jobs below `before`. Reads the index alone. Result: its id, or no row when there are fewer. */
export function selectPageEndSql(id: TaskId, before: JobId | null, rows: number): string {
  return `SELECT id FROM jobs FORCE INDEX (by_task) WHERE ${below(id, before)} ORDER BY id DESC LIMIT ${integer(rows - 1)}, 1`;
}

/** Jobs below `before` down to `end`. Result: ids in order. */
export function selectWalkedJobsSql(
  id: TaskId,
  before: JobId | null,
  end: JobId | null,
  walked: Walked,
): string {
  const from = end === null ? "" : ` AND id >= ${jobId(end)}`;
  const statuses = walked === "open" ? "'pending', 'waiting', 'running'" : "'running'";
  return `SELECT id FROM jobs FORCE INDEX (by_task) WHERE ${below(id, before)}${from} AND status IN (${statuses}) ORDER BY id`;
}

function below(id: TaskId, before: JobId | null): string {
  return `task_id = ${taskId(id)}${before === null ? "" : ` AND id < ${jobId(before)}`}`;
}

/**
 * Notes below which job the task's last change has yet to reach its jobs, or that it has reached all of them.
 * Index: primary key. Locks: the task's row, which the transaction holds already (X). Result: not used.
 */
export function updateJobsBelowSql(id: TaskId, before: JobId | null): string {
  return `UPDATE tasks SET jobs_below = ${orNull(jobId)(before)} WHERE part = ${integer(partitionOfTask(id))} AND id = ${taskId(id)}`;
}

/**
 * How far the last change of a task has come, deleted or not.
 * Index: primary key. Locks: the row (X). Result: (status, jobs_below), or no row.
 */
export function lockJobsBelowSql(tenantId: TenantId, id: TaskId): string {
  return `SELECT status, jobs_below FROM tasks FORCE INDEX (PRIMARY) WHERE part = ${integer(partitionOfTask(id))} AND id = ${taskId(id)} AND tenant_id = ${text(tenantId)} FOR UPDATE`;
}

/**
 * Changes that have jobs left to reach.
 * Index: jobs_below, from the first that is not empty. Locks: none. Isolation: READ COMMITTED. Result: (tenant_id, id, status, jobs_below).
 */
export function listUnfinishedSql(limit: number): string {
  return `SELECT tenant_id, id, status, jobs_below FROM tasks WHERE jobs_below IS NOT NULL LIMIT ${integer(limit)}`;
}
