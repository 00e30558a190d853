/**
 * Event 7 for a group: calls that were under way when their process had to end. The job's own row says what becomes of it, and
 * `lost` both decides and grows; a multi-table UPDATE promises no order of assignments, so what dies and what goes on are
 * two statements, each with its case in the WHERE. A row whose mark changes between the two matches neither: it stays running,
 * counts as a lost race and comes back by a rescue.
 *
 * Index of all: primary key of jobs, a row at a time, driven by the group (STRAIGHT_JOIN) in key order.
 * Locks: the rows of the group (X); none on jobs for the dead letters. Isolation: READ COMMITTED, autocommit.
 * Result: the number of jobs written; recording clears worker_id, so that a repeat changes nothing.
 */
import { REASON_LOST, type Retention } from "#core/domain/job.ts";
import { LOST_MAX } from "#core/domain/limits.ts";
import type { JobResult } from "#core/ports/job-store.ts";
import { integer, interval, json, text, workerId } from "../literals.ts";
import { groupRows, JOBS_OF_GROUP } from "./job-group.ts";
import { IN_LINE } from "./limited-lines.ts";
import { attemptsWith } from "./record-results.ts";

export type Interrupted = Extract<JobResult, { kind: "interrupt" }>;

const HELD =
  "jobs.status = 'running' AND jobs.worker_id = r.worker_id AND jobs.claim_no = r.claim_no";
const USED_UP = `jobs.lost + 1 >= ${integer(LOST_MAX)}`;
const DIES = `jobs.cancel_reason IS NULL AND ${USED_UP}`;

function group(results: readonly Interrupted[]): string {
  const rows = groupRows(
    results,
    (result) => `${workerId(result.workerId)},${integer(result.claimNo)},${json(result.record)}`,
  );
  return `(VALUES ${rows}) AS r (part, id, worker_id, claim_no, record) ${JOBS_OF_GROUP}`;
}

function ended(retention: Retention): string {
  return `GREATEST(jobs.scheduled_at, UTC_TIMESTAMP(3)) + ${interval(retention.endedMs)}`;
}

/** The dead letters of those that die, before they do; of marked ones too, whose mark a resume may take away meanwhile. */
export function insertInterruptedDeadLettersSql(results: readonly Interrupted[]): string {
  return `INSERT INTO dead_letters (tenant_id, job_id, part, task_id, died_at) SELECT jobs.tenant_id, jobs.id, jobs.part, jobs.task_id, UTC_TIMESTAMP(3) FROM ${group(results)} WHERE ${HELD} AND ${USED_UP} ON DUPLICATE KEY UPDATE died_at = UTC_TIMESTAMP(3)`;
}

export function endInterruptedSql(results: readonly Interrupted[], retention: Retention): string {
  return `UPDATE ${group(results)} SET jobs.attempts = ${attemptsWith("r.claim_no", "r.record")}, jobs.lost = jobs.lost + 1, jobs.worker_id = NULL, jobs.reason = ${text(REASON_LOST)}, jobs.finished_at = UTC_TIMESTAMP(3), jobs.due_at = ${ended(retention)}, jobs.status = 'dead' WHERE ${HELD} AND ${DIES}`;
}

/** `limited`: claimed from lines, under the lock of their rows. */
export function returnInterruptedSql(
  results: readonly Interrupted[],
  retention: Retention,
  limited: boolean,
): string {
  const marked = "jobs.cancel_reason IS NOT NULL";
  return `UPDATE ${group(results)} SET jobs.attempts = ${attemptsWith("r.claim_no", "r.record")}, jobs.lost = jobs.lost + 1, jobs.worker_id = NULL, jobs.reason = COALESCE(jobs.cancel_reason, jobs.reason), jobs.finished_at = IF(${marked}, UTC_TIMESTAMP(3), jobs.finished_at), jobs.due_at = IF(${marked}, ${ended(retention)}, GREATEST(jobs.run_at, UTC_TIMESTAMP(3))), jobs.status = IF(${marked}, 'cancelled', ${limited ? IN_LINE : "'pending'"}) WHERE ${HELD} AND NOT (${DIES})`;
}
