/** How a job begins (events 1 and 2 of docs/state-machine.md): made to run, or as the row of a run that will not happen. */
import { makeJobId, RUN_OF_OCCURRENCE } from "./ids.ts";
import type { Covers, Job, Payload, Retention, Trigger } from "./job.ts";
import { oneLaneDown, queueOf } from "./queue.ts";
import type { DueTask } from "./task.ts";

const BLANK = {
  claimNo: 0,
  attempt: 0,
  lost: 0,
  workerId: null,
  cancelReason: null,
  attempts: {},
  payload: null,
  finishedAtMs: null,
  reason: null,
  retryOf: null,
  covers: null,
} as const;

function common(task: DueTask, trigger: Trigger, scheduledAtMs: number, run: number) {
  return {
    ...BLANK,
    id: makeJobId(scheduledAtMs, task.id, run),
    taskId: task.id,
    tenantId: task.tenantId,
    taskVersion: task.requestVersion,
    trigger,
    priority: task.priority,
    queue: queueOf(task.priority),
    scheduledAtMs,
    maxAttempts: task.maxAttempts,
    timeoutMs: task.timeoutMs,
    limitKey: task.limitKey ?? null,
  };
}

/** How a job that is to run begins. */
function inLine({ limitKey }: DueTask): "pending" | "waiting" {
  return limitKey === undefined ? "pending" : "waiting";
}

/** The job of one occurrence. A missed one (`catch_up`) runs now, a lane below `queue`; a late one keeps its time and its lane. */
export function makeScheduledJob(
  task: DueTask,
  trigger: "schedule" | "catch_up",
  scheduledAtMs: number,
  nowMs: number,
  queue: number = queueOf(task.priority),
): Job {
  const job = common(task, trigger, scheduledAtMs, RUN_OF_OCCURRENCE);
  const runAtMs = trigger === "catch_up" ? nowMs : scheduledAtMs;
  return {
    ...job,
    status: inLine(task),
    queue: trigger === "catch_up" ? oneLaneDown(queue, job.tenantId) : queue,
    runAtMs,
    dueAtMs: Math.max(runAtMs, nowMs),
  };
}

/** A run asked for by hand: due now, under a random run number. */
export function makeManualJob(
  task: DueTask,
  trigger: "manual" | "test",
  nowMs: number,
  run: number,
  payload: Payload | null,
): Job {
  const job = common(task, trigger, nowMs, run);
  return { ...job, status: inLine(task), runAtMs: nowMs, dueAtMs: nowMs, payload };
}

/**
 * The row of runs that do not happen: one occurrence (`covers` null) or several. A row that covers several takes a random run
 * number where the occurrence's own id may exist already.
 */
export function makeSkippedJob(
  task: DueTask,
  scheduledAtMs: number,
  options: {
    reason: string;
    run: number;
    covers: Covers | null;
    nowMs: number;
    retention: Retention;
  },
): Job {
  return {
    ...common(task, "schedule", scheduledAtMs, options.run),
    status: "cancelled",
    limitKey: null,
    runAtMs: scheduledAtMs,
    dueAtMs: Math.max(scheduledAtMs, options.nowMs) + options.retention.endedMs,
    finishedAtMs: options.nowMs,
    reason: options.reason,
    covers: options.covers,
  };
}
