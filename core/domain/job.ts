/** A job: one execution of a task. */
import type { CallError } from "./call-error.ts";
import type { LimitKey } from "./call-limit.ts";
import type { JobId, TaskId, TenantId, WorkerId } from "./ids.ts";
import type { Priority } from "./queue.ts";

export const JOB_STATUSES = [
  "pending",
  "waiting",
  "running",
  "succeeded",
  "dead",
  "cancelled",
] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

export const TRIGGERS = ["schedule", "catch_up", "manual", "test"] as const;
export type Trigger = (typeof TRIGGERS)[number];

export const REASON_PAUSED = "task paused";
export const REASON_DELETED = "task deleted";
export const REASON_MISSED = "missed";
export const REASON_CANCELLED = "cancelled by caller";
export const REASON_USED_UP = "attempts used up";
export const REASON_LOST = "lost";

/** Ms, to a tenth; null for a phase that did not happen (a warm connection dials nothing) or did not end. */
export type AttemptTimings = readonly [
  dnsMs: number | null,
  connectMs: number | null,
  tlsMs: number | null,
  firstByteMs: number | null,
  totalMs: number,
];

/** What is kept of one HTTP call: due at `startedAtMs − lagMs`, over at `startedAtMs + durationMs`. */
export interface AttemptRecord {
  /** Number of the HTTP call, from 1: what was sent as X-Attempt. */
  readonly attempt: number;
  /** When an executor took the job, on the database's clock. */
  readonly claimedAtMs?: number;
  readonly startedAtMs: number;
  /** Sent minus `runAt` of this attempt. */
  readonly lagMs: number;
  readonly durationMs: number;
  readonly statusCode: number | null;
  /** Null when an answer came. */
  readonly error: CallError | null;
  /** First bytes of the response. */
  readonly responseBody: string | null;
  /** Left out when nothing was dialled or sent. */
  readonly timings?: AttemptTimings;
}

/** Several missed runs that one row stands for. */
export interface Covers {
  readonly count: number;
  /** True when counting stopped at its bound: at least `count` runs. */
  readonly atLeast?: boolean;
  readonly fromMs: number;
  readonly toMs: number;
}

/** What a manual run lays over its version's request. */
export interface Payload {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly bodyBase64?: string;
  /** In lists only: the size of a large body, which is not there. */
  readonly bodyBytes?: number;
}

export interface Job {
  readonly id: JobId;
  readonly taskId: TaskId;
  readonly tenantId: TenantId;
  /** The `requestVersion` of its task that it was planned from, which is not the `version`. */
  readonly taskVersion: number;
  readonly trigger: Trigger;
  readonly status: JobStatus;
  readonly priority: Priority;
  readonly queue: number;
  readonly scheduledAtMs: number;
  /** When the next attempt may be sent. */
  readonly runAtMs: number;
  /** When the next service has to look at the row: see docs/state-machine.md. */
  readonly dueAtMs: number;
  /** The fencing token: grows on every claim, never goes back. */
  readonly claimNo: number;
  /** The HTTP call the job is at. */
  readonly attempt: number;
  /** How often a holder died or was stopped with it. */
  readonly lost: number;
  readonly maxAttempts: number;
  readonly timeoutMs: number;
  readonly workerId: WorkerId | null;
  readonly cancelReason: string | null;
  /** By claim number; the newest ATTEMPT_RECORDS_MAX. */
  readonly attempts: Readonly<Record<string, AttemptRecord>>;
  readonly payload: Payload | null;
  readonly finishedAtMs: number | null;
  readonly reason: string | null;
  readonly retryOf: JobId | null;
  readonly covers: Covers | null;
  /** The line in which it waits whenever another would be pending; null: no limit held for it when it was made. */
  readonly limitKey: LimitKey | null;
}

/** How long finished jobs stay in the queue's table before they are archived, in ms. */
export interface Retention {
  readonly succeededMs: number;
  readonly endedMs: number;
}
