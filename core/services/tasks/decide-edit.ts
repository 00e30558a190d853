/**
 * What an edit of a task writes, given the task under its lock. Pure: the store calls it again after a deadlock.
 *
 * `next_run_at` moves for four reasons only. A changed schedule starts again from now, after the old one's overdue runs are accounted for;
 * so does, by any edit, one that could not go on. A changed request or priority sets it back to the earliest planned job that is not
 * frozen, so that those are made anew. What newer data of time zones has moved goes where it belongs, if it is the workers' data.
 * Everything else leaves it alone: a no-op save must not drop a due run, an edit must not fire for the past.
 */
import type { FieldProblem } from "#core/domain/field-problem.ts";
import type { Job, Retention } from "#core/domain/job.ts";
import { originOf } from "#core/domain/origin.ts";
import { planRuns } from "#core/domain/plan-runs.ts";
import { atInstantMs, ScheduleError } from "#core/domain/schedule.ts";
import type { Task, TaskVersion } from "#core/domain/task.ts";
import type { SealedSecret } from "#core/domain/task-secrets.ts";
import type { LockedTask, TaskEdit } from "#core/ports/task-store.ts";
import { decideSecrets } from "./decide-secrets.ts";
import { firstRunAfter } from "./first-run.ts";
import { movedRun } from "./moved-run.ts";
import { coverPassedRuns } from "./passed-runs.ts";
import { isSame } from "./same.ts";
import type { TaskSettings } from "./task-settings.ts";

/** Overdue runs that one edit makes; what is beyond shares one cancelled row. */
export const OVERDUE_ROWS_MAX = 1_000;
const OVERDUE_ROUNDS_MAX = 20;
const OVERDUE_STEPS_MAX = 2_000;

export type EditRefusal =
  | { readonly kind: "invalid"; readonly problems: readonly FieldProblem[] }
  | { readonly kind: "tag-mismatch"; readonly task: Task };

export interface EditContext {
  /** A random run number, for the row of what passed. */
  readonly run: number;
  readonly retention: Retention;
  /** The secrets that the settings set. */
  readonly sealed?: readonly SealedSecret[];
  /** See TaskServiceDeps. */
  readonly otherZoneData?: boolean;
}

/** Decides a PATCH that turns the task's settings into `settings`. */
export function decideEdit(
  locked: LockedTask,
  settings: TaskSettings,
  context: EditContext,
): TaskEdit<EditRefusal> {
  const { task, version, nowMs } = locked;
  const { name, request, timeoutMs, retry, secrets: wanted = {}, ...rest } = settings;
  const secrets = decideSecrets({
    marks: locked.secrets ?? [],
    wanted,
    sealed: context.sealed ?? [],
    newAuth: !isSame(request.auth, version.request.auth),
    newOrigin: originOf(request.url) !== originOf(version.request.url),
  });
  if (secrets.kind === "invalid") return { kind: "refuse", refusal: secrets };
  const newRequest = !isSame(
    { request, timeoutMs, retry },
    { request: version.request, timeoutMs: version.timeoutMs, retry: version.retry },
  );
  const requestVersion = newRequest ? task.requestVersion + 1 : task.requestVersion;
  const edited: Task = {
    ...task,
    ...rest,
    name: name ?? task.id,
    requestVersion,
    timeoutMs,
    maxAttempts: retry.maxAttempts,
  };
  const newTiming = !isSameTiming(task, edited);
  const { change } = secrets;
  const movedToMs = context.otherZoneData === true ? null : movedRun(task, nowMs);
  // Any edit sets a stopped schedule going again, if it can go on by now.
  const revived = task.error !== null && firstRunAfter(edited, nowMs).kind === "run";
  const inOrder = !revived && movedToMs === null;
  if (isSame(task, edited) && change === null && inOrder) return { kind: "unchanged" };
  const newVersion: TaskVersion | null = newRequest
    ? { taskId: task.id, requestVersion, request, timeoutMs, retry }
    : null;
  const nextRunAtMs = movedToMs ?? task.nextRunAtMs;
  const saved: Task = { ...edited, nextRunAtMs, version: task.version + 1, updatedAtMs: nowMs };
  const edit = changeTask(locked, saved, newVersion, {
    ...context,
    restarts: newTiming || revived,
  });
  // A secret is sent as it is by then: jobs that exist need not be made anew for it.
  return change === null || edit.kind !== "write" ? edit : { ...edit, secrets: change };
}

/** What is written of the task, and what becomes of its jobs. */
function changeTask(
  locked: LockedTask,
  saved: Task,
  newVersion: TaskVersion | null,
  context: EditContext & { readonly restarts: boolean },
): TaskEdit<EditRefusal> {
  if (context.restarts) return restart(locked, saved, newVersion, context);
  if (newVersion !== null || saved.priority !== locked.task.priority)
    return remake(locked, saved, newVersion);
  return { kind: "write", task: saved, newVersion, jobsEffect: { kind: "keep" }, makeJobs: [] };
}

/** Whether both run at the same instants; an `at` written differently is still the same one. */
function isSameTiming(a: Task, b: Task): boolean {
  if (a.startAtMs !== b.startAtMs || a.endAtMs !== b.endAtMs) return false;
  if (isSame(a.schedule, b.schedule)) return true;
  if (a.schedule.type !== "at" || b.schedule.type !== "at") return false;
  return atInstantMs(a.schedule) === atInstantMs(b.schedule);
}

/** A new schedule: it begins now, and every occurrence of the old one that is due by now has its row. */
function restart(
  locked: LockedTask,
  saved: Task,
  newVersion: TaskVersion | null,
  context: EditContext,
): TaskEdit<EditRefusal> {
  const first = firstRunAfter(saved, locked.nowMs);
  if (first.kind === "none")
    return { kind: "refuse", refusal: { kind: "invalid", problems: [first.problem] } };
  return {
    kind: "write",
    task: {
      ...saved,
      status: saved.status === "paused" ? "paused" : "active",
      nextRunAtMs: first.atMs,
      madeUntilMs: locked.nowMs,
      error: null,
    },
    newVersion,
    jobsEffect: { kind: "remove-planned" },
    makeJobs:
      locked.task.status === "active" && locked.task.error === null
        ? makeOverdueRuns(locked, context)
        : coverPassedRuns(locked.task, {
            ...context,
            nowMs: locked.nowMs,
            madeMs: locked.madeMs ?? [],
          }),
  };
}

/** The rows of what is due by now and not made yet, as the scheduler would make them, of the task as it was before the edit. */
function makeOverdueRuns(locked: LockedTask, context: EditContext): Job[] {
  const { task, nowMs, limitKey } = locked;
  const jobs: Job[] = [];
  let nextRunAtMs = task.nextRunAtMs;
  try {
    for (let round = 0; round < OVERDUE_ROUNDS_MAX; round++) {
      const left = OVERDUE_ROWS_MAX - jobs.length;
      if (nextRunAtMs === null || nextRunAtMs > nowMs || left <= 0) break;
      const plan = planRuns(
        { ...task, nextRunAtMs, ...(limitKey === undefined ? {} : { limitKey }) },
        {
          nowMs,
          untilMs: nowMs,
          missedRowsMax: left,
          dueRowsMax: left,
          stepsMax: OVERDUE_STEPS_MAX,
          retention: context.retention,
        },
      );
      jobs.push(...plan.jobs);
      nextRunAtMs = plan.nextRunAtMs;
    }
  } catch (error) {
    // The old schedule cannot go on: what it owes from here on is the one row below.
    if (!(error instanceof ScheduleError)) throw error;
  }
  return [...jobs, ...coverPassedRuns({ ...task, nextRunAtMs }, { ...context, nowMs })];
}

/** A new request or priority: planned jobs that are not frozen are made anew. */
function remake(
  locked: LockedTask,
  saved: Task,
  newVersion: TaskVersion | null,
): TaskEdit<EditRefusal> {
  const { plannedFromMs } = locked;
  const jobsEffect = { kind: "remove-planned" } as const;
  if (plannedFromMs === null)
    return { kind: "write", task: saved, newVersion, jobsEffect, makeJobs: [] };
  // Back only: a job may be ahead of runs that have no row yet, made before the task had this schedule.
  const nextRunAtMs = Math.min(plannedFromMs, saved.nextRunAtMs ?? plannedFromMs);
  return {
    kind: "write",
    task: {
      ...saved,
      status: saved.status === "completed" ? "active" : saved.status,
      nextRunAtMs,
      // No occurrence lies between: the next run is the first after it.
      madeUntilMs: nextRunAtMs - 1,
    },
    newVersion,
    jobsEffect,
    makeJobs: [],
  };
}
