import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { LockedTask, TaskEdit } from "#core/ports/task-store.ts";
import { movedRun } from "./moved-run.ts";

const PAGE_TASKS = 200;
const ACTIVE = { status: "active", priority: null, tag: null } as const;
/** None of its edits ends a job. */
const NO_JOB_ENDS: Retention = { succeededMs: 0, endedMs: 0 };

/**
 * Moves the next runs of a tenant's active tasks that other data of time zones has computed to where this process's has them. Goes by the
 * tasks' ids, newest first; a page of them has been looked at, and so many of it moved, with each `tell`. Safe at any time, and to repeat.
 */
export async function moveRuns(
  shards: Pick<Shards, "forTenant">,
  tenantId: TenantId,
  tell: (tasks: number, moved: number) => void,
): Promise<void> {
  const { tasks } = shards.forTenant(tenantId);
  let before: TaskId | null = null;
  let more = true;
  while (more) {
    const page = await tasks.list(tenantId, ACTIVE, before, PAGE_TASKS);
    let moved = 0;
    for (const { task } of page) {
      // Whether it stays, as what it stands for has passed, the database's clock tells, under the lock.
      if (movedRun(task, 0) === null) continue;
      const { kind } = await tasks.edit(tenantId, task.id, decideMove, NO_JOB_ENDS);
      if (kind === "written") moved++;
    }
    tell(page.length, moved);
    before = page.at(-1)?.task.id ?? null;
    more = page.length === PAGE_TASKS;
  }
}

/** No new version: nothing that a user has set becomes another. */
function decideMove({ task, nowMs }: LockedTask): TaskEdit<never> {
  const nextRunAtMs = movedRun(task, nowMs);
  if (nextRunAtMs === null) return { kind: "unchanged" };
  const moved = { ...task, nextRunAtMs };
  return {
    kind: "write",
    task: moved,
    newVersion: null,
    jobsEffect: { kind: "keep" },
    makeJobs: [],
  };
}
