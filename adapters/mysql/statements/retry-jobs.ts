/**
 * Event 18 for a group of one tenant, in one transaction: their tasks, the jobs, one UPDATE, their letters. A retry waits for edits of the
 * tasks and keeps them out until it ends; ticks pass over the tasks meanwhile, runs by hand do not wait.
 */
import type { LimitKey } from "#core/domain/call-limit.ts";
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import { instant, integer, jobId, taskKey, text } from "../literals.ts";
import { lineOf } from "../task-rows.ts";
import { groupRows, JOBS_OF_GROUP, jobGroup } from "./job-group.ts";

/**
 * Index: primary key of tasks, a row at a time, driven by the group in key order.
 * Locks: the rows of the live tasks (S, or X where something is to be noted on them). Isolation: READ COMMITTED.
 * Result: (id, max_attempts, whether the task has no further occurrence, request_version, the line of its jobs or NULL) of the live ones.
 */
export function lockTasksSql(
  tenantId: TenantId,
  ids: readonly TaskId[],
  lock: "share" | "update",
): string {
  const keys = ids.map(taskKey).sort((a, b) => a.part - b.part || (a.id < b.id ? -1 : 1));
  const rows = keys.map(({ part, id }) => `ROW(${part},${id})`).join(",");
  return `SELECT t.id, t.max_attempts, t.status = 'completed', t.request_version, ${lineOf("t")} AS limit_key FROM (VALUES ${rows}) AS r (part, id) STRAIGHT_JOIN tasks AS t FORCE INDEX (PRIMARY) ON t.part = r.part AND t.id = r.id WHERE t.tenant_id = ${text(tenantId)} AND t.status <> 'deleted' FOR ${lock === "share" ? "SHARE" : "UPDATE"} OF t`;
}

/**
 * Index: primary key of jobs, a row at a time, driven by the group in key order.
 * Locks: the rows of the group (X), after those of their tasks. Isolation: READ COMMITTED.
 * Result: (id, whether it is dead, task_version, limit_key, attempt, queue).
 */
export function lockDeadJobsSql(tenantId: TenantId, ids: readonly JobId[]): string {
  return `SELECT jobs.id, jobs.status = 'dead', jobs.task_version, jobs.limit_key, jobs.attempt, jobs.queue FROM ${jobGroup(ids.map((id) => ({ id })))} WHERE jobs.tenant_id = ${text(tenantId)} FOR UPDATE OF jobs`;
}

/** A job to be retried. */
export interface Retry {
  readonly id: JobId;
  readonly runAtMs: number;
  readonly queue: number;
  readonly moreAttempts: number;
  readonly limitKey: LimitKey | null;
}

/**
 * Index: as above. Locks: rows that the transaction holds already (X). Isolation: READ COMMITTED. No assignment reads a column
 * that another one writes.
 * Result: the number of jobs sent; any other means a bug, since they are locked.
 */
export function retryJobsSql(retries: readonly Retry[]): string {
  const rows = groupRows(
    retries,
    ({ runAtMs, queue, moreAttempts, limitKey }) =>
      `${instant(runAtMs)},${integer(queue)},${integer(moreAttempts)},${text(limitKey)}`,
  );
  const assignments = [
    "jobs.max_attempts = jobs.attempt + r.more_attempts",
    "jobs.run_at = r.run_at",
    "jobs.due_at = r.run_at",
    "jobs.queue = r.queue",
    "jobs.lost = 0",
    "jobs.worker_id = NULL",
    "jobs.reason = NULL",
    "jobs.cancel_reason = NULL",
    "jobs.finished_at = NULL",
    "jobs.limit_key = r.limit_key",
    "jobs.status = IF(r.limit_key IS NULL, 'pending', 'waiting')",
  ];
  return `UPDATE (VALUES ${rows}) AS r (part, id, run_at, queue, more_attempts, limit_key) ${JOBS_OF_GROUP} SET ${assignments.join(", ")} WHERE jobs.status = 'dead'`;
}

/**
 * Their letters: lists would walk over them until the jobs are archived. Who dies again gets a new one.
 *
 * Index: primary key. Locks: the rows removed (X), after those of their jobs. Isolation: READ COMMITTED. Result: not used.
 */
export function deleteLettersSql(tenantId: TenantId, ids: readonly JobId[]): string {
  return `DELETE FROM dead_letters WHERE tenant_id = ${text(tenantId)} AND job_id IN (${ids.map(jobId).sort().join(",")})`;
}
