import type { Retention } from "#core/domain/job.ts";
import type { HeldKey } from "#core/ports/job-store.ts";
import { integer, interval, workerId } from "../literals.ts";
import { groupRows, JOBS_OF_GROUP } from "./job-group.ts";
import { IN_LINE } from "./limited-lines.ts";

/**
 * Event 6 for a group: claimed, not sent. The claim number stays: it is the fence. `limited`: claimed from lines, under the lock of
 * their rows.
 *
 * Index: primary key of jobs, a row at a time, driven by the group (STRAIGHT_JOIN) in key order.
 * Locks: the rows of the group (X).
 * Isolation: READ COMMITTED, autocommit. No assignment reads a column that another one writes.
 * Result: the number of jobs given back; a row that does not match was given back or rescued already.
 */
export function giveBackJobsSql(
  held: readonly HeldKey[],
  retention: Retention,
  limited = false,
): string {
  const rows = groupRows(held, (key) => `${workerId(key.workerId)},${integer(key.claimNo)}`);
  const marked = "jobs.cancel_reason IS NOT NULL";
  const assignments = [
    "jobs.attempt = jobs.attempt - 1",
    "jobs.worker_id = NULL",
    "jobs.reason = COALESCE(jobs.cancel_reason, jobs.reason)",
    `jobs.finished_at = IF(${marked}, UTC_TIMESTAMP(3), jobs.finished_at)`,
    `jobs.due_at = IF(${marked}, GREATEST(jobs.scheduled_at, UTC_TIMESTAMP(3)) + ${interval(retention.endedMs)}, GREATEST(jobs.run_at, UTC_TIMESTAMP(3)))`,
    `jobs.status = IF(${marked}, 'cancelled', ${limited ? IN_LINE : "'pending'"})`,
  ];
  return `UPDATE (VALUES ${rows}) AS r (part, id, worker_id, claim_no) ${JOBS_OF_GROUP} SET ${assignments.join(", ")} WHERE jobs.status = 'running' AND jobs.worker_id = r.worker_id AND jobs.claim_no = r.claim_no`;
}
