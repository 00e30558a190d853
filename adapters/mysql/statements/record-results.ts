import type { Retention } from "#core/domain/job.ts";
import { REASON_USED_UP } from "#core/domain/job.ts";
import { ATTEMPT_RECORDS_MAX } from "#core/domain/limits.ts";
import type { JobResult } from "#core/ports/job-store.ts";
import { instant, integer, interval, json, text, workerId } from "../literals.ts";
import { groupRows, JOBS_OF_GROUP } from "./job-group.ts";
import { IN_LINE } from "./limited-lines.ts";

/** What ended with an answer of its own: everything but the interrupted calls of a shutdown. */
export type Ended = Extract<JobResult, { kind: "succeed" | "fail" }>;

/**
 * Adds the attempt's record under the claim number; where the bound is reached, the smallest claim number goes. JSON keys are
 * kept shortest first, then by bytes, so that numbers without leading zeros ascend (the contract suite holds it to that).
 */
export const ATTEMPTS = `JSON_SET(IF(JSON_LENGTH(jobs.attempts) >= ${ATTEMPT_RECORDS_MAX}, JSON_REMOVE(jobs.attempts, CONCAT('$.', JSON_EXTRACT(JSON_KEYS(jobs.attempts), '$[0]'))), COALESCE(jobs.attempts, JSON_OBJECT())), CONCAT('$."', r.claim_no, '"'), CAST(r.record AS JSON))`;

const HELD =
  "jobs.worker_id = r.worker_id AND jobs.claim_no = r.claim_no AND (jobs.status IN ('pending', 'waiting', 'running') OR (r.succeeded = 1 AND jobs.status IN ('dead', 'cancelled')))";
const DIES =
  "r.succeeded = 0 AND (r.final_reason IS NOT NULL OR jobs.attempt >= jobs.lost + jobs.max_attempts)";

/**
 * Events 8 to 10 for a group. `limited`: claimed from lines, under the lock of their rows.
 *
 * Index: primary key of jobs, a row at a time, driven by the group (STRAIGHT_JOIN) in key order.
 * Locks: the rows of the group (X). Waits for edits and claims of the same rows, which walk them in the same order.
 * Isolation: READ COMMITTED, autocommit. No assignment reads a column that another one writes, but for the job's own
 *   keep-as-it-is: a multi-table UPDATE promises no order.
 * Result: the number of jobs written. A row that does not match is a lost race: claimed again, or written already. Recording
 *   clears worker_id, so that a repeat after an unknown outcome changes nothing.
 */
export function recordResultsSql(
  results: readonly Ended[],
  retention: Retention,
  limited = false,
): string {
  const now = "UTC_TIMESTAMP(3)";
  const ended = `GREATEST(jobs.scheduled_at, ${now})`;
  const goesOn = `r.succeeded = 0 AND NOT (${DIES})`;
  const assignments = [
    `jobs.attempts = ${ATTEMPTS}`,
    "jobs.worker_id = NULL",
    `jobs.run_at = IF(${goesOn}, r.retry_at, jobs.run_at)`,
    `jobs.queue = IF(${goesOn}, r.retry_queue, jobs.queue)`,
    `jobs.finished_at = IF(${goesOn} AND jobs.cancel_reason IS NULL, jobs.finished_at, ${now})`,
    `jobs.reason = CASE WHEN r.succeeded = 1 THEN NULL WHEN ${DIES} THEN COALESCE(r.final_reason, ${text(REASON_USED_UP)}) ELSE COALESCE(jobs.cancel_reason, jobs.reason) END`,
    `jobs.due_at = CASE WHEN r.succeeded = 1 THEN ${ended} + ${interval(retention.succeededMs)} WHEN ${DIES} OR jobs.cancel_reason IS NOT NULL THEN ${ended} + ${interval(retention.endedMs)} ELSE GREATEST(r.retry_at, ${now}) END`,
    `jobs.status = CASE WHEN r.succeeded = 1 THEN 'succeeded' WHEN ${DIES} THEN 'dead' WHEN jobs.cancel_reason IS NOT NULL THEN 'cancelled' ELSE ${limited ? IN_LINE : "'pending'"} END`,
  ];
  const columns = `part, id, ${GUARD_COLUMNS}, retry_at, retry_queue, record`;
  const rows = groupRows(results, (result) => {
    const [retryAt, retryQueue] =
      result.kind === "fail"
        ? [instant(result.retryAtMs), integer(result.retryQueue)]
        : ["NULL", "NULL"];
    return `${guardColumns(result)},${retryAt},${retryQueue},${json(result.record)}`;
  });
  return `UPDATE (VALUES ${rows}) AS r (${columns}) ${JOBS_OF_GROUP} SET ${assignments.join(", ")} WHERE ${HELD}`;
}

/**
 * The statement before the one that makes jobs dead: their dead letters, by the same guards. A crash between leaves rows that
 * the list's join on the job's status hides.
 *
 * Index: primary key of jobs, driven by the group; primary key of dead_letters.
 * Locks: the dead letters (X); none on jobs (an INSERT … SELECT reads a snapshot under READ COMMITTED).
 * Isolation: READ COMMITTED, autocommit.
 * Result: not used.
 */
export function insertDeadLettersSql(results: readonly Ended[]): string {
  const rows = groupRows(results, guardColumns);
  return `INSERT INTO dead_letters (tenant_id, job_id, part, task_id, died_at) SELECT jobs.tenant_id, jobs.id, jobs.part, jobs.task_id, UTC_TIMESTAMP(3) FROM (VALUES ${rows}) AS r (part, id, ${GUARD_COLUMNS}) ${JOBS_OF_GROUP} WHERE ${HELD} AND ${DIES} ON DUPLICATE KEY UPDATE died_at = UTC_TIMESTAMP(3)`;
}

const GUARD_COLUMNS = "worker_id, claim_no, succeeded, final_reason";

function guardColumns(result: Ended): string {
  const finalReason = result.kind === "fail" ? text(result.finalReason) : "NULL";
  return `${workerId(result.workerId)},${integer(result.claimNo)},${result.kind === "succeed" ? 1 : 0},${finalReason}`;
}
