/** What an edit does to the jobs of its task: one event of the state machine, offered to each of them. */
import { assert, unreachable } from "#core/domain/assert.ts";
import type { JobId, TaskId } from "#core/domain/ids.ts";
import type { Job, Retention } from "#core/domain/job.ts";
import type { JobEvent } from "#core/domain/job-state.ts";
import { applyEvent, isFinished } from "#core/domain/job-state.ts";
import type { Task } from "#core/domain/task.ts";
import { CANCEL_REASON, changeOf, type TaskChange } from "#core/domain/task-change.ts";
import type { JobsEffect, UnfinishedChange } from "#core/ports/task-store.ts";
import { type MemoryTables, NO_RETENTION } from "./memory-tables.ts";

interface At {
  readonly nowMs: number;
  readonly retention: Retention;
}

/**
 * Applies the effect of an edit that leaves the task as `task`, newest jobs first, to those below `from` where that is given; a cancel
 * also writes the revocation. Of a cancel or resume notes what it leaves.
 */
export function applyJobsEffect(
  tables: MemoryTables,
  task: Task,
  effect: JobsEffect,
  { nowMs, retention }: At,
  from: JobId | null = null,
): void {
  const event = eventOfEffect(tables, task, effect);
  if (event === null) return;
  const left: Job[] = jobsOf(tables, task.id).filter(({ id }) => from === null || id < from);
  left.sort((a, b) => (a.id > b.id ? -1 : 1));
  const most = effect.kind === "remove-planned" ? Number.POSITIVE_INFINITY : tables.jobsAtOnce;
  let below: JobId | null = null;
  let reached = 0;
  for (const job of left) {
    // What is ahead a resume makes anew, or takes back: all of it, or none.
    if (reached >= most && (effect.kind === "cancel" || job.scheduledAtMs <= nowMs)) break;
    const after = applyEvent(job, event, { nowMs, retention });
    if (after.kind !== "refused") reached++;
    if (after.kind === "moved") tables.jobs.set(job.id, after.job);
    if (after.kind === "removed") tables.jobs.delete(job.id);
    below = job.id === left.at(-1)?.id ? null : job.id;
  }
  if (effect.kind === "cancel") {
    tables.revocations.push({ atMs: nowMs, taskId: task.id, jobId: null });
  }
  if (effect.kind === "remove-planned") return;
  if (below === null) tables.jobsBelow.delete(task.id);
  else tables.jobsBelow.set(task.id, below);
}

/** See TaskStore.goOnWithJobs. */
export function goOnWithJobs(
  tables: MemoryTables,
  task: Task | undefined,
  change: TaskChange,
  at: At,
): "more" | "done" | "none" {
  const below = task === undefined ? undefined : tables.jobsBelow.get(task.id);
  if (task === undefined || below === undefined) return "none";
  if (changeOf(task.status) !== change) return "none";
  applyJobsEffect(tables, task, effectOf(change), at, below);
  return tables.jobsBelow.has(task.id) ? "more" : "done";
}

/** See TaskStore.listUnfinished. */
export function listUnfinished(tables: MemoryTables, limit: number): UnfinishedChange[] {
  return [...tables.jobsBelow].slice(0, limit).map(([taskId, below]) => {
    const task = tables.tasks.get(taskId);
    assert(task !== undefined, "a task stays as long as it has jobs");
    return { tenantId: task.tenantId, taskId, change: changeOf(task.status), below };
  });
}

function effectOf(change: TaskChange): JobsEffect {
  const reason = CANCEL_REASON[change];
  return reason === null ? { kind: "resume" } : { kind: "cancel", reason };
}

/** Earliest `scheduledAt` of the task's jobs that `remove-planned` would remove now; null when there is none. */
export function plannedFromMs(tables: MemoryTables, taskId: TaskId, nowMs: number): number | null {
  const context = { nowMs, retention: NO_RETENTION };
  const planned = jobsOf(tables, taskId).filter(
    (job) => applyEvent(job, { kind: "remove-planned" }, context).kind === "removed",
  );
  return planned.length === 0 ? null : Math.min(...planned.map((job) => job.scheduledAtMs));
}

/** Earliest `scheduledAt` ahead of now of the task's scheduled jobs that have not ended; null when there is none. */
export function aheadFromMs(tables: MemoryTables, taskId: TaskId, nowMs: number): number | null {
  const ahead = jobsOf(tables, taskId).filter(
    (job) => job.trigger === "schedule" && job.scheduledAtMs > nowMs && !isFinished(job.status),
  );
  return ahead.length === 0 ? null : Math.min(...ahead.map((job) => job.scheduledAtMs));
}

/** Occurrences from the task's next run to now that have a row of their own, in order. */
export function madeOccurrencesMs(tables: MemoryTables, task: Task, nowMs: number): number[] {
  const fromMs = task.nextRunAtMs ?? Number.POSITIVE_INFINITY;
  return jobsOf(tables, task.id)
    .filter(({ trigger, covers, scheduledAtMs }) => {
      const ofSchedule = trigger === "schedule" || trigger === "catch_up";
      return ofSchedule && covers === null && scheduledAtMs >= fromMs && scheduledAtMs <= nowMs;
    })
    .map(({ scheduledAtMs }) => scheduledAtMs)
    .sort((a, b) => a - b);
}

function eventOfEffect(tables: MemoryTables, task: Task, effect: JobsEffect): JobEvent | null {
  switch (effect.kind) {
    case "keep":
      return null;
    case "cancel":
    case "remove-planned":
      return effect;
    case "resume": {
      const { requestVersion: taskVersion, timeoutMs, maxAttempts: moreAttempts } = task;
      const { limitKey = null } = tables.lineOf(task);
      return { kind: "resume", taskVersion, timeoutMs, moreAttempts, limitKey };
    }
    default:
      return unreachable(effect);
  }
}

function jobsOf(tables: MemoryTables, taskId: TaskId): Job[] {
  return [...tables.jobs.values()].filter((job) => job.taskId === taskId);
}
