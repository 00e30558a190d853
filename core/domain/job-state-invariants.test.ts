/** What holds of a job whatever happens to it: random lives, from the moment it is made, with times that only go on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { LimitKey } from "./call-limit.ts";
import type { TenantId, WorkerId } from "./ids.ts";
import { makeTaskId } from "./ids.ts";
import type { AttemptRecord, Job } from "./job.ts";
import { REASON_CANCELLED, REASON_DELETED, REASON_PAUSED } from "./job.ts";
import type { JobEvent } from "./job-state.ts";
import { applyEvent, isFinished } from "./job-state.ts";
import { ATTEMPT_RECORDS_MAX, BACKSTOP_SLACK_MS } from "./limits.ts";
import { makeManualJob, makeScheduledJob } from "./make-job.ts";
import { priorityOfQueue } from "./queue.ts";
import type { DueTask } from "./task.ts";

const START_MS = Date.UTC(2026, 5, 1, 9, 0, 0);
const RETENTION = { succeededMs: 1_000, endedMs: 2_000 };
const WORKERS = ["00", "01", "02"].map((byte) => byte.repeat(16) as WorkerId);

const RESUME = { kind: "resume", taskVersion: 2, timeoutMs: 7_000, moreAttempts: 8 } as const;

const TASK: DueTask = {
  id: makeTaskId(START_MS, 7, new Uint8Array(8)),
  tenantId: "acme" as TenantId,
  schedule: { type: "every", seconds: 60, anchor: "1970-01-01T00:00:00.000Z" },
  priority: "high",
  catchUp: "all",
  startAtMs: null,
  endAtMs: null,
  nextRunAtMs: START_MS,
  requestVersion: 1,
  timeoutMs: 30_000,
  maxAttempts: 3,
};

/** An event by what it depends on: mostly the job's true holder, now and then another. */
interface Draw {
  readonly kind: JobEvent["kind"];
  readonly worker: number;
  readonly isTrue: boolean;
  readonly laterMs: number;
  readonly isFinal: boolean;
  readonly reason: string;
  readonly limitKey: LimitKey | null;
}

const line = fc.constantFrom(
  null,
  "acme",
  "acme|https://example.com:443",
) as fc.Arbitrary<LimitKey | null>;
const draw: fc.Arbitrary<Draw> = fc.record({
  // What moves a job on comes more often than what ends it.
  kind: fc.constantFrom(
    ...(["claim", "claim", "claim", "claim", "take-with-slots", "take-with-slots"] as const),
    ...(["give-back", "interrupt", "succeed", "fail", "fail", "fail", "rescue", "rescue"] as const),
    ...(["cancel", "resume", "resume", "retry", "retry", "release-limit", "line-up"] as const),
    ...(["remove-planned", "archive"] as const),
  ),
  worker: fc.nat({ max: 2 }),
  isTrue: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
  laterMs: fc.constantFrom(0, 1, 1_000, 60_000),
  isFinal: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  reason: fc.constantFrom(REASON_PAUSED, REASON_PAUSED, REASON_DELETED, REASON_CANCELLED),
  limitKey: line,
});
const begin = fc
  .tuple(line, fc.constantFrom(-5_000, 45_000, 3_600_000, "catch-up" as const, "manual" as const))
  .map(([limitKey, how]) => {
    const task = { ...TASK, ...(limitKey === null ? {} : { limitKey }) };
    if (how === "manual") return makeManualJob(task, how, START_MS, 5, { body: "x" });
    return how === "catch-up"
      ? makeScheduledJob(task, "catch_up", START_MS - 3_600_000, START_MS)
      : makeScheduledJob(task, "schedule", START_MS + how, START_MS);
  });

function eventOf(job: Job, drawn: Draw, nowMs: number): JobEvent {
  const workerId = (drawn.isTrue ? job.workerId : null) ?? (WORKERS[drawn.worker] as WorkerId);
  const claimNo = drawn.isTrue ? job.claimNo : job.claimNo - 1;
  const record: AttemptRecord = {
    attempt: job.attempt,
    startedAtMs: nowMs,
    lagMs: 0,
    durationMs: 1,
    statusCode: 500,
    error: null,
    responseBody: null,
  };
  switch (drawn.kind) {
    case "claim":
    case "take-with-slots":
      return { kind: drawn.kind, workerId: WORKERS[drawn.worker] as WorkerId };
    case "give-back":
      return { kind: drawn.kind, workerId, claimNo };
    case "interrupt":
    case "succeed":
      return { kind: drawn.kind, workerId, claimNo, record };
    case "fail": {
      const finalReason = drawn.isFinal ? "gone" : null;
      return { kind: "fail", workerId, claimNo, record, retryAtMs: nowMs + 500, finalReason };
    }
    case "rescue":
      return { kind: "rescue", claimNo };
    case "cancel":
      return { kind: "cancel", reason: drawn.reason };
    case "resume":
      return { ...RESUME, limitKey: drawn.limitKey };
    case "line-up":
      return { kind: "line-up", limitKey: drawn.limitKey ?? ("acme" as LimitKey) };
    case "release-limit":
      return { kind: "release-limit", limitKey: drawn.limitKey };
    case "retry":
      return { kind: "retry", moreAttempts: 3 };
    case "archive":
      return { kind: "archive", status: job.status, claimNo, dueAtMs: job.dueAtMs };
    case "remove-planned":
      return { kind: drawn.kind };
  }
}

/** Runs a life; calls `check` at every step that moved the job. */
function live(
  first: Job,
  draws: readonly Draw[],
  check: (before: Job, event: JobEvent, after: Job, nowMs: number) => void,
): void {
  let job = first;
  let nowMs = START_MS;
  for (const drawn of draws) {
    nowMs += drawn.laterMs;
    const event = eventOf(job, drawn, nowMs);
    const context = { nowMs, retention: RETENTION };
    const after = applyEvent(job, event, context);
    if (after.kind === "removed") return;
    if (after.kind === "refused") continue;
    check(job, event, after.job, nowMs);
    job = after.job;
  }
}

const lives = fc.tuple(begin, fc.array(draw, { minLength: 5, maxLength: 120 }));
const RUNS = { numRuns: 1_000 };

test("claim numbers only grow, by one with each claim; attempts and losses stay within them", () => {
  const property = fc.property(lives, ([first, draws]) =>
    live(first, draws, (before, event, after) => {
      const isClaim = event.kind === "claim" || event.kind === "take-with-slots";
      assert.equal(after.claimNo, before.claimNo + (isClaim ? 1 : 0));
      const attempts = isClaim ? 1 : event.kind === "give-back" ? -1 : 0;
      assert.equal(after.attempt, before.attempt + attempts);
      const losses = event.kind === "rescue" || event.kind === "interrupt" ? 1 : 0;
      assert.equal(after.lost, event.kind === "retry" ? 0 : before.lost + losses);
      assert(after.lost <= after.attempt && after.attempt <= after.claimNo);
      // A holder's loss and an attempt's failure are counted apart: what is in line has attempts left.
      if (!isFinished(after.status) && after.status !== "running") {
        assert(after.attempt - after.lost < after.maxAttempts);
      }
    }),
  );
  fc.assert(property, RUNS);
});

test("each status has the fields that go with it", () => {
  const property = fc.property(lives, ([first, draws]) =>
    live(first, draws, (_before, _event, after, nowMs) => {
      assert.equal(isFinished(after.status), after.finishedAtMs !== null);
      const hasReason = after.status === "dead" || after.status === "cancelled";
      assert.equal(hasReason, after.reason !== null);
      if (after.status === "running") {
        assert(after.workerId !== null && after.claimNo > 0 && after.attempt > 0);
        assert(after.dueAtMs >= after.runAtMs + after.timeoutMs + BACKSTOP_SLACK_MS);
      }
      if (after.status === "pending" || after.status === "waiting") {
        assert.equal(after.status === "waiting", after.limitKey !== null);
        assert.equal(after.cancelReason, null);
        assert(after.dueAtMs >= after.runAtMs);
      }
      if (after.status === "succeeded") assert.equal(after.workerId, null);
      if (isFinished(after.status)) {
        assert(after.dueAtMs > Math.max(after.scheduledAtMs, after.finishedAtMs ?? 0));
        assert((after.finishedAtMs ?? 0) <= nowMs);
      }
    }),
  );
  fc.assert(property, RUNS);
});

test("what a job is never changes, its lane only goes down, its records are bounded and never rewritten", () => {
  const property = fc.property(lives, ([first, draws]) =>
    live(first, draws, (before, _event, after) => {
      for (const field of ["id", "taskId", "tenantId", "trigger", "priority", "payload"] as const) {
        assert.equal(after[field], first[field]);
      }
      for (const field of ["scheduledAtMs", "retryOf", "covers"] as const) {
        assert.equal(after[field], first[field]);
      }
      assert(after.queue >= before.queue);
      assert.equal(priorityOfQueue(after.queue), first.priority);
      const claims = Object.keys(after.attempts).map(Number);
      assert(claims.length <= ATTEMPT_RECORDS_MAX);
      assert(claims.every((claimNo) => claimNo >= 1 && claimNo <= after.claimNo));
      for (const [claimNo, record] of Object.entries(after.attempts)) {
        assert.equal(record, before.attempts[claimNo] ?? record);
      }
    }),
  );
  fc.assert(property, RUNS);
});

test("a holder's word counts once: the same event again is refused", () => {
  const property = fc.property(lives, ([first, draws]) =>
    live(first, draws, (_before, event, after, nowMs) => {
      const once = ["give-back", "interrupt", "succeed", "fail", "rescue", "archive"];
      if (!once.includes(event.kind)) return;
      const replay = applyEvent(after, event, { nowMs, retention: RETENTION });
      assert.equal(replay.kind, "refused");
    }),
  );
  fc.assert(property, RUNS);
});

test("the state that comes most often is not the only one: lives reach every status and every event", () => {
  const reached = new Set<string>();
  for (const [first, draws] of fc.sample(lives, { numRuns: 500, seed: 7 })) {
    live(first, draws, (_before, event, after) => {
      reached.add(after.status);
      reached.add(event.kind);
    });
  }
  for (const name of ["pending", "waiting", "running", "succeeded", "dead", "cancelled"]) {
    assert(reached.has(name), name);
  }
  const moves = ["claim", "take-with-slots", "give-back", "interrupt", "succeed", "fail", "rescue"];
  for (const name of [...moves, "cancel", "resume", "retry", "release-limit", "line-up"]) {
    assert(reached.has(name), name);
  }
});
