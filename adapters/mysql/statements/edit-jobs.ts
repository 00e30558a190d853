/**
 * What edits do to the jobs of their task. All run in the edit's transaction, under the task's row lock, which keeps ticks,
 * runs by hand and retries out; executors are not kept out, hence each statement's guards.
 *
 * First the ids are read without locks, by index by_task (task_id, id), here or in walk-jobs.ts; then rows are changed by primary key, a group at a time,
 * in key order. A locking range over by_task would also wait for the first row behind its end, which is another task's: with
 * a group of results that walks the primary key that is a deadlock (met in test/e2e/races.test.ts). Nothing is missed between
 * the two: while the task's row is locked no job joins those that are read, jobs only leave them or move among them.
 * Isolation: READ COMMITTED.
 */

import type { LimitKey } from "#core/domain/call-limit.ts";
import type { JobId, TaskId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import { REASON_PAUSED } from "#core/domain/job.ts";
import { FROZEN_MS } from "#core/domain/limits.ts";
import type { Task } from "#core/domain/task.ts";
import { columns, instant, integer, interval, jobIdsFrom, taskId, text } from "../literals.ts";
import { jobGroup } from "./job-group.ts";

/** Planned and not frozen at `nowMs`: what event 17 may remove. */
function plannedLater(id: TaskId, nowMs: number): string {
  const frozenUntilMs = nowMs + FROZEN_MS;
  return `task_id = ${taskId(id)} AND id >= ${jobIdsFrom(frozenUntilMs)} AND scheduled_at > ${instant(frozenUntilMs)} AND status IN ('pending', 'waiting') AND \`trigger\` = 'schedule' AND claim_no = 0`;
}

/** The schedule's jobs that are ahead of now and have not ended. */
function ahead(id: TaskId, nowMs: number): string {
  return `task_id = ${taskId(id)} AND id >= ${jobIdsFrom(nowMs)} AND scheduled_at > ${instant(nowMs)} AND status IN ('pending', 'waiting', 'running') AND \`trigger\` = 'schedule'`;
}

/**
 * The earliest planned job that the edit may remove, and the earliest that is ahead at all. Locks: none (the writes have the
 * guards). Result: one row with the two `scheduled_at`, NULL where there is none.
 */
export function selectJobsAheadSql(id: TaskId, nowMs: number): string {
  const first = (jobs: string) =>
    `(SELECT scheduled_at FROM jobs FORCE INDEX (by_task) WHERE ${jobs} ORDER BY id LIMIT 1)`;
  return `SELECT ${columns([first(plannedLater(id, nowMs)), first(ahead(id, nowMs))])}`;
}

/** So many are told of: a resume keeps what executors have claimed ahead, seconds at most. */
const MADE_MAX = 1_000;

/** Which occurrences of an interval, both ends included, have a row of their own. Locks: none. Result: scheduled_at, in order. */
export function selectMadeOccurrencesSql(id: TaskId, fromMs: number, toMs: number): string {
  return `SELECT scheduled_at FROM jobs FORCE INDEX (by_task) WHERE task_id = ${taskId(id)} AND id >= ${jobIdsFrom(fromMs)} AND id < ${jobIdsFrom(toMs + 1)} AND \`trigger\` IN ('schedule', 'catch_up') AND covers IS NULL ORDER BY id LIMIT ${integer(MADE_MAX)}`;
}

/** What event 17 may remove. Locks: none. Result: ids in order. */
export function selectPlannedJobsSql(id: TaskId, nowMs: number): string {
  return `SELECT id FROM jobs FORCE INDEX (by_task) WHERE ${plannedLater(id, nowMs)} ORDER BY id`;
}

/**
 * Event 17. Index: primary keys. Locks: the rows named, each before its place in line (X): joined by jobs.id, or the optimiser would lock
 * the place first. Result: not used.
 */
export function deletePlannedJobsSql(jobs: readonly JobId[]): string {
  return `DELETE jobs, limited FROM ${group(jobs)} LEFT JOIN limited FORCE INDEX (PRIMARY) ON limited.job_id = jobs.id WHERE jobs.status IN ('pending', 'waiting') AND jobs.claim_no = 0`;
}

/**
 * Events 12 and 13 in one statement: two would miss a job that moves between them. What waits is cancelled; what runs is
 * marked, a pause only where there is no mark. Waits for claims and results under way, then sees what they left.
 *
 * Every assignment but that of `status` is the same whether it reads the status before or after: a running job stays so, any
 * other does not become one.
 * Index: primary key. Locks: the rows named (X). Result: how many were changed.
 */
export function cancelJobsSql(
  jobs: readonly JobId[],
  reason: string,
  nowMs: number,
  retention: Retention,
): string {
  const keepsMark = reason === REASON_PAUSED ? " AND jobs.cancel_reason IS NULL" : "";
  const runs = "jobs.status = 'running'";
  const assignments = [
    `jobs.cancel_reason = IF(${runs}, ${text(reason)}, jobs.cancel_reason)`,
    `jobs.reason = IF(${runs}, jobs.reason, ${text(reason)})`,
    `jobs.finished_at = IF(${runs}, jobs.finished_at, ${instant(nowMs)})`,
    `jobs.due_at = IF(${runs}, jobs.due_at, GREATEST(jobs.scheduled_at, ${instant(nowMs)}) + ${interval(retention.endedMs)})`,
    `jobs.status = IF(${runs}, 'running', 'cancelled')`,
  ];
  return `UPDATE ${group(jobs)} SET ${assignments.join(", ")} WHERE jobs.status IN ('pending', 'waiting') OR (${runs}${keepsMark})`;
}

/**
 * Which rows of `limited` the jobs leave behind that are cancelled by now. Read without locks, then deleted by key: a locking read
 * would walk finished rows that a late result may hold.
 * Index: primary keys. Result: ids.
 */
export function selectLeftLimitedSql(jobs: readonly JobId[]): string {
  return `SELECT limited.job_id FROM ${group(jobs)} STRAIGHT_JOIN limited FORCE INDEX (PRIMARY) ON limited.job_id = jobs.id WHERE jobs.status = 'cancelled'`;
}

/**
 * What a resume concerns among what is still ahead: what runs, and what the pause cancelled. A running job may become cancelled
 * meanwhile: it is named too. (What runs and is not ahead is found by a walk.)
 * Locks: none. Result: ids in order.
 */
export function selectPausedJobsSql(id: TaskId, nowMs: number): string {
  return `SELECT id FROM jobs FORCE INDEX (by_task) WHERE task_id = ${taskId(id)} AND id >= ${jobIdsFrom(nowMs)} AND (status = 'running' OR (${pausedLater("", nowMs)})) ORDER BY id`;
}

/**
 * Before statements that go over the same jobs one after the other: an UPDATE keeps locks only of what it changes, and the next would
 * go back to rows before them, while a group of results walks on to theirs (met in test/e2e/races.test.ts).
 * Index: primary key. Locks: the rows named (X), in key order. Result: not used.
 */
export function lockJobsSql(jobs: readonly JobId[]): string {
  return `SELECT 1 FROM ${group(jobs)} FOR UPDATE OF jobs`;
}

/** Event 14. Index: primary key. Locks: the rows named (X). Result: how many were changed. */
export function resumeRunningJobsSql(jobs: readonly JobId[]): string {
  return `UPDATE ${group(jobs)} SET jobs.cancel_reason = NULL WHERE jobs.status = 'running' AND jobs.cancel_reason = ${text(REASON_PAUSED)}`;
}

/**
 * Event 15: a job that was claimed once is never deleted and made again, its claim number is the fence.
 * Index: primary key. Locks: the rows named (X). Result: how many were changed.
 */
export function resumeClaimedJobsSql(
  jobs: readonly JobId[],
  nowMs: number,
  task: Pick<Task, "requestVersion" | "timeoutMs" | "maxAttempts">,
  limitKey: LimitKey | null,
): string {
  const assignments = [
    `jobs.task_version = ${integer(task.requestVersion)}`,
    `jobs.timeout_ms = ${integer(task.timeoutMs)}`,
    `jobs.max_attempts = jobs.attempt - jobs.lost + ${integer(task.maxAttempts)}`,
    "jobs.run_at = jobs.scheduled_at",
    "jobs.due_at = jobs.scheduled_at",
    `jobs.limit_key = ${text(limitKey)}`,
    `jobs.status = '${limitKey === null ? "pending" : "waiting"}'`,
    "jobs.reason = NULL",
    "jobs.cancel_reason = NULL",
    "jobs.finished_at = NULL",
    "jobs.worker_id = NULL",
  ];
  return `UPDATE ${group(jobs)} SET ${assignments.join(", ")} WHERE ${pausedLater("jobs.", nowMs)} AND jobs.claim_no > 0`;
}

/** Event 16: what was never claimed is made again from now on. Index: primary key. Locks: the rows named (X). Result: how many. */
export function deleteUnclaimedJobsSql(jobs: readonly JobId[], nowMs: number): string {
  return `DELETE jobs FROM ${group(jobs)} WHERE ${pausedLater("jobs.", nowMs)} AND jobs.claim_no = 0`;
}

function pausedLater(of: "" | "jobs.", nowMs: number): string {
  return `${of}scheduled_at > ${instant(nowMs)} AND ${of}status = 'cancelled' AND ${of}reason = ${text(REASON_PAUSED)} AND ${of}\`trigger\` = 'schedule'`;
}

/** The named jobs, walked in key order. */
function group(jobs: readonly JobId[]): string {
  return jobGroup(jobs.map((id) => ({ id })));
}
