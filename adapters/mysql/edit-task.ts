/**
 * An edit of a task and what it does to its jobs, in one transaction: the task's row, as many of its jobs as one transaction may take,
 * last the revocation. Everything uses one reading of the database's clock, made after the lock was got.
 */
import { assert, unreachable } from "#core/domain/assert.ts";
import type { LimitKey } from "#core/domain/call-limit.ts";
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import { isCounted } from "#core/domain/quotas.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import { changeMarks, type SecretMark, type SecretsChange } from "#core/domain/task-secrets.ts";
import type {
  EditResult,
  JobsEffect,
  LockedTask,
  TaskAllowance,
  TaskEdit,
} from "#core/ports/task-store.ts";
import { cappingEndpoints } from "./cap-endpoints.ts";
import { readInstant, readInstantOrNull, readJobId } from "./cells.ts";
import { isDuplicateOf } from "./errors.ts";
import { NAME_KEY, nameTaken } from "./name-taken.ts";
import type { Session } from "./pool.ts";
import { selectClockSql } from "./statements/clock.ts";
import {
  deletePlannedJobsSql,
  deleteUnclaimedJobsSql,
  lockJobsSql,
  resumeClaimedJobsSql,
  resumeRunningJobsSql,
  selectJobsAheadSql,
  selectMadeOccurrencesSql,
  selectPausedJobsSql,
  selectPlannedJobsSql,
} from "./statements/edit-jobs.ts";
import { insertJobsSql } from "./statements/insert-jobs.ts";
import { insertTaskVersionSql } from "./statements/insert-task-version.ts";
import { lineUpSql } from "./statements/limited-lines.ts";
import { insertRevocationSql } from "./statements/revocations.ts";
import { selectTaskSql } from "./statements/select-task.ts";
import { deleteTaskSecretsSql, upsertTaskSecretsSql } from "./statements/task-secrets.ts";
import { updateTaskSql } from "./statements/update-task.ts";
import { updateJobsBelowSql } from "./statements/walk-jobs.ts";
import { overQuota } from "./task-quota.ts";
import { readLine, readTaskWithVersion, TASK_JOBS_BELOW, TASK_LINE } from "./task-rows.ts";
import type { Database } from "./transaction.ts";
import { cancelJobs, idsOf, inGroups, type WalkBounds, walkJobs } from "./walk-jobs.ts";

/** What an edit's own transaction reaches of the task's jobs: ordinary tasks' as a whole. */
export const EDIT_WALK: WalkBounds = { pageRows: 1_000, jobs: 5_000, ms: 4_000 };

interface Locked extends LockedTask {
  /** Where an earlier change of the task has yet to go on. */
  readonly jobsBelow: JobId | null;
}

export async function editTask<R>(
  database: Database,
  target: {
    readonly tenantId: TenantId;
    readonly taskId: TaskId;
    readonly quota: TaskAllowance | null;
  },
  decide: (locked: LockedTask) => TaskEdit<R>,
  retention: Retention,
  bounds: WalkBounds,
): Promise<EditResult<R>> {
  let name = "";
  try {
    return await cappingEndpoints(database, target, async (session, cap) => {
      const locked = await lock(session, target.tenantId, target.taskId);
      if (locked === null) return { kind: "not-found" };
      const { task, version, secrets = [] } = locked;
      const edit = decide(locked);
      switch (edit.kind) {
        case "refuse":
          return { kind: "refused", refusal: edit.refusal };
        case "unchanged":
          return {
            kind: "unchanged",
            ...left(locked.jobsBelow),
            current: withSecrets(task, version, secrets),
          };
        case "write": {
          name = edit.task.name;
          const countsAgain = !isCounted(task.status) && isCounted(edit.task.status);
          const over = countsAgain ? await overQuota(session, target.tenantId, target.quota) : null;
          if (over !== null) return over;
          const jobsBelow = await write(session, edit, locked, retention, bounds);
          if (edit.newVersion !== null) await cap([edit.newVersion.request.url]);
          return {
            kind: "written",
            ...left(jobsBelow),
            current: withSecrets(
              edit.task,
              edit.newVersion ?? version,
              edit.secrets === undefined ? secrets : changeMarks(secrets, edit.secrets),
            ),
          };
        }
        default:
          return unreachable(edit);
      }
    });
  } catch (error) {
    if (isDuplicateOf(error, NAME_KEY)) return nameTaken(database, target.tenantId, name);
    throw error;
  }
}

function left(jobsBelow: JobId | null): { readonly jobsLeft?: true } {
  return jobsBelow === null ? {} : { jobsLeft: true };
}

function withSecrets(
  task: TaskWithVersion["task"],
  version: TaskWithVersion["version"],
  secrets: readonly SecretMark[],
): TaskWithVersion {
  return secrets.length === 0 ? { task, version } : { task, version, secrets };
}

async function lock(session: Session, tenantId: TenantId, taskId: TaskId): Promise<Locked | null> {
  const [row] = await session.select(selectTaskSql(tenantId, taskId, "update"));
  if (row === undefined) return null;
  const [clock] = await session.select(selectClockSql());
  const nowMs = readInstant(clock?.[0]);
  const [found] = await session.select(selectJobsAheadSql(taskId, nowMs));
  const locked = readTaskWithVersion(row);
  const { nextRunAtMs } = locked.task;
  const below = row[TASK_JOBS_BELOW] ?? null;
  const jobsBelow = below === null ? null : readJobId(below);
  const isLate = nextRunAtMs !== null && nextRunAtMs <= nowMs;
  const made = isLate
    ? await session.select(selectMadeOccurrencesSql(taskId, nextRunAtMs, nowMs))
    : [];
  return {
    ...locked,
    ...readLine(row[TASK_LINE]),
    madeMs: made.map((cells) => readInstant(cells[0])),
    nowMs,
    jobsBelow,
    ...left(jobsBelow),
    plannedFromMs: readInstantOrNull(found?.[0] ?? null),
    aheadFromMs: readInstantOrNull(found?.[1] ?? null),
  };
}

/** Tells below which job the task's last change has yet to reach its jobs; null: it has reached all. */
async function write<R>(
  session: Session,
  edit: Extract<TaskEdit<R>, { kind: "write" }>,
  locked: Locked,
  retention: Retention,
  bounds: WalkBounds,
): Promise<JobId | null> {
  const { task, newVersion, jobsEffect, makeJobs } = edit;
  const { nowMs } = locked;
  const limitKey = locked.limitKey ?? null;
  assert(newVersion === null || jobsEffect.kind !== "resume", "a resume changes no request");
  const written = await session.write(updateTaskSql(task, newVersion));
  assert(written <= 1, "an edit writes one task");
  if (newVersion !== null) await session.write(insertTaskVersionSql(newVersion));
  if (edit.secrets !== undefined) await changeSecrets(session, task.id, edit.secrets);
  const changed = { ...task, limitKey, jobsBelow: locked.jobsBelow };
  const jobsBelow = await changeJobs(session, changed, jobsEffect, nowMs, retention, bounds);
  if (jobsBelow !== locked.jobsBelow) await session.write(updateJobsBelowSql(task.id, jobsBelow));
  if (makeJobs.length > 0) await session.write(insertJobsSql(makeJobs));
  const waiting = makeJobs.filter(({ status }) => status === "waiting");
  if (waiting.length > 0) await session.write(lineUpSql(waiting));
  if (jobsEffect.kind === "cancel") await session.write(insertRevocationSql(task.id, null));
  return jobsBelow;
}

async function changeSecrets(
  session: Session,
  taskId: TaskId,
  { set, remove }: SecretsChange,
): Promise<void> {
  if (remove.length > 0) await session.write(deleteTaskSecretsSql(taskId, remove));
  const owned = set.map((secret) => ({ taskId, secret }));
  if (owned.length > 0) await session.write(upsertTaskSecretsSql(owned));
}

interface LimitLine {
  readonly limitKey: LimitKey | null;
}

/** As write. */
async function changeJobs(
  session: Session,
  task: Task & Pick<Locked, "jobsBelow"> & LimitLine,
  effect: JobsEffect,
  nowMs: number,
  retention: Retention,
  bounds: WalkBounds,
): Promise<JobId | null> {
  const { id: taskId, limitKey } = task;
  switch (effect.kind) {
    case "keep":
      return task.jobsBelow;
    case "remove-planned": {
      const planned = await idsOf(session, selectPlannedJobsSql(taskId, nowMs));
      await inGroups(planned, (ids) => session.write(deletePlannedJobsSql(ids)));
      return task.jobsBelow;
    }
    case "cancel": {
      const { found, before } = await walkJobs(session, taskId, null, "open", bounds);
      await cancelJobs(session, found, effect.reason, nowMs, retention);
      return before;
    }
    case "resume": {
      const { found, before } = await walkJobs(session, taskId, null, "running", bounds);
      const ahead = await idsOf(session, selectPausedJobsSql(taskId, nowMs));
      const paused = [...new Set([...found, ...ahead])].sort();
      await inGroups(paused, async (ids) => {
        await session.select(lockJobsSql(ids));
        await session.write(resumeRunningJobsSql(ids));
        const resumed = resumeClaimedJobsSql(ids, nowMs, task, limitKey);
        const lined = (await session.write(resumed)) > 0 && limitKey !== null;
        if (lined) await session.write(lineUpSql(ids.map((id) => ({ id }))));
        await session.write(deleteUnclaimedJobsSql(ids, nowMs));
      });
      return before;
    }
    default:
      return unreachable(effect);
  }
}
