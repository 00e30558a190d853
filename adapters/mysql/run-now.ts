/** Runs by hand: the task is read under a lock, and the job is made in the same transaction. */
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import type { Task } from "#core/domain/task.ts";
import type { TaskStore } from "#core/ports/task-store.ts";
import { readInstant } from "./cells.ts";
import type { Session } from "./pool.ts";
import { selectClockSql } from "./statements/edit-jobs.ts";
import { insertJobsSql } from "./statements/insert-jobs.ts";
import { noteRunsSql } from "./statements/note-runs.ts";
import { selectTaskSql } from "./statements/select-task.ts";
import { readTaskWithVersion } from "./task-rows.ts";
import type { Database } from "./transaction.ts";

/** Run numbers are random, of 65,535: more misses than this in one millisecond means a bug. */
const FRESH_IDS_MAX = 10;

type Make = (task: Task, nowMs: number) => Job;

/**
 * The lock is shared: runs by hand do not wait for each other, while an edit, a pause and a delete wait for them. Only of a task
 * that has no further occurrence it is exclusive, since the run is noted there: two that share it could not both go on to that.
 */
export async function runNow(
  database: Database,
  tenantId: TenantId,
  taskId: TaskId,
  make: Make,
): ReturnType<TaskStore["runNow"]> {
  const ran = await database.transaction(async (session) => {
    const [row] = await session.select(selectTaskSql(tenantId, taskId, "share"));
    if (row === undefined) return { kind: "not-found" } as const;
    const { task } = readTaskWithVersion(row);
    if (task.status === "completed") return { kind: "to-be-noted" } as const;
    return makeJob(session, task, make);
  });
  if (ran.kind !== "to-be-noted") return ran;
  return database.transaction(async (session) => {
    const [row] = await session.select(selectTaskSql(tenantId, taskId, "update"));
    if (row === undefined) return { kind: "not-found" };
    await session.write(noteRunsSql([taskId]));
    return makeJob(session, readTaskWithVersion(row).task, make);
  });
}

async function makeJob(
  session: Session,
  task: Task,
  make: Make,
): Promise<{ readonly kind: "made"; readonly job: Job }> {
  const [clock] = await session.select(selectClockSql());
  for (let tries = 0; tries < FRESH_IDS_MAX; tries++) {
    const job = make(task, readInstant(clock?.[0]));
    if ((await session.write(insertJobsSql([job]))) === 1) return { kind: "made", job };
  }
  throw new Error("no free run number was found (indicates a bug)");
}
