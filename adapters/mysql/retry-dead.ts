/** Puts dead jobs in line again. */
import { assert } from "#core/domain/assert.ts";
import type { LimitKey } from "#core/domain/call-limit.ts";
import { type JobId, partsOfJobId, type TaskId, type TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { JOB_ATTEMPTS_MAX, RETRY_GROUP_MAX } from "#core/domain/limits.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { RetryOutcome, ToRetry } from "#core/ports/job-store.ts";
import { readInstant, readJobId, readTaskId } from "./cells.ts";
import { readJob } from "./job-rows.ts";
import { oncePerKey } from "./once-per-key.ts";
import type { Row, Session } from "./pool.ts";
import { selectClockSql } from "./statements/clock.ts";
import { lineUpSql } from "./statements/limited-lines.ts";
import { noteRunsSql } from "./statements/note-runs.ts";
import {
  deleteLettersSql,
  lockDeadJobsSql,
  lockTasksSql,
  type Retry,
  retryJobsSql,
} from "./statements/retry-jobs.ts";
import { selectJobSql } from "./statements/select-jobs.ts";
import type { Database } from "./transaction.ts";
import { TO_BE_NOTED, underTaskLocks } from "./under-task-locks.ts";

export async function retryDead(
  database: Database,
  tenantId: TenantId,
  jobs: readonly ToRetry[],
): Promise<Map<JobId, RetryOutcome>> {
  assert(jobs.length <= RETRY_GROUP_MAX, "a group of retries is bounded");
  if (jobs.length === 0) return new Map();
  return underTaskLocks(database, (session, lock) => retryGroup(session, tenantId, jobs, lock));
}

type Retried =
  | { readonly kind: "moved"; readonly job: Job }
  | { readonly kind: Exclude<RetryOutcome, "moved"> };

export function retryOne(
  database: Database,
  tenantId: TenantId,
  job: ToRetry,
  idempotency: Idempotency<Job> | null,
): Promise<Retried | Replay> {
  const { id } = job;
  return underTaskLocks(database, (session, lock) =>
    oncePerKey<Job, Retried | typeof TO_BE_NOTED>(session, tenantId, idempotency, async () => {
      const outcomes = await retryGroup(session, tenantId, [job], lock);
      if (outcomes === TO_BE_NOTED) return { result: TO_BE_NOTED, made: null };
      const kind = outcomes.get(id) ?? "not-found";
      if (kind !== "moved") return { result: { kind }, made: null };
      const [row] = await session.select(selectJobSql(tenantId, id));
      assert(row !== undefined, "a job that is locked is there");
      const moved = readJob(row);
      return { result: { kind, job: moved }, made: moved };
    }),
  );
}

interface LiveTask {
  readonly maxAttempts: number;
  readonly requestVersion: number;
  /** The line that its jobs have by now. */
  readonly limitKey: LimitKey | null;
}

function readFound(row: Row) {
  return {
    isDead: row[1] === 1,
    taskVersion: row[2] as number,
    limitKey: row[3] as LimitKey | null,
    attempt: row[4] as number,
    queue: row[5] as number,
  };
}

async function retryGroup(
  session: Session,
  tenantId: TenantId,
  jobs: readonly ToRetry[],
  lock: "share" | "update",
): Promise<Map<JobId, RetryOutcome> | typeof TO_BE_NOTED> {
  const taskOf = new Map(jobs.map(({ id }) => [id, partsOfJobId(id).taskId]));
  const tasks = new Map<TaskId, LiveTask>();
  const completed: TaskId[] = [];
  for (const row of await session.select(
    lockTasksSql(tenantId, [...new Set(taskOf.values())], lock),
  )) {
    const taskId = readTaskId(row[0]);
    tasks.set(taskId, {
      maxAttempts: row[1] as number,
      requestVersion: row[3] as number,
      limitKey: row[4] as LimitKey | null,
    });
    if (row[2] === 1) completed.push(taskId);
  }
  if (completed.length > 0 && lock === "share") return TO_BE_NOTED;
  const rows = await session.select(lockDeadJobsSql(tenantId, [...taskOf.keys()]));
  const found = new Map(rows.map((row) => [readJobId(row[0]), readFound(row)]));
  const [clock] = await session.select(selectClockSql());
  const nowMs = readInstant(clock?.[0]);
  const outcomes = new Map<JobId, RetryOutcome>();
  const retries: Retry[] = [];
  for (const { id, delayMs, queue } of jobs) {
    const task = tasks.get(taskOf.get(id) as TaskId);
    const job = found.get(id);
    if (job === undefined) outcomes.set(id, "not-found");
    else if (!job.isDead) outcomes.set(id, "not-dead");
    else if (task === undefined) outcomes.set(id, "task-gone");
    else if (job.attempt + task.maxAttempts > JOB_ATTEMPTS_MAX) outcomes.set(id, "attempts-full");
    else if (!outcomes.has(id)) {
      outcomes.set(id, "moved");
      const { limitKey } = job.taskVersion === task.requestVersion ? task : job;
      retries.push({
        id,
        runAtMs: nowMs + delayMs,
        queue: queue ?? job.queue,
        moreAttempts: task.maxAttempts,
        limitKey,
      });
    }
  }
  if (retries.length === 0) return outcomes;
  const written = await session.write(retryJobsSql(retries));
  assert(written === retries.length, "a retry moves the jobs that it has locked");
  const lined = retries.filter(({ limitKey }) => limitKey !== null);
  if (lined.length > 0) await session.write(lineUpSql(lined));
  const moved = retries.map(({ id }) => id);
  await session.write(deleteLettersSql(tenantId, moved));
  if (completed.length > 0) await session.write(noteRunsSql(completed));
  return outcomes;
}
