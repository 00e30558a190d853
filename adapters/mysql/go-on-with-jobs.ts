/** The jobs that one transaction could not reach, after an edit: group by group, each in a transaction of its own. */
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import type { TaskStatus } from "#core/domain/task.ts";
import { CANCEL_REASON, changeOf, type TaskChange } from "#core/domain/task-change.ts";
import type { UnfinishedChange } from "#core/ports/task-store.ts";
import { readInstant, readJobId, readTaskId, readTenantId } from "./cells.ts";
import { CHANGE_JOBS_MS } from "./deadlines.ts";
import { selectClockSql } from "./statements/clock.ts";
import { resumeRunningJobsSql } from "./statements/edit-jobs.ts";
import { insertRevocationSql } from "./statements/revocations.ts";
import { listUnfinishedSql, lockJobsBelowSql, updateJobsBelowSql } from "./statements/walk-jobs.ts";
import type { Database } from "./transaction.ts";
import { cancelJobs, inGroups, type WalkBounds, walkJobs } from "./walk-jobs.ts";

/** Short: it holds the jobs' rows, and their results wait for it. */
export const GROUP_WALK: WalkBounds = { pageRows: 1_000, jobs: 1_000, ms: 1_000 };

export async function listUnfinished(
  database: Database,
  limit: number,
): Promise<UnfinishedChange[]> {
  const rows = await database.select(listUnfinishedSql(limit));
  return rows.map(([tenantId, taskId, status, below]) => ({
    tenantId: readTenantId(tenantId),
    taskId: readTaskId(taskId),
    change: changeOf(status as TaskStatus),
    below: readJobId(below),
  }));
}

export function goOnWithJobs(
  database: Database,
  { tenantId, taskId }: { readonly tenantId: TenantId; readonly taskId: TaskId },
  change: TaskChange,
  retention: Retention,
  bounds: WalkBounds,
): Promise<"more" | "done" | "none"> {
  return database.transaction(async (session) => {
    const [row] = await session.select(lockJobsBelowSql(tenantId, taskId));
    const [status, below] = row ?? [];
    if (below === undefined || below === null) return "none";
    if (changeOf(status as TaskStatus) !== change) return "none";
    const walked = change === "resumed" ? "running" : "open";
    const { found, before } = await walkJobs(session, taskId, readJobId(below), walked, bounds);
    await session.write(updateJobsBelowSql(taskId, before));
    const reason = CANCEL_REASON[change];
    if (reason === null) await inGroups(found, (ids) => session.write(resumeRunningJobsSql(ids)));
    else {
      const [clock] = await session.select(selectClockSql());
      await cancelJobs(session, found, reason, readInstant(clock?.[0]), retention);
      if (found.length > 0) await session.write(insertRevocationSql(taskId, null));
    }
    return before === null ? "done" : "more";
  }, CHANGE_JOBS_MS);
}
