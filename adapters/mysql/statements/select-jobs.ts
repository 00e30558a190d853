import { type JobId, partitionOfJob, type TaskId, type TenantId } from "#core/domain/ids.ts";
import type { JobStatus } from "#core/domain/job.ts";
import type { TaskJobsFilter } from "#core/ports/job-store.ts";
import { JOB_COLUMNS, LISTED_JOB_COLUMNS } from "../job-rows.ts";
import { integer, jobId, jobIdsFrom, taskId, text } from "../literals.ts";
import { jobGroup } from "./job-group.ts";

/**
 * One job of a tenant.
 *
 * Index: primary key. Locks: none. Isolation: READ COMMITTED. Result: one row or none.
 */
export function selectJobSql(tenantId: TenantId, id: JobId): string {
  return `SELECT ${JOB_COLUMNS} FROM jobs FORCE INDEX (PRIMARY) WHERE part = ${integer(partitionOfJob(id))} AND id = ${jobId(id)} AND tenant_id = ${text(tenantId)}`;
}

/**
 * Which jobs of a group are here.
 *
 * Index: primary key, driven by the group in key order. Locks: none. Isolation: READ COMMITTED. Result: ids.
 */
export function listPresentSql(ids: readonly JobId[]): string {
  return `SELECT jobs.id FROM ${jobGroup(ids.map((id) => ({ id })))}`;
}

/**
 * Which running jobs of a group are to end.
 *
 * Index: primary key, driven by the group in key order. Locks: none. Isolation: READ COMMITTED. Result: ids.
 */
export function listMarkedSql(ids: readonly JobId[]): string {
  return `${listPresentSql(ids)} WHERE jobs.status = 'running' AND jobs.cancel_reason IS NOT NULL`;
}

/**
 * A task's jobs, newest first. Times are ranges of ids, which begin with `scheduled_at`.
 *
 * Index: by_task (task_id, id) backwards; stops at the limit, or below `downTo`: a filter by status walks what it leaves out.
 * Locks: none. Isolation: READ COMMITTED. Result: at most `limit` rows.
 */
export function listJobsSql(
  tenantId: TenantId,
  task: TaskId,
  filter: TaskJobsFilter,
  before: JobId | null,
  limit: number,
  downTo: JobId | null,
): string {
  const conditions = [...inTime(task, filter, before), `tenant_id = ${text(tenantId)}`];
  if (downTo !== null) conditions.push(`id >= ${jobId(downTo)}`);
  if (filter.statuses !== null) conditions.push(shownAs(filter.statuses));
  return `SELECT ${LISTED_JOB_COLUMNS} FROM jobs FORCE INDEX (by_task) WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ${integer(limit)}`;
}

/**
 * The last of the next `rows` jobs that a list goes over, whatever their status.
 *
 * Index: by_task backwards, and nothing but that. Locks: none. Isolation: READ COMMITTED. Result: its id, or no row when there are fewer.
 */
export function selectListedDownToSql(
  task: TaskId,
  filter: TaskJobsFilter,
  before: JobId | null,
  rows: number,
): string {
  return `SELECT id FROM jobs FORCE INDEX (by_task) WHERE ${inTime(task, filter, before).join(" AND ")} ORDER BY id DESC LIMIT ${integer(rows - 1)}, 1`;
}

function inTime(task: TaskId, { fromMs, toMs }: TaskJobsFilter, before: JobId | null): string[] {
  const conditions = [`task_id = ${taskId(task)}`];
  if (before !== null) conditions.push(`id < ${jobId(before)}`);
  if (fromMs !== null) conditions.push(`id >= ${jobIdsFrom(fromMs)}`);
  if (toMs !== null) conditions.push(`id < ${jobIdsFrom(toMs)}`);
  return conditions;
}

/** A running job whose `run_at` has not passed waits in an executor's timer: readers see it as pending. */
function shownAs(statuses: readonly JobStatus[]): string {
  const plain = statuses.filter((status) => status !== "running");
  const cases = plain.map((status) => `status = '${status}'`);
  if (statuses.includes("running"))
    cases.push("(status = 'running' AND run_at <= UTC_TIMESTAMP(3))");
  if (statuses.includes("pending"))
    cases.push("(status = 'running' AND run_at > UTC_TIMESTAMP(3))");
  return cases.length === 0 ? "FALSE" : `(${cases.join(" OR ")})`;
}
