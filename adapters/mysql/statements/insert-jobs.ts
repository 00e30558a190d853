import type { Job } from "#core/domain/job.ts";
import { priorityRank } from "#core/domain/queue.ts";
import { type GroupColumn, groupColumn, splitColumns } from "../group-columns.ts";
import { instant, integer, jobId, json, orNull, text, workerId } from "../literals.ts";
import { groupRows } from "./job-group.ts";

/**
 * Inserts jobs; one whose id exists is left alone.
 *
 * Index: primary key. Rows are inserted in key order, as every group statement walks them, so that none meet crosswise.
 * Locks: the new rows (X); of an id that exists, its row (X).
 * Isolation: READ COMMITTED.
 * Result: the number of rows that were new: an assignment that changes nothing counts 0. Never IGNORE, which hides bad rows.
 */
export function insertJobsSql(jobs: readonly Job[]): string {
  const { expressions, names, row } = splitColumns(COLUMNS, jobs);
  // A job's id contains its task's.
  return `INSERT INTO jobs (part, id, task_id, ${NAMES}) SELECT r.part, r.id, SUBSTR(r.id, 7, 16), ${expressions.join(", ")} FROM (VALUES ${groupRows(jobs, row)}) AS r (${names("part, id")}) ON DUPLICATE KEY UPDATE jobs.id = jobs.id`;
}

const COLUMNS: readonly GroupColumn<Job>[] = [
  groupColumn("tenant_id", (job) => job.tenantId, text),
  groupColumn("task_version", (job) => job.taskVersion, integer),
  groupColumn("`trigger`", (job) => job.trigger, text),
  groupColumn("status", (job) => job.status, text),
  groupColumn("priority", (job) => priorityRank(job.priority), integer),
  groupColumn("queue", (job) => job.queue, integer),
  groupColumn("scheduled_at", (job) => job.scheduledAtMs, instant),
  groupColumn("run_at", (job) => job.runAtMs, instant),
  groupColumn("due_at", (job) => job.dueAtMs, instant),
  groupColumn("claim_no", (job) => job.claimNo, integer),
  groupColumn("attempt", (job) => job.attempt, integer),
  groupColumn("lost", (job) => job.lost, integer),
  groupColumn("max_attempts", (job) => job.maxAttempts, integer),
  groupColumn("timeout_ms", (job) => job.timeoutMs, integer),
  groupColumn("worker_id", (job) => job.workerId, orNull(workerId)),
  groupColumn("cancel_reason", (job) => job.cancelReason, text),
  groupColumn("attempts", (job) => (isEmpty(job.attempts) ? null : job.attempts), json),
  groupColumn("payload", (job) => job.payload, json),
  groupColumn("finished_at", (job) => job.finishedAtMs, instant),
  groupColumn("reason", (job) => job.reason, text),
  groupColumn("retry_of", (job) => job.retryOf, orNull(jobId)),
  groupColumn("covers", (job) => job.covers, json),
  groupColumn("limit_key", (job) => job.limitKey, text),
];

const NAMES = COLUMNS.map(({ name }) => name).join(", ");

function isEmpty(attempts: Job["attempts"]): boolean {
  for (const _ in attempts) return false;
  return true;
}
