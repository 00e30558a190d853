/**
 * Event 18 for a group of one tenant, in one transaction: their tasks, the jobs, one UPDATE. A retry waits for edits of the
 * tasks and keeps them out until it ends; ticks pass over the tasks meanwhile, runs by hand do not wait.
 */
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import { instant, integer, taskKey, text } from "../literals.ts";
import { groupRows, JOBS_OF_GROUP } from "./job-group.ts";
import { IN_LINE } from "./limited-lines.ts";

/**
 * Index: primary key of tasks, a row at a time, driven by the group in key order.
 * Locks: the rows of the live tasks (S, or X where something is to be noted on them). Isolation: READ COMMITTED.
 * Result: (id, max_attempts, whether the task has no further occurrence) of the live ones.
 */
export function lockTasksSql(
  tenantId: TenantId,
  ids: readonly TaskId[],
  lock: "share" | "update",
): string {
  const keys = ids.map(taskKey).sort((a, b) => a.part - b.part || (a.id < b.id ? -1 : 1));
  const rows = keys.map(({ part, id }) => `ROW(${part},${id})`).join(",");
  return `SELECT t.id, t.max_attempts, t.status = 'completed' FROM (VALUES ${rows}) AS r (part, id) STRAIGHT_JOIN tasks AS t FORCE INDEX (PRIMARY) ON t.part = r.part AND t.id = r.id WHERE t.tenant_id = ${text(tenantId)} AND t.status <> 'deleted' FOR ${lock === "share" ? "SHARE" : "UPDATE"} OF t`;
}

/**
 * Index: primary key of jobs, a row at a time, driven by the group in key order.
 * Locks: the rows of the group (X), after those of their tasks. Isolation: READ COMMITTED.
 * Result: (id, whether it is dead, whether it then waits in line).
 */
export function lockDeadJobsSql(tenantId: TenantId, ids: readonly JobId[]): string {
  const rows = groupRows(
    ids.map((id) => ({ id })),
    () => "",
  );
  return `SELECT jobs.id, jobs.status = 'dead', jobs.limit_key IS NOT NULL FROM (VALUES ${rows}) AS r (part, id) ${JOBS_OF_GROUP} WHERE jobs.tenant_id = ${text(tenantId)} FOR UPDATE OF jobs`;
}

/** A job to be retried. */
export interface Retry {
  readonly id: JobId;
  readonly runAtMs: number;
  readonly moreAttempts: number;
}

/**
 * Index: as above. Locks: rows that the transaction holds already (X). Isolation: READ COMMITTED. No assignment reads a column
 * that another one writes.
 * Result: the number of jobs sent; any other means a bug, since they are locked.
 */
export function retryJobsSql(retries: readonly Retry[]): string {
  const rows = groupRows(
    retries,
    ({ runAtMs, moreAttempts }) => `${instant(runAtMs)},${integer(moreAttempts)}`,
  );
  const assignments = [
    "jobs.max_attempts = jobs.attempt + r.more_attempts",
    "jobs.run_at = r.run_at",
    "jobs.due_at = r.run_at",
    "jobs.lost = 0",
    "jobs.worker_id = NULL",
    "jobs.reason = NULL",
    "jobs.cancel_reason = NULL",
    "jobs.finished_at = NULL",
    `jobs.status = ${IN_LINE}`,
  ];
  return `UPDATE (VALUES ${rows}) AS r (part, id, run_at, more_attempts) ${JOBS_OF_GROUP} SET ${assignments.join(", ")} WHERE jobs.status = 'dead'`;
}
