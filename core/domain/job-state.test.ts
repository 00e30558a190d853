import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LimitKey } from "./call-limit.ts";
import type { TenantId, WorkerId } from "./ids.ts";
import { makeTaskId } from "./ids.ts";
import type { AttemptRecord, Job } from "./job.ts";
import {
  JOB_STATUSES,
  REASON_CANCELLED,
  REASON_DELETED,
  REASON_LOST,
  REASON_MISSED,
  REASON_PAUSED,
  REASON_USED_UP,
} from "./job.ts";
import type { Context, JobEvent } from "./job-state.ts";
import { applyEvent, isFinished } from "./job-state.ts";
import { ATTEMPT_RECORDS_MAX, BACKSTOP_SLACK_MS, FROZEN_MS } from "./limits.ts";
import { makeScheduledJob } from "./make-job.ts";

const NOW = Date.UTC(2026, 5, 1, 9, 0, 0);
const HOUR = 3_600_000;
const LATER = NOW + HOUR;
const PAST = NOW - 5_000;
const TIMEOUT = 30_000;
const W = "00".repeat(16) as WorkerId;
const OTHER = "01".repeat(16) as WorkerId;
const KEPT = { succeededMs: 1_000, endedMs: 2_000 };
const LINE = "acme|https://example.com:443" as LimitKey;
const CONTEXT: Context = { nowMs: NOW, retention: KEPT };

const RECORD: AttemptRecord = {
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
function running(changes: Partial<Job> = {}, scheduledAtMs = PAST): Job {
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
const STATES = {
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

const EVENTS = {
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
  pause: { kind: "cancel", reason: REASON_PAUSED },
  delete: { kind: "cancel", reason: REASON_DELETED },
  "cancel by the caller": { kind: "cancel", reason: REASON_CANCELLED },
  resume: { kind: "resume", taskVersion: 9, limitKey: null },
  "remove planned": { kind: "remove-planned" },
  retry: { kind: "retry", moreAttempts: 3 },
  "line up": { kind: "line-up", limitKey: LINE },
  "release limit": { kind: "release-limit", limitKey: null },
} satisfies Record<string, JobEvent>;
type EventName = keyof typeof EVENTS;

type Outcome = Partial<Job> | "removed";
type Row = Partial<Record<StateName, Outcome>>;

const BACKSTOP = NOW + TIMEOUT + BACKSTOP_SLACK_MS;
const BACKSTOP_AHEAD = LATER + TIMEOUT + BACKSTOP_SLACK_MS;
const BACK = { status: "pending", workerId: null } as const;
const RECORDED = { attempts: { "1": { ...RECORD, attempt: 1 }, "2": RECORD }, workerId: null };
/** The records of a job that had none. */
const RECORDED_FIRST = { attempts: { "2": RECORD }, workerId: null };
const RECORDED_AGAIN = { attempts: { "1": RECORD, "2": RECORD }, workerId: null };
const LANE_1 = 33;
const LINED_UP = { status: "waiting", limitKey: LINE } as const;

function ended(status: Job["status"], reason: string | null, atMs = NOW): Partial<Job> {
  const keptMs = status === "succeeded" ? KEPT.succeededMs : KEPT.endedMs;
  return { status, reason, finishedAtMs: NOW, dueAtMs: atMs + keptMs };
}

const taken = (claimNo: number, attempt: number, dueAtMs: number): Outcome => ({
  status: "running",
  workerId: OTHER,
  claimNo,
  attempt,
  dueAtMs,
});
const cancels = (reason: string): Row => ({
  "pending: planned": ended("cancelled", reason, LATER),
  "pending: planned, just not frozen": ended("cancelled", reason, NOW + FROZEN_MS + 1),
  "pending: frozen": ended("cancelled", reason, NOW + FROZEN_MS),
  "pending: due": ended("cancelled", reason),
  "pending: claimed before": ended("cancelled", reason, LATER),
  "pending: retried": ended("cancelled", reason),
  "pending: rescued": ended("cancelled", reason),
  "pending: manual": ended("cancelled", reason, LATER),
  "pending: catch-up": ended("cancelled", reason, LATER),
  "waiting: planned": ended("cancelled", reason, LATER),
  "waiting: rescued": ended("cancelled", reason),
  running: { cancelReason: reason },
  "running: ahead of its time": { cancelReason: reason },
  "running: last attempt": { cancelReason: reason },
  "running: fifth attempt, one lost": { cancelReason: reason },
  "running: lost four times": { cancelReason: reason },
});
const replacesMarks = (reason: string): Row => ({
  "running: paused": { cancelReason: reason },
  "running: deleted": { cancelReason: reason },
  "running: last attempt, paused": { cancelReason: reason },
  "running: lost four times, paused": { cancelReason: reason },
});
const again = { ...BACK, runAtMs: LATER, dueAtMs: LATER, queue: LANE_1 };

/** What each event makes of each state. A pair that is not here is refused. */
const TABLE: Record<EventName, Row> = {
  claim: {
    "pending: planned": taken(1, 1, BACKSTOP_AHEAD),
    "pending: planned, just not frozen": taken(1, 1, BACKSTOP + FROZEN_MS + 1),
    "pending: frozen": taken(1, 1, BACKSTOP + FROZEN_MS),
    "pending: due": taken(1, 1, BACKSTOP),
    "pending: claimed before": taken(3, 1, BACKSTOP_AHEAD),
    "pending: retried": taken(3, 3, BACKSTOP_AHEAD),
    "pending: rescued": taken(3, 3, BACKSTOP),
    "pending: manual": taken(1, 1, BACKSTOP_AHEAD),
    "pending: catch-up": taken(1, 1, BACKSTOP_AHEAD),
  },
  "take with slots": {
    "waiting: planned": taken(1, 1, BACKSTOP_AHEAD),
    "waiting: rescued": taken(3, 3, BACKSTOP),
  },
  "give back": {
    running: { ...BACK, attempt: 1, dueAtMs: NOW },
    "running: ahead of its time": { ...BACK, attempt: 1, dueAtMs: LATER },
    "running: paused": { ...ended("cancelled", REASON_PAUSED), attempt: 1, workerId: null },
    "running: deleted": { ...ended("cancelled", REASON_DELETED), attempt: 1, workerId: null },
    "running: last attempt": { ...BACK, attempt: 4, dueAtMs: NOW },
    "running: last attempt, paused": {
      ...ended("cancelled", REASON_PAUSED),
      attempt: 4,
      workerId: null,
    },
    "running: fifth attempt, one lost": { ...BACK, attempt: 4, dueAtMs: NOW },
    "running: lost four times": { ...BACK, attempt: 5, dueAtMs: NOW },
    "running: lost four times, paused": {
      ...ended("cancelled", REASON_PAUSED),
      attempt: 5,
      workerId: null,
    },
  },
  "give back, stale": {},
  "give back, newer": {},
  "give back, stranger": {},
  interrupt: {
    running: { ...BACK, ...RECORDED, lost: 1, dueAtMs: NOW },
    "running: ahead of its time": { ...BACK, ...RECORDED, lost: 1, dueAtMs: LATER },
    "running: paused": { ...ended("cancelled", REASON_PAUSED), ...RECORDED, lost: 1 },
    "running: deleted": { ...ended("cancelled", REASON_DELETED), ...RECORDED, lost: 1 },
    "running: last attempt": { ...BACK, ...RECORDED, lost: 1, dueAtMs: NOW },
    "running: last attempt, paused": { ...ended("cancelled", REASON_PAUSED), ...RECORDED, lost: 1 },
    "running: fifth attempt, one lost": { ...BACK, ...RECORDED, lost: 2, dueAtMs: NOW },
    "running: lost four times": { ...ended("dead", REASON_LOST), ...RECORDED, lost: 5 },
    "running: lost four times, paused": {
      ...ended("cancelled", REASON_PAUSED),
      ...RECORDED,
      lost: 5,
    },
  },
  "interrupt, stale": {},
  "interrupt, stranger": {},
  succeed: {
    "pending: rescued": { ...ended("succeeded", null), ...RECORDED_FIRST },
    "waiting: rescued": { ...ended("succeeded", null), ...RECORDED_FIRST },
    running: { ...ended("succeeded", null), ...RECORDED },
    "running: ahead of its time": { ...ended("succeeded", null, LATER), ...RECORDED },
    "running: paused": { ...ended("succeeded", null), ...RECORDED },
    "running: deleted": { ...ended("succeeded", null), ...RECORDED },
    "running: last attempt": { ...ended("succeeded", null), ...RECORDED },
    "running: last attempt, paused": { ...ended("succeeded", null), ...RECORDED },
    "running: fifth attempt, one lost": { ...ended("succeeded", null), ...RECORDED },
    "running: lost four times": { ...ended("succeeded", null), ...RECORDED },
    "running: lost four times, paused": { ...ended("succeeded", null), ...RECORDED },
    "dead: holder named": { ...ended("succeeded", null), ...RECORDED_AGAIN },
    "cancelled: paused, holder named, ahead": {
      ...ended("succeeded", null, LATER),
      ...RECORDED_AGAIN,
    },
  },
  "succeed, stale": {},
  "succeed, newer": {},
  "succeed, stranger": {},
  fail: {
    "pending: rescued": { ...again, ...RECORDED_FIRST },
    "waiting: rescued": { ...again, ...RECORDED_FIRST, status: "waiting" },
    running: { ...again, ...RECORDED },
    "running: ahead of its time": { ...again, ...RECORDED },
    "running: paused": {
      ...ended("cancelled", REASON_PAUSED),
      ...RECORDED,
      runAtMs: LATER,
      queue: LANE_1,
    },
    "running: deleted": {
      ...ended("cancelled", REASON_DELETED),
      ...RECORDED,
      runAtMs: LATER,
      queue: LANE_1,
    },
    "running: last attempt": { ...ended("dead", REASON_USED_UP), ...RECORDED },
    "running: last attempt, paused": { ...ended("dead", REASON_USED_UP), ...RECORDED },
    "running: fifth attempt, one lost": { ...again, ...RECORDED },
    "running: lost four times": { ...again, ...RECORDED },
    "running: lost four times, paused": {
      ...ended("cancelled", REASON_PAUSED),
      ...RECORDED,
      runAtMs: LATER,
      queue: LANE_1,
    },
  },
  "fail, final": {
    "pending: rescued": { ...ended("dead", "gone"), ...RECORDED_FIRST },
    "waiting: rescued": { ...ended("dead", "gone"), ...RECORDED_FIRST },
    running: { ...ended("dead", "gone"), ...RECORDED },
    "running: ahead of its time": { ...ended("dead", "gone", LATER), ...RECORDED },
    "running: paused": { ...ended("dead", "gone"), ...RECORDED },
    "running: deleted": { ...ended("dead", "gone"), ...RECORDED },
    "running: last attempt": { ...ended("dead", "gone"), ...RECORDED },
    "running: last attempt, paused": { ...ended("dead", "gone"), ...RECORDED },
    "running: fifth attempt, one lost": { ...ended("dead", "gone"), ...RECORDED },
    "running: lost four times": { ...ended("dead", "gone"), ...RECORDED },
    "running: lost four times, paused": { ...ended("dead", "gone"), ...RECORDED },
  },
  "fail, stale": {},
  "fail, final, stale": {},
  "fail, stranger": {},
  rescue: {
    running: { status: "pending", lost: 1, dueAtMs: NOW },
    "running: ahead of its time": { status: "pending", lost: 1, dueAtMs: LATER },
    "running: paused": { ...ended("cancelled", REASON_PAUSED), lost: 1 },
    "running: deleted": { ...ended("cancelled", REASON_DELETED), lost: 1 },
    "running: last attempt": { status: "pending", lost: 1, dueAtMs: NOW },
    "running: last attempt, paused": { ...ended("cancelled", REASON_PAUSED), lost: 1 },
    "running: fifth attempt, one lost": { status: "pending", lost: 2, dueAtMs: NOW },
    "running: lost four times": { ...ended("dead", REASON_LOST), lost: 5 },
    "running: lost four times, paused": { ...ended("cancelled", REASON_PAUSED), lost: 5 },
  },
  "rescue, stale": {},
  pause: cancels(REASON_PAUSED),
  delete: { ...cancels(REASON_DELETED), ...replacesMarks(REASON_DELETED) },
  "cancel by the caller": { ...cancels(REASON_CANCELLED), ...replacesMarks(REASON_CANCELLED) },
  resume: {
    "running: paused": { cancelReason: null },
    "running: last attempt, paused": { cancelReason: null },
    "running: lost four times, paused": { cancelReason: null },
    "cancelled: paused, never claimed, ahead": "removed",
    "cancelled: paused, claimed, ahead": {
      ...BACK,
      taskVersion: 9,
      runAtMs: LATER,
      dueAtMs: LATER,
      reason: null,
      cancelReason: null,
      finishedAtMs: null,
    },
    "cancelled: paused, holder named, ahead": {
      ...BACK,
      taskVersion: 9,
      runAtMs: LATER,
      dueAtMs: LATER,
      reason: null,
      cancelReason: null,
      finishedAtMs: null,
    },
  },
  "remove planned": {
    "pending: planned": "removed",
    "pending: planned, just not frozen": "removed",
    "waiting: planned": "removed",
  },
  retry: {
    dead: {
      ...BACK,
      lost: 0,
      maxAttempts: 8,
      runAtMs: NOW,
      dueAtMs: NOW,
      reason: null,
      finishedAtMs: null,
    },
    "dead: holder named": {
      ...BACK,
      lost: 0,
      maxAttempts: 5,
      runAtMs: NOW,
      dueAtMs: NOW,
      reason: null,
      finishedAtMs: null,
    },
  },
  "line up": {
    "pending: planned": LINED_UP,
    "pending: planned, just not frozen": LINED_UP,
    "pending: frozen": LINED_UP,
    "pending: due": LINED_UP,
    "pending: claimed before": LINED_UP,
    "pending: retried": LINED_UP,
    "pending: rescued": LINED_UP,
    "pending: manual": LINED_UP,
    "pending: catch-up": LINED_UP,
    "waiting: planned": {},
    "waiting: rescued": {},
  },
  "release limit": {
    "waiting: planned": { status: "pending", limitKey: null },
    "waiting: rescued": { status: "pending", limitKey: null, dueAtMs: NOW },
  },
};

describe("every state with every event", () => {
  test("the states are of every status, and the events of every kind", () => {
    const statuses = new Set(Object.values(STATES).map(({ status }) => status));
    assert.deepEqual([...statuses].sort(), [...JOB_STATUSES].sort());
    const kinds: Record<JobEvent["kind"], number> = {
      claim: 1,
      "take-with-slots": 1,
      "give-back": 4,
      interrupt: 3,
      succeed: 4,
      fail: 5,
      rescue: 2,
      cancel: 3,
      resume: 1,
      "remove-planned": 1,
      retry: 1,
      "line-up": 1,
      "release-limit": 1,
      archive: 0,
    };
    for (const [kind, count] of Object.entries(kinds)) {
      const listed = Object.values(EVENTS).filter((event) => event.kind === kind);
      assert.equal(listed.length, count, kind);
    }
  });

  for (const [eventName, event] of Object.entries(EVENTS)) {
    test(eventName, () => {
      const row = TABLE[eventName as EventName];
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

  test("of a task with a limit, whatever would be pending again is waiting", () => {
    for (const [eventName, free] of Object.entries(EVENTS)) {
      const event = "limitKey" in free ? { ...free, limitKey: LINE } : free;
      for (const [stateName, before] of Object.entries(STATES)) {
        const told = `${stateName} + ${eventName}`;
        const without = applyEvent({ ...before, limitKey: null }, free, CONTEXT);
        const within = applyEvent({ ...before, limitKey: LINE }, event, CONTEXT);
        assert.equal(within.kind, without.kind, told);
        if (within.kind !== "moved" || without.kind !== "moved") continue;
        const { status } = without.job;
        const expected = { ...without.job, status: status === "pending" ? "waiting" : status };
        assert.deepEqual(within.job, { ...expected, limitKey: LINE }, told);
      }
    }
  });

  test("a resume gives a job the line of its task as it is by then, a release that of its tenant or none", () => {
    const other = "acme" as LimitKey;
    const resumed = applyEvent(
      { ...STATES["cancelled: paused, claimed, ahead"], limitKey: LINE },
      { kind: "resume", taskVersion: 9, limitKey: other },
      CONTEXT,
    );
    assert(resumed.kind === "moved");
    assert.deepEqual([resumed.job.status, resumed.job.limitKey], ["waiting", other]);
    const waiting = STATES["waiting: rescued"];
    for (const limitKey of [other, null]) {
      const released = applyEvent(waiting, { kind: "release-limit", limitKey }, CONTEXT);
      const status = limitKey === null ? "pending" : "waiting";
      const job = { ...waiting, status, limitKey, dueAtMs: NOW };
      assert.deepEqual(released, { kind: "moved", job });
    }
  });
});

test("the newest records are kept: with as many as there may be, the lowest claim goes", () => {
  const kept = (claims: readonly number[]) => {
    const attempts = Object.fromEntries(claims.map((claimNo) => [claimNo, RECORD]));
    const before = running({ attempts, claimNo: 200 });
    const after = applyEvent(before, { ...EVENTS.succeed, claimNo: 200 }, CONTEXT);
    assert(after.kind === "moved");
    return Object.keys(after.job.attempts).map(Number);
  };
  const claims = [3, 7, ...Array.from({ length: ATTEMPT_RECORDS_MAX - 2 }, (_, i) => 90 + i)];
  assert.deepEqual(kept(claims), [...claims.slice(1), 200]);
  assert.deepEqual(kept(claims.slice(1)), [...claims.slice(1), 200]);
});

describe("archive", () => {
  const asRead = ({ status, claimNo, dueAtMs }: Job): JobEvent => {
    return { kind: "archive", status, claimNo, dueAtMs };
  };

  test("finished and due: removed; any other status is refused", () => {
    for (const [name, state] of Object.entries(STATES)) {
      const before = { ...state, dueAtMs: NOW };
      const kind = isFinished(state.status) ? "removed" : "refused";
      assert.equal(applyEvent(before, asRead(before), CONTEXT).kind, kind, name);
    }
  });

  test("not due yet, or changed since it was read: refused", () => {
    for (const [name, before] of Object.entries(STATES)) {
      if (!isFinished(before.status)) continue;
      const early = { ...before, dueAtMs: NOW + 1 };
      const changed: Job[] = [
        { ...before, claimNo: before.claimNo + 1 },
        { ...before, dueAtMs: before.dueAtMs - 1 },
        { ...before, status: before.status === "dead" ? "succeeded" : "dead" },
      ];
      assert.equal(applyEvent(early, asRead(early), CONTEXT).kind, "refused", name);
      for (const now of changed) {
        assert.equal(applyEvent(now, asRead(before), CONTEXT).kind, "refused", name);
      }
    }
  });
});

/** A write to the job that an event is applied to would throw. */
function deepFreeze(frozen: Job): Job {
  Object.values(frozen.attempts).forEach(Object.freeze);
  Object.freeze(frozen.attempts);
  return Object.freeze(frozen);
}
