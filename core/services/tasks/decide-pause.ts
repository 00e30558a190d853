/** What pause, resume and delete write, given the task under its lock. Pure: the store calls them again after a deadlock. */
import { REASON_DELETED, REASON_PAUSED } from "#core/domain/job.ts";
import { REASON_LENGTH_MAX } from "#core/domain/limits.ts";
import { nextOccurrence, ScheduleError } from "#core/domain/schedule.ts";
import { isTagged, type Task } from "#core/domain/task.ts";
import type { JobsEffect, LockedTask, TaskEdit } from "#core/ports/task-store.ts";
import type { EditContext } from "./decide-edit.ts";
import { lateRun } from "./moved-run.ts";
import { coverPassedRuns } from "./passed-runs.ts";

export type StateRefusal =
  | { readonly kind: "completed" }
  | { readonly kind: "tag-mismatch"; readonly task: Task };

const REFUSE_COMPLETED = { kind: "refuse", refusal: { kind: "completed" } } as const;

/** A task is completed when its last job is made, ahead of its time: until then it can still be paused. */
export function decidePause({
  task,
  nowMs,
  aheadFromMs,
}: LockedTask): TaskEdit<{ readonly kind: "completed" }> {
  if (task.status === "paused") return { kind: "unchanged" };
  if (task.status === "completed" && aheadFromMs === null) return REFUSE_COMPLETED;
  return write({ ...task, status: "paused" }, nowMs, { kind: "cancel", reason: REASON_PAUSED });
}

/**
 * Goes on from now: what passed meanwhile is one cancelled row, and never runs. Of a completed task: goes on with the jobs that a resume
 * has left.
 */
export function decideResume(
  { task, nowMs, madeMs = [], jobsLeft }: LockedTask,
  context: EditContext,
): TaskEdit<{ readonly kind: "completed" }> {
  if (task.status === "completed")
    return jobsLeft === true ? { kind: "unchanged" } : REFUSE_COMPLETED;
  if (task.status === "active" && task.error === null) return { kind: "unchanged" };
  const resumed: Task = { ...task, ...continuation(task, nowMs), madeUntilMs: nowMs };
  const jobsEffect: JobsEffect = { kind: task.status === "paused" ? "resume" : "keep" };
  return {
    ...write(resumed, nowMs, jobsEffect),
    makeJobs: coverPassedRuns(task, { ...context, nowMs, madeMs }),
  };
}

function continuation(task: Task, nowMs: number): Pick<Task, "status" | "nextRunAtMs" | "error"> {
  try {
    const nextMs = nextOccurrence(task.schedule, task, nowMs);
    const lateMs = lateRun(task, nowMs);
    const nextRunAtMs = lateMs === null ? nextMs : Math.min(lateMs, nextMs ?? lateMs);
    return { status: nextRunAtMs === null ? "completed" : "active", nextRunAtMs, error: null };
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    return {
      status: "active",
      nextRunAtMs: null,
      error: error.message.slice(0, REASON_LENGTH_MAX),
    };
  }
}

/** `ifTags` null deletes whatever version there is. */
export function decideDelete(
  { task, secrets = [], nowMs, madeMs = [] }: LockedTask,
  ifTags: readonly string[] | null,
  context: EditContext,
): TaskEdit<StateRefusal> {
  if (ifTags !== null && !isTagged(ifTags, task))
    return { kind: "refuse", refusal: { kind: "tag-mismatch", task } };
  const deleted: Task = { ...task, status: "deleted", nextRunAtMs: null };
  return {
    ...write(deleted, nowMs, { kind: "cancel", reason: REASON_DELETED }),
    makeJobs: coverPassedRuns(task, { ...context, nowMs, madeMs }),
    ...(secrets.length === 0
      ? {}
      : { secrets: { set: [], remove: secrets.map(({ name }) => name) } }),
  };
}

function write(task: Task, nowMs: number, jobsEffect: JobsEffect) {
  return {
    kind: "write",
    task: { ...task, version: task.version + 1, updatedAtMs: nowMs },
    newVersion: null,
    jobsEffect,
    makeJobs: [],
  } as const;
}
