import type { Retention } from "#core/domain/job.ts";
import type { GivenBack } from "#core/ports/job-store.ts";
import { instant, integer, interval, workerId } from "../literals.ts";
import { groupRows, JOBS_OF_GROUP } from "./job-group.ts";
import { IN_LINE } from "./limited-lines.ts";

/**
 * Event 6 for a group: claimed, not sent. The claim number stays: it is the fence. `limited`: claimed from lines, under the lock of
 * their rows.
 *
 * Index: primary key of jobs, a row at a time, driven by the group (STRAIGHT_JOIN) in key order.
 * Locks: the rows of the group (X).
 * Isolation: READ COMMITTED, autocommit. No assignment reads a column that another one writes, but for run_at, which it
 *   leaves as it would find it.
 * Result: the number of jobs given back; a row that does not match was given back or rescued already.
 */
export function giveBackJobsSql(
  held: readonly GivenBack[],
  retention: Retention,
  limited: boolean,
): string {
  const rows = groupRows(
    held,
    ({ workerId: worker, claimNo, notBeforeMs = null }) =>
      `${workerId(worker)},${integer(claimNo)},${instant(notBeforeMs)}`,
  );
  // The same before and after it is assigned: a multi-table UPDATE promises no order.
  const runAt = "GREATEST(jobs.run_at, COALESCE(r.not_before, jobs.run_at))";
  const marked = "jobs.cancel_reason IS NOT NULL";
  const assignments = [
    "jobs.attempt = jobs.attempt - 1",
    "jobs.worker_id = NULL",
    `jobs.run_at = ${runAt}`,
    "jobs.reason = COALESCE(jobs.cancel_reason, jobs.reason)",
    `jobs.finished_at = IF(${marked}, UTC_TIMESTAMP(3), jobs.finished_at)`,
    `jobs.due_at = IF(${marked}, GREATEST(jobs.scheduled_at, UTC_TIMESTAMP(3)) + ${interval(retention.endedMs)}, GREATEST(${runAt}, UTC_TIMESTAMP(3)))`,
    `jobs.status = IF(${marked}, 'cancelled', ${limited ? IN_LINE : "'pending'"})`,
  ];
  return `UPDATE (VALUES ${rows}) AS r (part, id, worker_id, claim_no, not_before) ${JOBS_OF_GROUP} SET ${assignments.join(", ")} WHERE jobs.status = 'running' AND jobs.worker_id = r.worker_id AND jobs.claim_no = r.claim_no`;
}
