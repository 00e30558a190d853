/**
 * A claim: the jobs, one UPDATE, the worker's own row FOR SHARE, COMMIT; five statements with BEGIN, all within a second, then
 * the connection is destroyed: a holder that stalls keeps its locks, and others pass over its jobs. The worker's row comes last, so
 * that a renewal of its lease waits for a COMMIT at most; a worker that turns out to be fenced has claimed nothing.
 *
 * The jobs are returned as the UPDATE leaves them; nothing is read back.
 */
import { assert } from "#core/domain/assert.ts";
import type { Adopted, ClaimRequest, ClaimResult, UnknownClaim } from "#core/ports/job-store.ts";
import { readInstant, readJobId } from "./cells.ts";
import { ADOPT_MS, CLAIM_MS } from "./deadlines.ts";
import { asClaimed, readClaimedJob } from "./job-rows.ts";
import type { Session } from "./pool.ts";
import { claimJobsSql } from "./statements/claim-jobs.ts";
import { lockWorkerSql } from "./statements/lock-worker.ts";
import { selectAdoptedSql } from "./statements/select-adopted.ts";
import { selectClaimableSql } from "./statements/select-claimable.ts";
import { type Database, isOutcomeUnknown } from "./transaction.ts";

/** Rolls the claim back. */
class FencedMeanwhile extends Error {
  override readonly name = "FencedMeanwhile";
}

export async function claimDue(database: Database, request: ClaimRequest): Promise<ClaimResult> {
  let claim: UnknownClaim | null = null;
  try {
    return await database.transaction(async (session) => {
      claim = null;
      const taken = await take(session, request);
      const [own] = await session.select(lockWorkerSql(request.workerId));
      if (own === undefined) throw new FencedMeanwhile();
      claim = taken;
      return { kind: "claimed", claimedAtMs: taken.claimedAtMs, jobs: taken.jobs };
    }, CLAIM_MS);
  } catch (error) {
    if (error instanceof FencedMeanwhile) return { kind: "fenced" };
    if (isOutcomeUnknown(error) && claim !== null) return { kind: "unknown", claim };
    throw error;
  }
}

async function take(session: Session, request: ClaimRequest): Promise<UnknownClaim> {
  const { workerId } = request;
  const [clock, ...rows] = await session.select(selectClaimableSql(request));
  const claimedAtMs = readInstant(clock?.[0]);
  const found = rows.map(readClaimedJob);
  if (found.length > 0) {
    const taken = await session.write(claimJobsSql(found, workerId, claimedAtMs));
    assert(taken === found.length, "a claim takes the jobs that it has locked");
  }
  return { workerId, claimedAtMs, jobs: asClaimed(found, claimedAtMs) };
}

/** Another connection asks, and waits for the COMMIT under way: what it does not see running under our claim is not ours. */
export async function adoptClaim(database: Database, claim: UnknownClaim): Promise<Adopted> {
  if (claim.jobs.length === 0) return { jobs: [], marked: new Set() };
  const rows = await database.select(selectAdoptedSql(claim), ADOPT_MS);
  const ours = new Map(rows.map((row) => [readJobId(row[0]), row[1] === 1]));
  return {
    jobs: claim.jobs.filter((job) => ours.has(job.id)),
    marked: new Set([...ours].filter(([, isMarked]) => isMarked).map(([id]) => id)),
  };
}
