import type { JobId } from "#core/domain/ids.ts";
import type { ClaimRequest, QueueHead } from "#core/ports/job-store.ts";
import { CLAIMED_COLUMNS, NO_CLAIMED_COLUMNS } from "../job-rows.ts";
import { instant, integer, interval, jobKey } from "../literals.ts";
import { jobGroup } from "./job-group.ts";

const CLOCK = `(SELECT UTC_TIMESTAMP(3) AS now, ${NO_CLAIMED_COLUMNS})`;

/**
 * Pending jobs that are due or nearly so: the clock in a row of its own, then branch by branch what the request asks for.
 *
 * Index: queue (status, queue, due_at), an exact range per branch in index order. Nothing outside the index is filtered or
 *   sorted by: InnoDB would lock every candidate (measured: 20,000 locks instead of 500).
 * Locks: index entry and row of each job returned (X); those that others hold are passed over. The outer LIMIT ends the walk.
 * Isolation: READ COMMITTED, no gap locks.
 * Result: row 0 is the clock, the rest are jobs as they were before the claim; `now` is NULL in them.
 */
export function selectClaimableSql(request: ClaimRequest): string {
  const branches = request.branches.map(({ queue, limit, head }) => {
    const from = head === null ? "" : ` AND ${notBefore(head)}`;
    return `(SELECT NULL, ${CLAIMED_COLUMNS} FROM jobs FORCE INDEX (queue) WHERE status = 'pending' AND queue = ${integer(queue)}${from} AND due_at <= UTC_TIMESTAMP(3) + ${interval(request.aheadMs)} ORDER BY due_at LIMIT ${integer(limit)} FOR UPDATE SKIP LOCKED)`;
  });
  return `${[CLOCK, ...branches].join(" UNION ALL ")} LIMIT ${integer(request.limit + 1)}`;
}

/** Three ranges of the queue index, which ends in the primary key. */
function notBefore({ dueAtMs, jobId }: QueueHead): string {
  const { part, id } = jobKey(jobId);
  const dueAt = instant(dueAtMs);
  return `(due_at > ${dueAt} OR (due_at = ${dueAt} AND (part > ${part} OR (part = ${part} AND id >= ${id}))))`;
}

/**
 * Of jobs that this transaction has just inserted, or found there, those that are pending.
 *
 * Index: primary key, driven by the group. Locks: each row (X), most of them its own already; those that others hold are passed
 *   over. Isolation: READ COMMITTED.
 * Result: jobs as they are before the claim; the first column is NULL.
 */
export function selectMadeSql(jobs: readonly { readonly id: JobId }[]): string {
  return `SELECT NULL, ${CLAIMED_COLUMNS} FROM ${jobGroup(jobs)} WHERE jobs.status = 'pending' FOR UPDATE OF jobs SKIP LOCKED`;
}
