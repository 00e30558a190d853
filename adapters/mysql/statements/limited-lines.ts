/**
 * Lines of jobs that wait under limits: a row of `limited` for every waiting job, written in the transaction that makes it wait.
 *
 * Order of locks: a job's row, then its row in `limited`. Who takes jobs from a line meets them the other way round, and therefore
 * waits for neither (SKIP LOCKED): see select-limited.ts.
 */
import type { JobId } from "#core/domain/ids.ts";
import { jobId } from "../literals.ts";
import { jobGroup } from "./job-group.ts";

/** What a job becomes that is in line again, by its own row. */
export const IN_LINE = "IF(jobs.limit_key IS NULL, 'pending', 'waiting')";

type Keyed = readonly { readonly id: JobId }[];

/**
 * Before jobs of limits are written: all rows of the group, so that what `limited` is told afterwards is true until the COMMIT.
 *
 * Index: primary key of jobs, driven by the group in key order. Locks: the rows (X). Isolation: READ COMMITTED.
 * Result: ids of those that wait.
 */
export function lockWaitingSql(jobs: Keyed): string {
  return `SELECT jobs.id, jobs.status = 'waiting' FROM ${jobGroup(jobs)} FOR UPDATE OF jobs`;
}

/**
 * Lines up those of the jobs that wait, or moves them to where they stand by now. The transaction holds their rows.
 *
 * Index: primary keys of jobs and limited, driven by the group in key order.
 * Locks: rows of limited, new ones and those that are there (X); none on jobs.
 * Isolation: READ COMMITTED: reads what this transaction has written.
 * Result: not used.
 */
export function lineUpSql(jobs: Keyed): string {
  return `INSERT INTO limited (job_id, part, limit_key, queue, due_at) SELECT jobs.id, jobs.part, jobs.limit_key, jobs.queue, jobs.due_at FROM ${jobGroup(jobs)} WHERE jobs.status = 'waiting' ON DUPLICATE KEY UPDATE limited.limit_key = jobs.limit_key, limited.queue = jobs.queue, limited.due_at = jobs.due_at`;
}

/**
 * Takes those of the jobs out of their lines that do not wait any more. The transaction holds their rows.
 *
 * Index: primary keys, driven by the group in key order. Locks: rows of limited (X). Isolation: READ COMMITTED. Result: not used.
 */
export function leaveLinesSql(jobs: Keyed): string {
  return `DELETE limited FROM ${jobGroup(jobs)} STRAIGHT_JOIN limited FORCE INDEX (PRIMARY) ON limited.job_id = r.id WHERE jobs.status <> 'waiting'`;
}

/**
 * Takes jobs out of their lines.
 *
 * Index: primary key. Locks: the rows removed (X). Isolation: READ COMMITTED. Result: how many.
 */
export function deleteLimitedSql(ids: readonly JobId[]): string {
  return `DELETE FROM limited WHERE job_id IN (${ids.map(jobId).sort().join(",")})`;
}
