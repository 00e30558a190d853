/**
 * Make and take: critical tasks that are due become jobs that are the worker's already, in one transaction: the worker's own row
 * FOR SHARE, the tasks, their jobs, their advance, and the claim of those jobs. Eight statements with BEGIN and COMMIT,
 * nine where jobs of limits are made.
 *
 * A job whose id exists is claimed too if it is pending: it is due all the same. One that others hold, or that has ended, is
 * passed over; jobs of limits only line up. To others the jobs are running from the beginning: nothing of this is seen before the COMMIT.
 */
import { assert } from "#core/domain/assert.ts";
import type { ClaimResult, TakeRequest, UnknownClaim } from "#core/ports/job-store.ts";
import type { DueTasks, MaterializePlan } from "#core/ports/task-store.ts";
import { readInstant } from "./cells.ts";
import { CLAIM_MS } from "./deadlines.ts";
import { asClaimed, readClaimedJob } from "./job-rows.ts";
import { guardAdvances } from "./materialize-due.ts";
import type { Session } from "./pool.ts";
import { advanceTasksSql } from "./statements/advance-tasks.ts";
import { claimJobsSql } from "./statements/claim-jobs.ts";
import { insertJobsSql } from "./statements/insert-jobs.ts";
import { lineUpSql } from "./statements/limited-lines.ts";
import { lockWorkerSql } from "./statements/lock-worker.ts";
import { selectMadeSql } from "./statements/select-claimable.ts";
import { selectCriticalTasksSql } from "./statements/select-due-tasks.ts";
import { readDueTask } from "./task-rows.ts";
import { type Database, isOutcomeUnknown } from "./transaction.ts";

type Plan = (due: DueTasks) => MaterializePlan;

export async function takeCritical(
  database: Database,
  request: TakeRequest,
  plan: Plan,
): Promise<ClaimResult> {
  let claim: UnknownClaim | null = null;
  try {
    return await database.transaction(async (session) => {
      claim = null;
      const [own] = await session.select(lockWorkerSql(request.workerId));
      if (own === undefined) return { kind: "fenced" };
      claim = await makeAndTake(session, request, plan);
      return { kind: "claimed", claimedAtMs: claim.claimedAtMs, jobs: claim.jobs };
    }, CLAIM_MS);
  } catch (error) {
    if (isOutcomeUnknown(error) && claim !== null) return { kind: "unknown", claim };
    throw error;
  }
}

async function makeAndTake(
  session: Session,
  { workerId, tasksMax }: TakeRequest,
  plan: Plan,
): Promise<UnknownClaim> {
  const [clock, ...rows] = await session.select(selectCriticalTasksSql(tasksMax));
  const nowMs = readInstant(clock?.[0]);
  const due: DueTasks = { nowMs, missed: [], due: rows.map(readDueTask) };
  const none = { workerId, claimedAtMs: nowMs, jobs: [] };
  if (due.due.length === 0) return none;
  const { jobs: made, advances } = plan(due);
  if (made.length > 0) await session.write(insertJobsSql(made));
  const waiting = made.filter(({ status }) => status === "waiting");
  if (waiting.length > 0) await session.write(lineUpSql(waiting));
  if (advances.length > 0) {
    const moved = await session.write(advanceTasksSql(guardAdvances(due, advances)));
    assert(moved === advances.length, "the tasks that were locked move on");
  }
  if (made.length === 0) return none;
  const found = (await session.select(selectMadeSql(made))).map(readClaimedJob);
  if (found.length === 0) return none;
  const taken = await session.write(claimJobsSql(found, workerId, nowMs));
  assert(taken === found.length, "a claim takes the jobs that it has locked");
  return { workerId, claimedAtMs: nowMs, jobs: asClaimed(found, nowMs) };
}
