import type { WorkerId } from "#core/domain/ids.ts";
import { BACKSTOP_SLACK_MS } from "#core/domain/limits.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import { instant, integer, workerId } from "../literals.ts";
import { jobGroup } from "./job-group.ts";

/**
 * Event 4 for the jobs that the claim's SELECT has locked; event 5 where they waited.
 *
 * Index: primary key of jobs, a row at a time, driven by the group (STRAIGHT_JOIN) in key order: the optimiser would else drive
 *   from jobs when few rows run, and deadlock (measured: 36 in 5 s).
 * Locks: rows that the claim holds already (X).
 * Isolation: READ COMMITTED. No assignment reads a column that another one writes.
 * Result: the number of jobs sent; any other means a bug, since they are locked.
 */
export function claimJobsSql(
  jobs: readonly ClaimedJob[],
  worker: WorkerId,
  claimedAtMs: number,
  from: "pending" | "waiting" = "pending",
): string {
  const backstop = `GREATEST(jobs.run_at, ${instant(claimedAtMs)}) + INTERVAL (jobs.timeout_ms + ${integer(BACKSTOP_SLACK_MS)}) * 1000 MICROSECOND`;
  return `UPDATE ${jobGroup(jobs)} SET jobs.status = 'running', jobs.worker_id = ${workerId(worker)}, jobs.claim_no = jobs.claim_no + 1, jobs.attempt = jobs.attempt + 1, jobs.due_at = ${backstop} WHERE jobs.status = '${from}'`;
}
