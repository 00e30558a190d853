import type { UnknownClaim } from "#core/ports/job-store.ts";
import { integer, workerId } from "../literals.ts";
import { groupRows, JOBS_OF_GROUP } from "./job-group.ts";

/**
 * Which jobs of a claim whose COMMIT was not answered are ours after all.
 *
 * Index: primary key, driven by the group. Locks: each row for the length of the statement (X): it waits for a COMMIT under way.
 * Isolation: READ COMMITTED: what was committed when the wait ended.
 * Result: (id, whether it is marked by a pause, delete or cancel) of the jobs that run under our id and that claim number.
 */
export function selectAdoptedSql(claim: UnknownClaim): string {
  const rows = groupRows(claim.jobs, (job) => integer(job.claimNo));
  return `SELECT jobs.id, jobs.cancel_reason IS NOT NULL FROM (VALUES ${rows}) AS r (part, id, claim_no) ${JOBS_OF_GROUP} WHERE jobs.status = 'running' AND jobs.worker_id = ${workerId(claim.workerId)} AND jobs.claim_no = r.claim_no FOR UPDATE OF jobs`;
}
