/**
 * What edits do to the jobs of their task. All run in the edit's transaction, under the task's row lock, which keeps ticks,
 * runs by hand and retries out; executors are not kept out, hence each statement's guards.
 *
 * Index of all: by_task (task_id, id), forwards. Ids ascend within a task in every index, so that a group of results, which
 * walks the primary key, never meets an edit crosswise. Where only later runs count, the range begins at their first id.
 * Isolation: READ COMMITTED: rows that do not match are let go at once.
 */

import type { TaskId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import { REASON_PAUSED } from "#core/domain/job.ts";
import { FROZEN_MS } from "#core/domain/limits.ts";
import { instant, integer, interval, jobIdsFrom, taskId, text } from "../literals.ts";

/** Planned and not frozen at `nowMs`: what event 17 may remove. */
function plannedLater(id: TaskId, nowMs: number): string {
  const frozenUntilMs = nowMs + FROZEN_MS;
  return `task_id = ${taskId(id)} AND id >= ${jobIdsFrom(frozenUntilMs)} AND scheduled_at > ${instant(frozenUntilMs)} AND status IN ('pending', 'waiting') AND \`trigger\` = 'schedule' AND claim_no = 0`;
}

/** The database's clock, read after the task's lock was got. Result: one row. */
export function selectClockSql(): string {
  return "SELECT UTC_TIMESTAMP(3)";
}

/**
 * The earliest planned job that the edit may remove. Locks: none (the delete has the guards).
 * Result: one row with its `scheduled_at`, or none.
 */
export function selectPlannedFromSql(id: TaskId, nowMs: number): string {
  return `SELECT scheduled_at FROM jobs FORCE INDEX (by_task) WHERE ${plannedLater(id, nowMs)} ORDER BY id LIMIT 1`;
}

/** Event 17. Locks: the rows removed (X). Result: how many. */
export function deletePlannedJobsSql(id: TaskId, nowMs: number): string {
  return `DELETE jobs FROM jobs FORCE INDEX (by_task) WHERE ${plannedLater(id, nowMs)}`;
}

/**
 * Events 12 and 13 in one statement: two would miss a job that moves between them. What waits is cancelled; what runs is
 * marked, a pause only where there is no mark. Waits for claims and results under way, then sees what they left.
 *
 * Every assignment but that of `status` is the same whether it reads the status before or after: a running job stays so, any
 * other does not become one.
 * Locks: the rows changed (X). Result: how many.
 */
export function cancelJobsSql(
  id: TaskId,
  reason: string,
  nowMs: number,
  retention: Retention,
): string {
  const keepsMark = reason === REASON_PAUSED ? " AND cancel_reason IS NULL" : "";
  return `UPDATE jobs FORCE INDEX (by_task) SET cancel_reason = IF(status = 'running', ${text(reason)}, cancel_reason), reason = IF(status = 'running', reason, ${text(reason)}), finished_at = IF(status = 'running', finished_at, ${instant(nowMs)}), due_at = IF(status = 'running', due_at, GREATEST(scheduled_at, ${instant(nowMs)}) + ${interval(retention.endedMs)}), status = IF(status = 'running', 'running', 'cancelled') WHERE task_id = ${taskId(id)} AND (status IN ('pending', 'waiting') OR (status = 'running'${keepsMark}))`;
}

/**
 * Which rows of `limited` the cancelled jobs leave behind. Read without locks, then deleted by key: a locking read would walk
 * finished rows that a late result may hold.
 * Result: (job_id, limit_key).
 */
export function selectLeftLimitedSql(id: TaskId): string {
  return `SELECT limited.job_id, limited.limit_key FROM jobs FORCE INDEX (by_task) STRAIGHT_JOIN limited FORCE INDEX (PRIMARY) ON limited.job_id = jobs.id WHERE jobs.task_id = ${taskId(id)} AND jobs.status = 'cancelled' ORDER BY jobs.id`;
}

/** Event 14. Locks: the rows changed (X). Result: how many. */
export function resumeRunningJobsSql(id: TaskId): string {
  return `UPDATE jobs FORCE INDEX (by_task) SET cancel_reason = NULL WHERE task_id = ${taskId(id)} AND status = 'running' AND cancel_reason = ${text(REASON_PAUSED)}`;
}

function pausedLater(id: TaskId, nowMs: number): string {
  return `task_id = ${taskId(id)} AND id >= ${jobIdsFrom(nowMs)} AND scheduled_at > ${instant(nowMs)} AND status = 'cancelled' AND reason = ${text(REASON_PAUSED)} AND \`trigger\` = 'schedule'`;
}

/**
 * Event 15: a job that was claimed once is never deleted and made again, its claim number is the fence.
 * Locks: the rows changed (X). Result: how many.
 */
export function resumeClaimedJobsSql(id: TaskId, nowMs: number, requestVersion: number): string {
  return `UPDATE jobs FORCE INDEX (by_task) SET task_version = ${integer(requestVersion)}, run_at = scheduled_at, due_at = scheduled_at, status = 'pending', reason = NULL, cancel_reason = NULL, finished_at = NULL, worker_id = NULL WHERE ${pausedLater(id, nowMs)} AND claim_no > 0`;
}

/** Event 16: what was never claimed is made again from now on. Locks: the rows removed (X). Result: how many. */
export function deleteUnclaimedJobsSql(id: TaskId, nowMs: number): string {
  return `DELETE jobs FROM jobs FORCE INDEX (by_task) WHERE ${pausedLater(id, nowMs)} AND claim_no = 0`;
}
