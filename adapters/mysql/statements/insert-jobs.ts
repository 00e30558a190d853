import { partitionOfJob } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { priorityRank } from "#core/domain/queue.ts";
import { instant, integer, jobId, json, taskId, text, workerId } from "../literals.ts";

/**
 * Inserts jobs; one whose id exists is left alone.
 *
 * Index: primary key. Rows are inserted in key order, as every group statement walks them, so that none meet crosswise.
 * Locks: the new rows (X); of an id that exists, its row (X).
 * Isolation: READ COMMITTED.
 * Result: the number of rows that were new: an assignment that changes nothing counts 0. Never IGNORE, which hides bad rows.
 */
export function insertJobsSql(jobs: readonly Job[]): string {
  const sorted = jobs.map((job) => ({ job, part: partitionOfJob(job.id) }));
  sorted.sort((a, b) => a.part - b.part || (a.job.id < b.job.id ? -1 : 1));
  const plain = jobs.every(isPlain);
  const columns = plain ? PLAIN : `${PLAIN}, ${REST}`;
  const rows = sorted.map(({ job, part }) =>
    plain ? `(${plainValues(job, part)})` : `(${plainValues(job, part)},${restValues(job)})`,
  );
  return `INSERT INTO jobs (${columns}) VALUES ${rows.join(",")} ON DUPLICATE KEY UPDATE jobs.id = jobs.id`;
}

const PLAIN =
  "part, id, task_id, tenant_id, task_version, `trigger`, priority, queue, scheduled_at, run_at, due_at, max_attempts, timeout_ms";
const REST =
  "status, claim_no, attempt, lost, worker_id, cancel_reason, attempts, payload, finished_at, reason, retry_of, covers";

/** Fresh and pending: every other column has its default. Nearly all jobs begin so. */
function isPlain(job: Job): boolean {
  return (
    job.status === "pending" &&
    job.claimNo === 0 &&
    job.attempt === 0 &&
    job.lost === 0 &&
    job.workerId === null &&
    job.cancelReason === null &&
    job.payload === null &&
    job.finishedAtMs === null &&
    job.reason === null &&
    job.retryOf === null &&
    job.covers === null
  );
}

function plainValues(job: Job, part: number): string {
  const scheduledAt = instant(job.scheduledAtMs);
  const runAt = job.runAtMs === job.scheduledAtMs ? scheduledAt : instant(job.runAtMs);
  const dueAt = job.dueAtMs === job.runAtMs ? runAt : instant(job.dueAtMs);
  return `${part},${jobId(job.id)},${taskId(job.taskId)},${text(job.tenantId)},${integer(job.taskVersion)},'${job.trigger}',${priorityRank(job.priority)},${integer(job.queue)},${scheduledAt},${runAt},${dueAt},${integer(job.maxAttempts)},${integer(job.timeoutMs)}`;
}

function restValues(job: Job): string {
  return [
    text(job.status),
    integer(job.claimNo),
    integer(job.attempt),
    integer(job.lost),
    job.workerId === null ? "NULL" : workerId(job.workerId),
    text(job.cancelReason),
    Object.keys(job.attempts).length === 0 ? "NULL" : json(job.attempts),
    json(job.payload),
    instant(job.finishedAtMs),
    text(job.reason),
    job.retryOf === null ? "NULL" : jobId(job.retryOf),
    json(job.covers),
  ].join(",");
}
