/** Puts dead jobs in line again. */
import { assert } from "#core/domain/assert.ts";
import {
  type JobId,
  readJobId as partsOfJobId,
  type TaskId,
  type TenantId,
} from "#core/domain/ids.ts";
import { RETRY_GROUP_MAX } from "#core/domain/limits.ts";
import type { RetryOutcome } from "#core/ports/job-store.ts";
import { readInstant, readJobId, readTaskId } from "./cells.ts";
import type { Session } from "./pool.ts";
import { selectClockSql } from "./statements/edit-jobs.ts";
import { noteRunsSql } from "./statements/note-runs.ts";
import {
  lockDeadJobsSql,
  lockTasksSql,
  type Retry,
  retryJobsSql,
} from "./statements/retry-jobs.ts";
import type { Database } from "./transaction.ts";

export interface ToRetry {
  readonly id: JobId;
  readonly delayMs: number;
}

export async function retryDead(
  database: Database,
  tenantId: TenantId,
  jobs: readonly ToRetry[],
): Promise<Map<JobId, RetryOutcome>> {
  assert(jobs.length <= RETRY_GROUP_MAX, "a group of retries is bounded");
  if (jobs.length === 0) return new Map();
  return retryLocked(
    (work) => database.transaction(work),
    (session, lock) => retryGroup(session, tenantId, jobs, lock),
  );
}

type Lock = "share" | "update";

/** That a task has to be locked exclusively: its run is to be noted, and two that share the lock could not both go on to that. */
const TO_BE_NOTED = Symbol("to be noted");

/** Runs `work` under shared locks of the tasks, or anew under exclusive ones where it asks for them. */
async function retryLocked<T>(
  transact: <R>(work: (session: Session) => Promise<R>) => Promise<R>,
  work: (session: Session, lock: Lock) => Promise<T | typeof TO_BE_NOTED>,
): Promise<T> {
  const done = await transact((session) => work(session, "share"));
  if (done !== TO_BE_NOTED) return done;
  const again = await transact((session) => work(session, "update"));
  assert(again !== TO_BE_NOTED, "an exclusive lock is enough");
  return again;
}

async function retryGroup(
  session: Session,
  tenantId: TenantId,
  jobs: readonly ToRetry[],
  lock: Lock,
): Promise<Map<JobId, RetryOutcome> | typeof TO_BE_NOTED> {
  const taskOf = new Map(jobs.map(({ id }) => [id, partsOfJobId(id).taskId]));
  const moreAttempts = new Map<TaskId, number>();
  const completed: TaskId[] = [];
  for (const row of await session.select(
    lockTasksSql(tenantId, [...new Set(taskOf.values())], lock),
  )) {
    const taskId = readTaskId(row[0]);
    moreAttempts.set(taskId, row[1] as number);
    if (row[2] === 1) completed.push(taskId);
  }
  if (completed.length > 0 && lock === "share") return TO_BE_NOTED;
  const rows = await session.select(lockDeadJobsSql(tenantId, [...taskOf.keys()]));
  const dead = new Map(rows.map((row) => [readJobId(row[0]), row[1] === 1]));
  const [clock] = await session.select(selectClockSql());
  const nowMs = readInstant(clock?.[0]);
  const outcomes = new Map<JobId, RetryOutcome>();
  const retries: Retry[] = [];
  for (const { id, delayMs } of jobs) {
    const more = moreAttempts.get(taskOf.get(id) as TaskId);
    const isDead = dead.get(id);
    if (isDead === undefined) outcomes.set(id, "not-found");
    else if (!isDead) outcomes.set(id, "not-dead");
    else if (more === undefined) outcomes.set(id, "task-gone");
    else if (!outcomes.has(id)) {
      outcomes.set(id, "moved");
      retries.push({ id, runAtMs: nowMs + delayMs, moreAttempts: more });
    }
  }
  if (retries.length === 0) return outcomes;
  const moved = await session.write(retryJobsSql(retries));
  assert(moved === retries.length, "a retry moves the jobs that it has locked");
  if (completed.length > 0) await session.write(noteRunsSql(completed));
  return outcomes;
}
