import type { Retention } from "#core/domain/job.ts";
import { REASON_USED_UP } from "#core/domain/job.ts";
import { ATTEMPT_RECORDS_MAX } from "#core/domain/limits.ts";
import type { JobResult } from "#core/ports/job-store.ts";
import { type GroupColumn, groupColumn, splitColumns } from "../group-columns.ts";
import { instant, integer, interval, json, orNull, text, workerId } from "../literals.ts";
import { groupRows, JOBS_OF_GROUP } from "./job-group.ts";
import { IN_LINE } from "./limited-lines.ts";

/** What ended with an answer of its own: everything but the interrupted calls of a shutdown. */
export type Ended = Extract<JobResult, { kind: "succeed" | "fail" }>;

/**
 * Adds the attempt's record under the claim number; where the bound is reached, the smallest claim number goes. JSON keys are
 * kept shortest first, then by bytes, so that numbers without leading zeros ascend (the contract suite holds it to that).
 */
export function attemptsWith(claimNo: string, record: string): string {
  return `JSON_SET(IF(JSON_LENGTH(jobs.attempts) >= ${ATTEMPT_RECORDS_MAX}, JSON_REMOVE(jobs.attempts, CONCAT('$.', JSON_EXTRACT(JSON_KEYS(jobs.attempts), '$[0]'))), COALESCE(jobs.attempts, JSON_OBJECT())), CONCAT('$."', ${claimNo}, '"'), CAST(${record} AS JSON))`;
}

const GUARD_COLUMNS: readonly GroupColumn<Ended>[] = [
  groupColumn("worker_id", (result) => result.workerId, workerId),
  groupColumn("claim_no", (result) => result.claimNo, integer),
  groupColumn("succeeded", (result) => (result.kind === "succeed" ? 1 : 0), integer),
  groupColumn(
    "final_reason",
    (result) => (result.kind === "fail" ? result.finalReason : null),
    text,
  ),
];

const RESULT_COLUMNS: readonly GroupColumn<Ended>[] = [
  ...GUARD_COLUMNS,
  groupColumn("retry_at", (result) => (result.kind === "fail" ? result.retryAtMs : null), instant),
  groupColumn(
    "retry_queue",
    (result) => (result.kind === "fail" ? result.retryQueue : null),
    orNull(integer),
  ),
  groupColumn("record", (result) => result.record, json),
];

/** What a group says of its jobs: most are alike in most columns, and say that once. */
function readGroup(columns: readonly GroupColumn<Ended>[], results: readonly Ended[]) {
  const split = splitColumns(columns, results);
  const [workerOf = "", claimNo = "", succeeded = "", finalReason = "", ...more] =
    split.expressions;
  return {
    claimNo,
    finalReason,
    more,
    succeeds: `${succeeded} = 1`,
    held: `jobs.worker_id = ${workerOf} AND jobs.claim_no = ${claimNo} AND (jobs.status IN ('pending', 'waiting', 'running') OR (${succeeded} = 1 AND jobs.status IN ('dead', 'cancelled')))`,
    dies: `${succeeded} = 0 AND (${finalReason} IS NOT NULL OR jobs.attempt >= jobs.lost + jobs.max_attempts)`,
    rows: `(VALUES ${groupRows(results, split.row)}) AS r (${split.names("part, id")})`,
  };
}

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
  limited: boolean,
): string {
  const { claimNo, finalReason, succeeds, held, dies, rows, more } = readGroup(
    RESULT_COLUMNS,
    results,
  );
  const [retryAt = "", retryQueue = "", record = ""] = more;
  const now = "UTC_TIMESTAMP(3)";
  const ended = `GREATEST(jobs.scheduled_at, ${now})`;
  const goesOn = `NOT (${succeeds}) AND NOT (${dies})`;
  const assignments = [
    `jobs.attempts = ${attemptsWith(claimNo, record)}`,
    "jobs.worker_id = NULL",
    `jobs.run_at = IF(${goesOn}, ${retryAt}, jobs.run_at)`,
    `jobs.queue = IF(${goesOn}, ${retryQueue}, jobs.queue)`,
    `jobs.finished_at = IF(${goesOn} AND jobs.cancel_reason IS NULL, jobs.finished_at, ${now})`,
    `jobs.reason = CASE WHEN ${succeeds} THEN NULL WHEN ${dies} THEN COALESCE(${finalReason}, ${text(REASON_USED_UP)}) ELSE COALESCE(jobs.cancel_reason, jobs.reason) END`,
    `jobs.due_at = CASE WHEN ${succeeds} THEN ${ended} + ${interval(retention.succeededMs)} WHEN ${dies} OR jobs.cancel_reason IS NOT NULL THEN ${ended} + ${interval(retention.endedMs)} ELSE GREATEST(${retryAt}, ${now}) END`,
    `jobs.status = CASE WHEN ${succeeds} THEN 'succeeded' WHEN ${dies} THEN 'dead' WHEN jobs.cancel_reason IS NOT NULL THEN 'cancelled' ELSE ${limited ? IN_LINE : "'pending'"} END`,
  ];
  return `UPDATE ${rows} ${JOBS_OF_GROUP} SET ${assignments.join(", ")} WHERE ${held}`;
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
  const { held, dies, rows } = readGroup(GUARD_COLUMNS, results);
  return `INSERT INTO dead_letters (tenant_id, job_id, part, task_id, died_at) SELECT jobs.tenant_id, jobs.id, jobs.part, jobs.task_id, UTC_TIMESTAMP(3) FROM ${rows} ${JOBS_OF_GROUP} WHERE ${held} AND ${dies} ON DUPLICATE KEY UPDATE died_at = UTC_TIMESTAMP(3)`;
}
