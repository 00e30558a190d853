/** Jobs in every state and the events that befall them, for the tests of the state machine. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LimitKey } from "#core/domain/call-limit.ts";
import type { TenantId, WorkerId } from "#core/domain/ids.ts";
import { makeTaskId } from "#core/domain/ids.ts";
import type { AttemptRecord, Job } from "#core/domain/job.ts";
import {
  REASON_CANCELLED,
  REASON_DELETED,
  REASON_LOST,
  REASON_MISSED,
  REASON_PAUSED,
  REASON_USED_UP,
} from "#core/domain/job.ts";
import type { Context, JobEvent } from "#core/domain/job-state.ts";
import { applyEvent } from "#core/domain/job-state.ts";
import { FROZEN_MS } from "#core/domain/limits.ts";
import { makeScheduledJob } from "#core/domain/make-job.ts";

export const NOW = Date.UTC(2026, 5, 1, 9, 0, 0);
const HOUR = 3_600_000;
export const LATER = NOW + HOUR;
const PAST = NOW - 5_000;
export const TIMEOUT = 30_000;
const W = "00".repeat(16) as WorkerId;
export const OTHER = "01".repeat(16) as WorkerId;
const KEPT = { succeededMs: 1_000, endedMs: 2_000 };
export const LINE = "acme|https://example.com:443" as LimitKey;
export const CONTEXT: Context = { nowMs: NOW, retention: KEPT };

export const RECORD: AttemptRecord = {
  attempt: 2,
  startedAtMs: PAST,
  lagMs: 3,
  durationMs: 40,
  statusCode: 500,
  error: null,
  responseBody: "no",
};

function job(scheduledAtMs: number, changes: Partial<Job> = {}): Job {
  const made = makeScheduledJob(
    {
      id: makeTaskId(NOW, 7, new Uint8Array(8)),
      tenantId: "acme" as TenantId,
      schedule: { type: "every", seconds: 60, anchor: "1970-01-01T00:00:00.000Z" },
      priority: "normal",
      catchUp: "all",
      startAtMs: null,
      endAtMs: null,
      nextRunAtMs: scheduledAtMs,
      requestVersion: 1,
      timeoutMs: TIMEOUT,
      maxAttempts: 5,
    },
    "schedule",
    scheduledAtMs,
    PAST,
  );
  return { ...made, ...changes };
}

/** In W's hands under claim 2, at its second attempt. */
export function running(changes: Partial<Job> = {}, scheduledAtMs = PAST): Job {
  return job(scheduledAtMs, {
    status: "running",
    claimNo: 2,
    attempt: 2,
    workerId: W,
    dueAtMs: LATER,
    attempts: { "1": { ...RECORD, attempt: 1 } },
    ...changes,
  });
}

function finished(status: Job["status"], changes: Partial<Job>, scheduledAtMs = PAST): Job {
  const attempts = changes.claimNo === 0 ? {} : { "1": RECORD };
  const base = { status, claimNo: 2, attempt: 2, attempts, finishedAtMs: PAST, dueAtMs: NOW };
  return job(scheduledAtMs, { ...base, ...changes });
}

const PAUSED = { reason: REASON_PAUSED };

/** Every status, in the sub-states that decide something. */
export const STATES = {
  "pending: planned": job(LATER),
  "pending: planned, just not frozen": job(NOW + FROZEN_MS + 1),
  "pending: frozen": job(NOW + FROZEN_MS),
  "pending: due": job(PAST),
  "pending: claimed before": job(LATER, { claimNo: 2 }),
  "pending: retried": job(PAST, { claimNo: 2, attempt: 2, runAtMs: LATER, dueAtMs: LATER }),
  "pending: rescued": job(PAST, { claimNo: 2, attempt: 2, lost: 1, workerId: W }),
  "pending: manual": job(LATER, { trigger: "manual" }),
  "pending: catch-up": job(LATER, { trigger: "catch_up" }),
  "waiting: planned": job(LATER, { status: "waiting", limitKey: LINE }),
  "waiting: rescued": job(PAST, {
    status: "waiting",
    limitKey: LINE,
    claimNo: 2,
    attempt: 2,
    lost: 1,
    workerId: W,
  }),
  running: running(),
  "running: ahead of its time": running({}, LATER),
  "running: paused": running({ cancelReason: REASON_PAUSED }),
  "running: deleted": running({ cancelReason: REASON_DELETED }),
  "running: last attempt": running({ attempt: 5 }),
  "running: last attempt, paused": running({ attempt: 5, cancelReason: REASON_PAUSED }),
  "running: fifth attempt, one lost": running({ attempt: 5, lost: 1 }),
  "running: lost four times": running({ attempt: 6, lost: 4 }),
  "running: lost four times, paused": running({
    attempt: 6,
    lost: 4,
    cancelReason: REASON_PAUSED,
  }),
  succeeded: finished("succeeded", {}),
  dead: finished("dead", { attempt: 5, reason: REASON_USED_UP }),
  "dead: holder named": finished("dead", { lost: 5, reason: REASON_LOST, workerId: W }),
  "cancelled: paused, never claimed, ahead": finished(
    "cancelled",
    { ...PAUSED, claimNo: 0 },
    LATER,
  ),
  "cancelled: paused, never claimed, passed": finished("cancelled", { ...PAUSED, claimNo: 0 }),
  "cancelled: paused, never claimed, due this instant": finished(
    "cancelled",
    { ...PAUSED, claimNo: 0 },
    NOW,
  ),
  "cancelled: paused, claimed, ahead": finished(
    "cancelled",
    { ...PAUSED, cancelReason: REASON_PAUSED },
    LATER,
  ),
  "cancelled: paused, holder named, ahead": finished(
    "cancelled",
    { ...PAUSED, workerId: W },
    LATER,
  ),
  "cancelled: paused, claimed, passed": finished("cancelled", PAUSED),
  "cancelled: paused, manual, ahead": finished(
    "cancelled",
    { ...PAUSED, trigger: "manual", claimNo: 0 },
    LATER,
  ),
  "cancelled: deleted, ahead": finished("cancelled", { reason: REASON_DELETED, claimNo: 0 }, LATER),
  "cancelled: missed": finished("cancelled", { reason: REASON_MISSED, claimNo: 0 }),
} satisfies Record<string, Job>;
type StateName = keyof typeof STATES;

const HELD = { workerId: W, claimNo: 2 };
const STALE = { workerId: W, claimNo: 1 };
const NEWER = { workerId: W, claimNo: 3 };
const STRANGER = { workerId: OTHER, claimNo: 2 };
const RETRY = { retryAtMs: LATER, finalReason: null, record: RECORD };

/** What the worker that holds a job, held it or would hold it does; and what is done for one that is gone. */
export const HOLDER_EVENTS = {
  claim: { kind: "claim", workerId: OTHER },
  "take with slots": { kind: "take-with-slots", workerId: OTHER },
  "give back": { kind: "give-back", ...HELD },
  "give back, stale": { kind: "give-back", ...STALE },
  "give back, newer": { kind: "give-back", ...NEWER },
  "give back, stranger": { kind: "give-back", ...STRANGER },
  interrupt: { kind: "interrupt", ...HELD, record: RECORD },
  "interrupt, stale": { kind: "interrupt", ...STALE, record: RECORD },
  "interrupt, stranger": { kind: "interrupt", ...STRANGER, record: RECORD },
  succeed: { kind: "succeed", ...HELD, record: RECORD },
  "succeed, stale": { kind: "succeed", ...STALE, record: RECORD },
  "succeed, newer": { kind: "succeed", ...NEWER, record: RECORD },
  "succeed, stranger": { kind: "succeed", ...STRANGER, record: RECORD },
  fail: { kind: "fail", ...HELD, ...RETRY },
  "fail, final": { kind: "fail", ...HELD, ...RETRY, finalReason: "gone" },
  "fail, stale": { kind: "fail", ...STALE, ...RETRY },
  "fail, final, stale": { kind: "fail", ...STALE, ...RETRY, finalReason: "gone" },
  "fail, stranger": { kind: "fail", ...STRANGER, ...RETRY },
  rescue: { kind: "rescue", claimNo: 2 },
  "rescue, stale": { kind: "rescue", claimNo: 1 },
} satisfies Record<string, JobEvent>;

/** What a resume finds of the task. */
export const PRESENT = { taskVersion: 9, timeoutMs: 7_000, moreAttempts: 8 };

/** What its task, the caller or a limit does to it. */
export const TASK_EVENTS = {
  pause: { kind: "cancel", reason: REASON_PAUSED },
  delete: { kind: "cancel", reason: REASON_DELETED },
  "cancel by the caller": { kind: "cancel", reason: REASON_CANCELLED },
  resume: { kind: "resume", ...PRESENT, limitKey: null },
  "remove planned": { kind: "remove-planned" },
  retry: { kind: "retry", moreAttempts: 3 },
  "line up": { kind: "line-up", limitKey: LINE },
  "release limit": { kind: "release-limit", limitKey: null },
} satisfies Record<string, JobEvent>;

export type Outcome = Partial<Job> | "removed";
/** What an event makes of each state. A state that is not here refuses it. */
export type Row = Partial<Record<StateName, Outcome>>;

/** What changes when it ends so, its own time having been `atMs`. */
export function ended(status: Job["status"], reason: string | null, atMs = NOW): Partial<Job> {
  const keptMs = status === "succeeded" ? KEPT.succeededMs : KEPT.endedMs;
  return { status, reason, finishedAtMs: NOW, dueAtMs: atMs + keptMs };
}

/** A test for each event: of every state it makes what its row says, or nothing. */
export function testEvents<E extends string>(
  events: Readonly<Record<E, JobEvent>>,
  table: Readonly<Record<E, Row>>,
): void {
  for (const [eventName, event] of Object.entries<JobEvent>(events))
    test(eventName, () => {
      const row = table[eventName as E];
      for (const [stateName, before] of Object.entries(STATES)) {
        const expected = row[stateName as StateName];
        const after = applyEvent(deepFreeze(before), event, CONTEXT);
        const told = `${stateName} + ${eventName}`;
        if (expected === undefined) assert.deepEqual(after, { kind: "refused" }, told);
        else if (expected === "removed") assert.deepEqual(after, { kind: "removed" }, told);
        else assert.deepEqual(after, { kind: "moved", job: { ...before, ...expected } }, told);
      }
    });
}

/** A write to the job that an event is applied to would throw. */
function deepFreeze(frozen: Job): Job {
  Object.values(frozen.attempts).forEach(Object.freeze);
  Object.freeze(frozen.attempts);
  return Object.freeze(frozen);
}
