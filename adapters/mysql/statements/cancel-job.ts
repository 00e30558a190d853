/** Events 12 and 13 for one job that its owner does not want any more. */
import type { JobId, TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { instant, integer, jobKey, text } from "../literals.ts";
import { selectJobSql } from "./select-jobs.ts";

/**
 * The job's row, first. Every guard is on the row itself: the task need not be locked, and ticks do not pass over it.
 *
 * Index: primary key. Locks: the row (X). Isolation: READ COMMITTED: after a wait, the row as it was committed.
 * Result: one row or none.
 */
export function lockJobSql(tenantId: TenantId, id: JobId): string {
  return `${selectJobSql(tenantId, id)} FOR UPDATE`;
}

/**
 * Writes what the event has made of the job.
 *
 * Index: primary key. Locks: the row, held already (X). Isolation: READ COMMITTED, under that lock: hence no guard.
 * Result: 1, or 0 when it was so already.
 */
export function cancelJobSql(after: Job): string {
  const { part, id } = jobKey(after.id);
  return `UPDATE jobs SET status = ${text(after.status)}, reason = ${text(after.reason)}, cancel_reason = ${text(after.cancelReason)}, finished_at = ${instant(after.finishedAtMs)}, due_at = ${instant(after.dueAtMs)} WHERE part = ${integer(part)} AND id = ${id}`;
}
