/**
 * The job's state machine: docs/state-machine.md as code. `applyEvent` decides every (state, event) pair: it either returns the
 * job as it is afterwards, or refuses. A refusal is a lost race in a worker and a 409 in the API.
 *
 * The memory adapter runs on these functions; the MySQL adapter says the same in guarded statements, and one contract suite
 * holds both to it. Events that begin a job's life are in make-job.ts.
 */
import { unreachable } from "./assert.ts";
import type { LimitKey } from "./call-limit.ts";
import type { WorkerId } from "./ids.ts";
import type { AttemptRecord, Job, JobStatus, Retention } from "./job.ts";
import { REASON_LOST, REASON_PAUSED, REASON_USED_UP } from "./job.ts";
import { ATTEMPT_RECORDS_MAX, BACKSTOP_SLACK_MS, FROZEN_MS, LOST_MAX } from "./limits.ts";
import { oneLaneDown } from "./queue.ts";
import { apartMs } from "./set-apart.ts";

interface Held {
  /** The worker id and claim number under which the reporter holds the job. */
  readonly workerId: WorkerId;
  readonly claimNo: number;
}

export type JobEvent =
  | { readonly kind: "claim"; readonly workerId: WorkerId }
  | { readonly kind: "take-with-slots"; readonly workerId: WorkerId }
  /** `notBeforeMs`: it is not to be tried sooner. */
  | ({ readonly kind: "give-back"; readonly notBeforeMs?: number } & Held)
  | ({ readonly kind: "interrupt"; readonly record: AttemptRecord } & Held)
  | ({ readonly kind: "succeed"; readonly record: AttemptRecord } & Held)
  | ({
      readonly kind: "fail";
      readonly record: AttemptRecord;
      /** When the next attempt may start, if there is one. */
      readonly retryAtMs: number;
      /** Set when no further attempt may be made, whatever is left. */
      readonly finalReason: string | null;
    } & Held)
  | { readonly kind: "rescue"; readonly claimNo: number }
  | { readonly kind: "cancel"; readonly reason: string }
  /** Of the task by now; `limitKey` is the line of its jobs. */
  | {
      readonly kind: "resume";
      readonly taskVersion: number;
      readonly timeoutMs: number;
      readonly moreAttempts: number;
      readonly limitKey: LimitKey | null;
    }
  | { readonly kind: "remove-planned" }
  /** `delayMs` (0 when left out) spaces the jobs of a large retry; `queue` and `limitKey`, the line by now, are the job's own when left out. */
  | {
      readonly kind: "retry";
      readonly moreAttempts: number;
      readonly delayMs?: number;
      readonly queue?: number;
      readonly limitKey?: LimitKey | null;
    }
  /** Its endpoint, or its tenant, has a limit from now on. */
  | { readonly kind: "line-up"; readonly limitKey: LimitKey }
  /** The limit of its line is gone; `limitKey` is its tenant's where that has one. */
  | { readonly kind: "release-limit"; readonly limitKey: LimitKey | null }
  /** What the archiver read and copied; any change since keeps the row. */
  | {
      readonly kind: "archive";
      readonly status: JobStatus;
      readonly claimNo: number;
      readonly dueAtMs: number;
    };

export type Transition =
  | { readonly kind: "moved"; readonly job: Job }
  | { readonly kind: "removed" }
  | { readonly kind: "refused" };

export interface Context {
  /** The database's now. */
  readonly nowMs: number;
  readonly retention: Retention;
}

const REFUSED: Transition = { kind: "refused" };
const REMOVED: Transition = { kind: "removed" };
const FINISHED: readonly JobStatus[] = ["succeeded", "dead", "cancelled"];

/** Whether a job has ended; a dead or cancelled one can still be revived by a late success, a retry or a resume. */
export function isFinished(status: JobStatus): boolean {
  return FINISHED.includes(status);
}

/** Decides one event on one job. Pure; legal pairs are the table in docs/state-machine.md, every other is refused. */
export function applyEvent(job: Job, event: JobEvent, context: Context): Transition {
  switch (event.kind) {
    case "claim":
      return job.status === "pending" ? moved(claimed(job, event.workerId, context)) : REFUSED;
    case "take-with-slots":
      return job.status === "waiting" ? moved(claimed(job, event.workerId, context)) : REFUSED;
    case "give-back":
      return giveBack(job, event, context);
    case "interrupt":
      return isHeldBy(job, event) && job.status === "running"
        ? moved({ ...rescued(recorded(job, event.record), context), workerId: null })
        : REFUSED;
    case "succeed":
      return succeed(job, event, context);
    case "fail":
      return fail(job, event, context);
    case "rescue":
      return job.status === "running" && job.claimNo === event.claimNo
        ? moved(setApart(rescued(job, context), context))
        : REFUSED;
    case "cancel":
      return cancel(job, event.reason, context);
    case "resume":
      return resume(job, event, context);
    case "remove-planned":
      return isPlanned(job) && job.scheduledAtMs > context.nowMs + FROZEN_MS ? REMOVED : REFUSED;
    case "retry":
      return retry(job, event, context);
    case "line-up":
      // A rescue names the last holder still, whose late answer counts: it would not take the job out of a line that it did not come from.
      return (job.status === "pending" && job.workerId === null) || job.status === "waiting"
        ? moved({ ...job, status: "waiting", limitKey: event.limitKey })
        : REFUSED;
    case "release-limit":
      return job.status === "waiting"
        ? moved(eligible({ ...job, limitKey: event.limitKey }, context))
        : REFUSED;
    case "archive":
      return isFinished(job.status) &&
        job.dueAtMs <= context.nowMs &&
        job.status === event.status &&
        job.claimNo === event.claimNo &&
        job.dueAtMs === event.dueAtMs
        ? REMOVED
        : REFUSED;
    default:
      return unreachable(event);
  }
}

function moved(job: Job): Transition {
  return { kind: "moved", job };
}

function isHeldBy(job: Job, held: Held): boolean {
  return job.workerId === held.workerId && job.claimNo === held.claimNo;
}

/** Made by the schedule, never claimed, not begun. */
function isPlanned(job: Job): boolean {
  return (
    (job.status === "pending" || job.status === "waiting") &&
    job.trigger === "schedule" &&
    job.claimNo === 0
  );
}

function claimed(job: Job, workerId: WorkerId, { nowMs }: Context): Job {
  return {
    ...job,
    status: "running",
    workerId,
    claimNo: job.claimNo + 1,
    attempt: job.attempt + 1,
    dueAtMs: Math.max(job.runAtMs, nowMs) + job.timeoutMs + BACKSTOP_SLACK_MS,
  };
}

/** Back in line: claimable, or waiting for a slot of its limit. */
function eligible(job: Job, context: Context): Job {
  return {
    ...job,
    status: job.limitKey === null ? "pending" : "waiting",
    dueAtMs: Math.max(job.runAtMs, context.nowMs),
  };
}

function ended(
  job: Job,
  status: "succeeded" | "dead" | "cancelled",
  reason: string | null,
  context: Context,
): Job {
  const keptMs = status === "succeeded" ? context.retention.succeededMs : context.retention.endedMs;
  return {
    ...job,
    status,
    reason,
    finishedAtMs: context.nowMs,
    dueAtMs: Math.max(job.scheduledAtMs, context.nowMs) + keptMs,
  };
}

/** Where a job goes that is not done: cancelled when a pause, delete or cancel has marked it, else back in line. */
function backOrCancelled(job: Job, context: Context): Job {
  return job.cancelReason === null
    ? eligible(job, context)
    : ended(job, "cancelled", job.cancelReason, context);
}

function giveBack(
  job: Job,
  event: Extract<JobEvent, { kind: "give-back" }>,
  context: Context,
): Transition {
  if (job.status !== "running" || !isHeldBy(job, event)) return REFUSED;
  const runAtMs = Math.max(job.runAtMs, event.notBeforeMs ?? job.runAtMs);
  const given = { ...job, attempt: job.attempt - 1, workerId: null, runAtMs };
  return moved(backOrCancelled(given, context));
}

/** Adds the attempt's record under the claim number; the oldest goes when there are too many. Claims given back leave gaps. */
function recorded(job: Job, record: AttemptRecord): Job {
  const claims = Object.keys(job.attempts).map(Number);
  const attempts: Record<string, AttemptRecord> = { ...job.attempts, [job.claimNo]: record };
  if (claims.length >= ATTEMPT_RECORDS_MAX) delete attempts[Math.min(...claims)];
  return { ...job, attempts };
}

function succeed(
  job: Job,
  event: Extract<JobEvent, { kind: "succeed" }>,
  context: Context,
): Transition {
  if (job.status === "succeeded" || !isHeldBy(job, event)) return REFUSED;
  return moved(
    ended({ ...recorded(job, event.record), workerId: null }, "succeeded", null, context),
  );
}

/** `attempt − lost` is the row's own, so a failure that is reported after a rescue costs nothing. */
function fail(job: Job, event: Extract<JobEvent, { kind: "fail" }>, context: Context): Transition {
  if (isFinished(job.status) || !isHeldBy(job, event)) return REFUSED;
  const after: Job = { ...recorded(job, event.record), workerId: null };
  if (event.finalReason !== null) return moved(ended(after, "dead", event.finalReason, context));
  if (job.attempt - job.lost >= job.maxAttempts)
    return moved(ended(after, "dead", REASON_USED_UP, context));
  return moved(
    backOrCancelled(
      { ...after, runAtMs: event.retryAtMs, queue: oneLaneDown(job.queue, job.tenantId) },
      context,
    ),
  );
}

/** The holder is gone. `workerId` stays: its answer still counts until somebody claims the job again. */
function rescued(job: Job, context: Context): Job {
  const after: Job = { ...job, lost: job.lost + 1 };
  if (after.cancelReason !== null) return ended(after, "cancelled", after.cancelReason, context);
  if (after.lost >= LOST_MAX) return ended(after, "dead", REASON_LOST, context);
  return eligible(after, context);
}

/** Of what is in line again: see set-apart.ts. */
function setApart(job: Job, context: Context): Job {
  if (job.status !== "pending" && job.status !== "waiting") return job;
  return { ...job, dueAtMs: Math.max(job.runAtMs, context.nowMs + apartMs(job)) };
}

/** Ends what has not begun; marks what runs. A pause never replaces another mark. */
function cancel(job: Job, reason: string, context: Context): Transition {
  if (job.status === "pending" || job.status === "waiting")
    return moved(ended(job, "cancelled", reason, context));
  if (job.status !== "running") return REFUSED;
  if (reason === REASON_PAUSED && job.cancelReason !== null) return REFUSED;
  return moved({ ...job, cancelReason: reason });
}

/** Takes a pause back: from what still runs, and from what it cancelled and is not due yet. */
function resume(
  job: Job,
  { taskVersion, timeoutMs, moreAttempts, limitKey }: Extract<JobEvent, { kind: "resume" }>,
  context: Context,
): Transition {
  if (job.status === "running")
    return job.cancelReason === REASON_PAUSED ? moved({ ...job, cancelReason: null }) : REFUSED;
  if (job.status !== "cancelled" || job.reason !== REASON_PAUSED) return REFUSED;
  if (job.trigger !== "schedule" || job.scheduledAtMs <= context.nowMs) return REFUSED;
  if (job.claimNo === 0) return REMOVED;
  const revived: Job = {
    ...job,
    taskVersion,
    timeoutMs,
    maxAttempts: job.attempt - job.lost + moreAttempts,
    limitKey,
    runAtMs: job.scheduledAtMs,
    reason: null,
    cancelReason: null,
    finishedAtMs: null,
    workerId: null,
  };
  return moved(eligible(revived, context));
}

function retry(
  job: Job,
  retried: Extract<JobEvent, { kind: "retry" }>,
  context: Context,
): Transition {
  if (job.status !== "dead") return REFUSED;
  const { moreAttempts, delayMs = 0, queue = job.queue, limitKey = job.limitKey } = retried;
  const revived: Job = {
    ...job,
    lost: 0,
    maxAttempts: job.attempt + moreAttempts,
    runAtMs: context.nowMs + delayMs,
    queue,
    limitKey,
    workerId: null,
    reason: null,
    cancelReason: null,
    finishedAtMs: null,
  };
  return moved(eligible(revived, context));
}
