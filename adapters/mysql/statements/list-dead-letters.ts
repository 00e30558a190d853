import type { TenantId } from "#core/domain/ids.ts";
import type { DeadLetterFilter, DeadLetterPlace } from "#core/ports/job-store.ts";
import { LISTED_JOB_COLUMNS } from "../job-rows.ts";
import { instant, integer, jobId, taskId, text } from "../literals.ts";

/**
 * Dead jobs of a tenant, the last that died first. Letters of jobs that are not dead (any more), and of test calls, are passed over.
 *
 * Index: by_time (tenant_id, died_at, job_id) backwards, or by_task (tenant_id, task_id, died_at, job_id), then the primary keys
 *   of tasks, where only what can be retried is asked for, and of jobs; stops at the limit, or below `downTo`. Letters of deleted tasks
 *   are passed over without a look at their jobs.
 * Locks: none. Isolation: READ COMMITTED. Result: died_at, then the job, at most `limit`.
 */
export function listDeadLettersSql(
  tenantId: TenantId,
  filter: DeadLetterFilter,
  before: DeadLetterPlace | null,
  limit: number,
  downTo: DeadLetterPlace | null,
): string {
  const conditions = inTime(tenantId, filter, before);
  if (downTo !== null) {
    const at = instant(downTo.diedAtMs);
    conditions.push(
      `d.died_at >= ${at}`,
      `(d.died_at > ${at} OR d.job_id >= ${jobId(downTo.jobId)})`,
    );
  }
  const tasks = filter.retriable
    ? " STRAIGHT_JOIN tasks AS t FORCE INDEX (PRIMARY) ON t.part = d.part AND t.id = d.task_id AND t.status <> 'deleted'"
    : "";
  return `SELECT d.died_at, ${LISTED_JOB_COLUMNS} FROM dead_letters AS d FORCE INDEX (${indexFor(filter)})${tasks} STRAIGHT_JOIN jobs FORCE INDEX (PRIMARY) ON jobs.part = d.part AND jobs.id = d.job_id WHERE ${conditions.join(" AND ")} AND jobs.tenant_id = ${text(tenantId)} AND jobs.status = 'dead' AND jobs.\`trigger\` <> 'test' ORDER BY d.died_at DESC, d.job_id DESC LIMIT ${integer(limit)}`;
}

/**
 * The last of the next `rows` letters that a list goes over, whatever they are of.
 *
 * Index: as above, and nothing but that. Locks: none. Isolation: READ COMMITTED. Result: its died_at and job, or no row when there are
 * fewer.
 */
export function selectLettersDownToSql(
  tenantId: TenantId,
  filter: DeadLetterFilter,
  before: DeadLetterPlace | null,
  rows: number,
): string {
  return `SELECT d.died_at, d.job_id FROM dead_letters AS d FORCE INDEX (${indexFor(filter)}) WHERE ${inTime(tenantId, filter, before).join(" AND ")} ORDER BY d.died_at DESC, d.job_id DESC LIMIT ${integer(rows - 1)}, 1`;
}

function inTime(
  tenantId: TenantId,
  filter: DeadLetterFilter,
  before: DeadLetterPlace | null,
): string[] {
  const conditions = [`d.tenant_id = ${text(tenantId)}`];
  if (filter.taskId !== null) conditions.push(`d.task_id = ${taskId(filter.taskId)}`);
  if (filter.fromMs !== null) conditions.push(`d.died_at >= ${instant(filter.fromMs)}`);
  if (filter.toMs !== null) conditions.push(`d.died_at < ${instant(filter.toMs)}`);
  if (before !== null) {
    const at = instant(before.diedAtMs);
    conditions.push(
      `d.died_at <= ${at}`,
      `(d.died_at < ${at} OR d.job_id < ${jobId(before.jobId)})`,
    );
  }
  return conditions;
}

function indexFor({ taskId }: DeadLetterFilter): string {
  return taskId === null ? "by_time" : "by_task";
}
