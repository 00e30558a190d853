/**
 * From jobs to history: what has to be looked at, what is copied, and what is deleted once the copy is safe. Nothing is locked
 * while the copy is made: the delete is guarded by what was read.
 *
 * Index of the lists: queue (status, queue, due_at), an exact range per status and queue in index order.
 */
import type { ArchivedKey } from "#core/ports/job-store.ts";
import { JOINED_JOB_COLUMNS } from "../job-rows.ts";
import { columns, instant, integer, text } from "../literals.ts";
import { groupRows, JOBS_OF_GROUP, jobGroup } from "./job-group.ts";
import { dueIn, headIn, type QueueRange, queueRanges } from "./queue-range.ts";

export const ARCHIVE_RANGES = queueRanges(["succeeded", "dead", "cancelled"]);
const NOW = "UTC_TIMESTAMP(3)";

/**
 * Which ranges have something to archive. Locks: none. Isolation: READ COMMITTED.
 * Result: one row, the earliest `due_at` of each of ARCHIVE_RANGES, NULL where nothing has come to it.
 */
export function selectArchiveHeadsSql(): string {
  return `SELECT ${columns(ARCHIVE_RANGES.map((range) => headIn(range, NOW)))}`;
}

/**
 * What to archive next, range by range, with the size of its documents.
 *
 * Locks: none. Isolation: READ COMMITTED. Result: (id, bytes of attempts and payload), at most `limit`.
 */
export function listArchivableSql(ranges: readonly QueueRange[], limit: number): string {
  const selects = ranges.map(
    (range) =>
      `(SELECT id, COALESCE(JSON_STORAGE_SIZE(attempts), 0) + COALESCE(JSON_STORAGE_SIZE(payload), 0) ${dueIn(range, NOW)} ORDER BY due_at LIMIT ${integer(limit)})`,
  );
  return `${selects.join(" UNION ALL ")} LIMIT ${integer(limit)}`;
}

/** Result: one row, how many jobs there are to archive, counted up to `max`. Locks: none. */
export function countArchivableSql(ranges: readonly QueueRange[], max: number): string {
  const selects = ranges.map((range) => `(SELECT 1 ${dueIn(range, NOW)} LIMIT ${integer(max)})`);
  return `SELECT COUNT(*) FROM (${selects.join(" UNION ALL ")} LIMIT ${integer(max)}) AS waiting`;
}

const ARCHIVABLE =
  "jobs.status IN ('succeeded', 'dead', 'cancelled') AND jobs.due_at <= UTC_TIMESTAMP(3)";

/**
 * The jobs themselves, as far as they are still to be archived.
 *
 * Index: primary key, driven by the group. Locks: none. Isolation: READ COMMITTED. Result: jobs in key order.
 */
export function selectArchivableSql(keys: readonly Pick<ArchivedKey, "id">[]): string {
  return `SELECT ${JOINED_JOB_COLUMNS} FROM ${jobGroup(keys)} WHERE ${ARCHIVABLE}`;
}

/**
 * Event 20, first half: which of the jobs are as they were read.
 *
 * Index: primary key, driven by the group in key order.
 * Locks: the rows returned (X). What others hold is passed over, so that this transaction never waits for a job and cannot be
 *   part of a deadlock; the next run finds what was left.
 * Isolation: READ COMMITTED.
 * Result: ids.
 */
export function lockArchivedSql(keys: readonly ArchivedKey[]): string {
  const rows = groupRows(
    keys,
    (key) => `${text(key.status)},${integer(key.claimNo)},${instant(key.dueAtMs)}`,
  );
  return `SELECT jobs.id FROM (VALUES ${rows}) AS r (part, id, status, claim_no, due_at) ${JOBS_OF_GROUP} WHERE ${ARCHIVABLE} AND jobs.status = r.status AND jobs.claim_no = r.claim_no AND jobs.due_at = r.due_at FOR UPDATE OF jobs SKIP LOCKED`;
}

/**
 * Event 20, second half: the jobs that the first half has locked, with their dead letters.
 *
 * Index: primary keys of jobs and dead_letters, driven by the group in key order.
 * Locks: rows of jobs that are held already, dead letters (X) in the order of their jobs.
 * Isolation: READ COMMITTED.
 * Result: the number of jobs and dead letters removed.
 */
export function deleteArchivedSql(keys: readonly Pick<ArchivedKey, "id" | "tenantId">[]): string {
  const rows = groupRows(keys, (key) => text(key.tenantId));
  return `DELETE jobs, d FROM (VALUES ${rows}) AS r (part, id, tenant_id) ${JOBS_OF_GROUP} LEFT JOIN dead_letters AS d FORCE INDEX (PRIMARY) ON d.tenant_id = r.tenant_id AND d.job_id = r.id`;
}
