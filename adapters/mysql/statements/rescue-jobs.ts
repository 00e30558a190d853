/**
 * Event 11 for a group: their holder is gone. The job's own row says what becomes of it, and `lost` both decides and grows; a
 * multi-table UPDATE promises no order of assignments, so each case is a statement of its own, with the case in its WHERE. A row
 * whose mark changes between two of them may match none: it stays running, counts as a lost race and is found again.
 *
 * `worker_id` stays: the holder's answer still counts until somebody claims the job again.
 *
 * Index of all: primary key of jobs, a row at a time, driven by the group (STRAIGHT_JOIN) in key order.
 * Locks: the rows of the group (X), each statement by itself; none on jobs for the dead letters.
 * Isolation: READ COMMITTED, autocommit.
 * Result: the number of jobs written. What was rescued does not run under that claim number any more, so that a repeat changes
 *   nothing.
 */
import { REASON_LOST, type Retention } from "#core/domain/job.ts";
import { LOST_MAX } from "#core/domain/limits.ts";
import { APART_ATTEMPTS_MAX, APART_BYTE, APART_STEP_MS } from "#core/domain/set-apart.ts";
import type { RunningKey } from "#core/ports/job-store.ts";
import { integer, interval, text } from "../literals.ts";
import { groupRows, JOBS_OF_GROUP } from "./job-group.ts";
import { IN_LINE } from "./limited-lines.ts";

const HELD = "jobs.status = 'running' AND jobs.claim_no = r.claim_no";
const USED_UP = `jobs.lost + 1 >= ${integer(LOST_MAX)}`;

/** `apartMs` in SQL; of columns that the statement does not write. */
const APART = `INTERVAL LEAST(GREATEST(jobs.attempt, 1) - 1, ${integer(APART_ATTEMPTS_MAX)}) * ORD(SUBSTRING(jobs.id, ${integer(APART_BYTE + 1)}, 1)) * ${integer(APART_STEP_MS * 1_000)} MICROSECOND`;

function group(keys: readonly RunningKey[]): string {
  const rows = groupRows(keys, (key) => integer(key.claimNo));
  return `(VALUES ${rows}) AS r (part, id, claim_no) ${JOBS_OF_GROUP}`;
}

function ended(retention: Retention): string {
  return `jobs.lost = jobs.lost + 1, jobs.finished_at = UTC_TIMESTAMP(3), jobs.due_at = GREATEST(jobs.scheduled_at, UTC_TIMESTAMP(3)) + ${interval(retention.endedMs)}`;
}

/**
 * The dead letters of those that die, before they do; of marked ones too, whose mark a resume may take away meanwhile. Readers
 * join on the job's status.
 */
export function insertRescuedDeadLettersSql(keys: readonly RunningKey[]): string {
  return `INSERT INTO dead_letters (tenant_id, job_id, part, task_id, died_at) SELECT jobs.tenant_id, jobs.id, jobs.part, jobs.task_id, UTC_TIMESTAMP(3) FROM ${group(keys)} WHERE ${HELD} AND ${USED_UP} ON DUPLICATE KEY UPDATE died_at = UTC_TIMESTAMP(3)`;
}

export function rescueDeadSql(keys: readonly RunningKey[], retention: Retention): string {
  return `UPDATE ${group(keys)} SET ${ended(retention)}, jobs.reason = ${text(REASON_LOST)}, jobs.status = 'dead' WHERE ${HELD} AND jobs.cancel_reason IS NULL AND ${USED_UP}`;
}

export function rescueCancelledSql(keys: readonly RunningKey[], retention: Retention): string {
  return `UPDATE ${group(keys)} SET ${ended(retention)}, jobs.reason = jobs.cancel_reason, jobs.status = 'cancelled' WHERE ${HELD} AND jobs.cancel_reason IS NOT NULL`;
}

/** `limited`: claimed from lines, under the lock of their rows. */
export function rescuePendingSql(keys: readonly RunningKey[], limited: boolean): string {
  return `UPDATE ${group(keys)} SET jobs.lost = jobs.lost + 1, jobs.due_at = GREATEST(jobs.run_at, UTC_TIMESTAMP(3) + ${APART}), jobs.status = ${limited ? IN_LINE : "'pending'"} WHERE ${HELD} AND jobs.cancel_reason IS NULL AND NOT (${USED_UP})`;
}
