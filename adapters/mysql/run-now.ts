/** Runs by hand: the task is read under a lock, and the job is made in the same transaction. */
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { admitTest, type TestLimit } from "#core/domain/test-limit.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { MadeRun, MakeRun, Ran, TaskStore } from "#core/ports/task-store.ts";
import { readInstant } from "./cells.ts";
import { oncePerKey } from "./once-per-key.ts";
import type { Session } from "./pool.ts";
import { selectClockSql } from "./statements/clock.ts";
import { insertJobsSql } from "./statements/insert-jobs.ts";
import { lineUpSql } from "./statements/limited-lines.ts";
import { noteRunsSql } from "./statements/note-runs.ts";
import { selectTaskSql } from "./statements/select-task.ts";
import { lockTestCallsSql, noteTestCallsSql, selectTestCallsSql } from "./statements/test-calls.ts";
import { readLine, readTaskWithVersion, TASK_LINE } from "./task-rows.ts";
import type { Database } from "./transaction.ts";
import { TO_BE_NOTED, underTaskLocks } from "./under-task-locks.ts";

/** Run numbers are random, of 65,535: more misses than this in one millisecond means a bug. */
const FRESH_IDS_MAX = 10;

/**
 * The lock is shared: runs by hand do not wait for each other, while an edit, a pause and a delete wait for them. Only of a task
 * that has no further occurrence it is exclusive: see under-task-locks.ts.
 */
export function runNow<R>(
  database: Database,
  tenantId: TenantId,
  taskId: TaskId,
  make: MakeRun<R>,
  idempotency: Idempotency<MadeRun> | null,
): Promise<Ran<R> | Replay> {
  return underTaskLocks(database, (session, lock) =>
    oncePerKey<MadeRun, Ran<R> | typeof TO_BE_NOTED>(session, tenantId, idempotency, async () => {
      const result = await makeRun(session, { tenantId, taskId, lock }, make);
      const made = result !== TO_BE_NOTED && result.kind === "made" ? result : null;
      return { result, made };
    }),
  );
}

/** The tenant's row of tests is locked before the task's; nobody else takes both. */
export function runTest(
  database: Database,
  tenantId: TenantId,
  taskId: TaskId,
  make: MakeRun<never>,
  limit: TestLimit,
): ReturnType<TaskStore["runTest"]> {
  return underTaskLocks(database, async (session, lock) => {
    await session.write(lockTestCallsSql(tenantId));
    const [row] = await session.select(selectTestCallsSql(tenantId));
    const admission = admitTest(row?.[0] as number[], readInstant(row?.[1]), limit);
    if (admission.kind === "limited") return admission;
    const result = await makeRun(session, { tenantId, taskId, lock }, make);
    if (result !== TO_BE_NOTED && result.kind === "made")
      await session.write(noteTestCallsSql(tenantId, admission.recent));
    return result;
  });
}

interface Locked {
  readonly tenantId: TenantId;
  readonly taskId: TaskId;
  readonly lock: "share" | "update";
}

async function makeRun<R>(
  session: Session,
  { tenantId, taskId, lock }: Locked,
  make: MakeRun<R>,
): Promise<Ran<R> | typeof TO_BE_NOTED> {
  const [row] = await session.select(selectTaskSql(tenantId, taskId, lock));
  if (row === undefined) return { kind: "not-found" };
  const { task, version } = readTaskWithVersion(row);
  const completed = task.status === "completed";
  if (completed && lock === "share") return TO_BE_NOTED;
  const due = { ...task, ...readLine(row[TASK_LINE]) };
  const [clock] = await session.select(selectClockSql());
  const nowMs = readInstant(clock?.[0]);
  for (let tries = 0; tries < FRESH_IDS_MAX; tries++) {
    const job = make(due, nowMs, version);
    if ("kind" in job) return { kind: "refused", refusal: job.refusal };
    if ((await session.write(insertJobsSql([job]))) === 0) continue;
    if (job.status === "waiting") await session.write(lineUpSql([job]));
    if (completed) await session.write(noteRunsSql([taskId]));
    return { kind: "made", job, version };
  }
  throw new Error("no free run number was found (indicates a bug)");
}
