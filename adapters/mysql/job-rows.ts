/** Rows of `jobs` as the domain's values, and the columns in the order in which the readers expect them. */
import type { LimitKey } from "#core/domain/call-limit.ts";
import type { AttemptRecord, Covers, Job, JobStatus, Payload, Trigger } from "#core/domain/job.ts";
import { BACKSTOP_SLACK_MS } from "#core/domain/limits.ts";
import { priorityOfRank } from "#core/domain/queue.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import {
  readInstant,
  readInstantOrNull,
  readJobId,
  readTaskId,
  readTenantId,
  readWorkerId,
} from "./cells.ts";
import type { Row } from "./pool.ts";
import { listedJson } from "./statements/listed-json.ts";

const COLUMNS =
  "id, task_id, tenant_id, task_version, `trigger`, status, priority, queue, scheduled_at, run_at, due_at, claim_no, attempt, lost, max_attempts, timeout_ms, worker_id, cancel_reason, attempts, payload, finished_at, reason, retry_of, covers, limit_key".split(
    ", ",
  );

export const JOB_COLUMNS = COLUMNS.join(", ");

/** The same, of statements that join `jobs`. */
export const JOINED_JOB_COLUMNS = COLUMNS.map((column) => `jobs.${column}`).join(", ");

/** The same for lists. */
export const LISTED_JOB_COLUMNS = COLUMNS.map((column) =>
  column === "payload" ? listedJson("jobs.payload") : `jobs.${column}`,
).join(", ");

export function readJob(row: Row): Job {
  return {
    id: readJobId(row[0]),
    taskId: readTaskId(row[1]),
    tenantId: readTenantId(row[2]),
    taskVersion: row[3] as number,
    trigger: row[4] as Trigger,
    status: row[5] as JobStatus,
    priority: priorityOfRank(row[6] as number),
    queue: row[7] as number,
    scheduledAtMs: readInstant(row[8]),
    runAtMs: readInstant(row[9]),
    dueAtMs: readInstant(row[10]),
    claimNo: row[11] as number,
    attempt: row[12] as number,
    lost: row[13] as number,
    maxAttempts: row[14] as number,
    timeoutMs: row[15] as number,
    workerId: row[16] === null ? null : readWorkerId(row[16]),
    cancelReason: row[17] as string | null,
    attempts: (row[18] ?? {}) as Readonly<Record<string, AttemptRecord>>,
    payload: row[19] as Payload | null,
    finishedAtMs: readInstantOrNull(row[20]),
    reason: row[21] as string | null,
    retryOf: row[22] === null ? null : readJobId(row[22]),
    covers: row[23] as Covers | null,
    limitKey: row[24] as LimitKey | null,
  };
}

/** Jobs that a claim has read, as its UPDATE (claimJobsSql) leaves them: nothing is read back. */
export function asClaimed<Found extends ClaimedJob>(
  jobs: readonly Found[],
  claimedAtMs: number,
): Found[] {
  return jobs.map((job) => ({
    ...job,
    claimNo: job.claimNo + 1,
    attempt: job.attempt + 1,
    dueAtMs: Math.max(job.runAtMs, claimedAtMs) + job.timeoutMs + BACKSTOP_SLACK_MS,
  }));
}

const CLAIMED =
  "id, task_id, tenant_id, task_version, `trigger`, queue, scheduled_at, run_at, due_at, claim_no, attempt, lost, max_attempts, timeout_ms".split(
    ", ",
  );

/** What an executor takes of a job. Columns of `jobs`, which some statements join; none that is stored outside its row. */
export const CLAIMED_COLUMNS = CLAIMED.map((column) => `jobs.${column}`).join(", ");

/** As many NULLs, under the same names. */
export const NO_CLAIMED_COLUMNS = CLAIMED.map((column) => `NULL AS ${column}`).join(", ");

/** `row[0]` belongs to the statement; the columns above follow. */
export function readClaimedJob(row: Row): ClaimedJob {
  return {
    id: readJobId(row[1]),
    taskId: readTaskId(row[2]),
    tenantId: readTenantId(row[3]),
    taskVersion: row[4] as number,
    trigger: row[5] as Trigger,
    queue: row[6] as number,
    scheduledAtMs: readInstant(row[7]),
    runAtMs: readInstant(row[8]),
    dueAtMs: readInstant(row[9]),
    claimNo: row[10] as number,
    attempt: row[11] as number,
    lost: row[12] as number,
    maxAttempts: row[13] as number,
    timeoutMs: row[14] as number,
    // Who claims from a line says so.
    limitKey: null,
  };
}
