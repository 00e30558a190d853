/**
 * An edit of a task and what it does to its jobs, in one transaction: the task's row, its jobs, last the revocation. Everything
 * uses one reading of the database's clock, made after the lock was got.
 */
import { assert, unreachable } from "#core/domain/assert.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import type { EditResult, JobsEffect, LockedTask, TaskEdit } from "#core/ports/task-store.ts";
import { readInstant, readInstantOrNull, readJobId } from "./cells.ts";
import { isDuplicateOf } from "./errors.ts";
import type { Session } from "./pool.ts";
import { deleteLimitedSql } from "./statements/delete-limited.ts";
import {
  cancelJobsSql,
  deletePlannedJobsSql,
  deleteUnclaimedJobsSql,
  resumeClaimedJobsSql,
  resumeRunningJobsSql,
  selectClockSql,
  selectLeftLimitedSql,
  selectPlannedFromSql,
} from "./statements/edit-jobs.ts";
import { insertJobsSql } from "./statements/insert-jobs.ts";
import { insertTaskVersionSql } from "./statements/insert-task-version.ts";
import { insertRevocationSql } from "./statements/revocations.ts";
import { selectTaskSql } from "./statements/select-task.ts";
import { updateTaskSql } from "./statements/update-task.ts";
import { readTaskWithVersion } from "./task-rows.ts";
import type { Database } from "./transaction.ts";

export const NAME_KEY = "tenant_live_name";
const LIMITED_GROUP = 1_000;

export async function editTask<R>(
  database: Database,
  target: { readonly tenantId: TenantId; readonly taskId: TaskId },
  decide: (locked: LockedTask) => TaskEdit<R>,
  retention: Retention,
): Promise<EditResult<R>> {
  try {
    return await database.transaction(async (session) => {
      const locked = await lock(session, target.tenantId, target.taskId);
      if (locked === null) return { kind: "not-found" };
      const { task, version, nowMs } = locked;
      const edit = decide(locked);
      switch (edit.kind) {
        case "refuse":
          return { kind: "refused", refusal: edit.refusal };
        case "unchanged":
          return { kind: "unchanged", current: { task, version } };
        case "write":
          await write(session, edit, nowMs, retention);
          return {
            kind: "written",
            current: { task: edit.task, version: edit.newVersion ?? version },
          };
        default:
          return unreachable(edit);
      }
    });
  } catch (error) {
    if (isDuplicateOf(error, NAME_KEY)) return { kind: "name-taken" };
    throw error;
  }
}

async function lock(
  session: Session,
  tenantId: TenantId,
  taskId: TaskId,
): Promise<LockedTask | null> {
  const [row] = await session.select(selectTaskSql(tenantId, taskId, "update"));
  if (row === undefined) return null;
  const [clock] = await session.select(selectClockSql());
  const nowMs = readInstant(clock?.[0]);
  const [planned] = await session.select(selectPlannedFromSql(taskId, nowMs));
  return {
    ...readTaskWithVersion(row),
    nowMs,
    plannedFromMs: planned === undefined ? null : readInstantOrNull(planned[0]),
  };
}

async function write<R>(
  session: Session,
  edit: Extract<TaskEdit<R>, { kind: "write" }>,
  nowMs: number,
  retention: Retention,
): Promise<void> {
  const { task, newVersion, jobsEffect, makeJobs } = edit;
  const written = await session.write(updateTaskSql(task));
  assert(written <= 1, "an edit writes one task");
  if (newVersion !== null) await session.write(insertTaskVersionSql(newVersion));
  await changeJobs(session, task.id, task.requestVersion, jobsEffect, nowMs, retention);
  if (makeJobs.length > 0) await session.write(insertJobsSql(makeJobs));
  if (jobsEffect.kind === "cancel") await session.write(insertRevocationSql(task.id, null));
}

async function changeJobs(
  session: Session,
  taskId: TaskId,
  requestVersion: number,
  effect: JobsEffect,
  nowMs: number,
  retention: Retention,
): Promise<void> {
  switch (effect.kind) {
    case "keep":
      return;
    case "remove-planned":
      await session.write(deletePlannedJobsSql(taskId, nowMs));
      return;
    case "cancel":
      await session.write(cancelJobsSql(taskId, effect.reason, nowMs, retention));
      await leaveLimits(session, taskId);
      return;
    case "resume":
      await session.write(resumeRunningJobsSql(taskId));
      await session.write(resumeClaimedJobsSql(taskId, nowMs, requestVersion));
      await session.write(deleteUnclaimedJobsSql(taskId, nowMs));
      return;
    default:
      unreachable(effect);
  }
}

async function leaveLimits(session: Session, taskId: TaskId): Promise<void> {
  const rows = await session.select(selectLeftLimitedSql(taskId));
  const ids = rows.map((row) => readJobId(row[0]));
  for (let at = 0; at < ids.length; at += LIMITED_GROUP) {
    await session.write(deleteLimitedSql(ids.slice(at, at + LIMITED_GROUP)));
  }
}
