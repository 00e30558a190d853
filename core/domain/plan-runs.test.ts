import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { TenantId } from "./ids.ts";
import { makeTaskId, partsOfJobId, RUN_OF_OCCURRENCE } from "./ids.ts";
import type { Job } from "./job.ts";
import { REASON_MISSED } from "./job.ts";
import { MATERIALIZE_PER_TASK_MAX, MISSED_AFTER_MS } from "./limits.ts";
import type { PlanBounds, RunPlan } from "./plan-runs.ts";
import { planRuns } from "./plan-runs.ts";
import { oneLaneDown, queueOf } from "./queue.ts";
import type { Schedule } from "./schedule.ts";
import { ScheduleError } from "./schedule.ts";
import type { DueTask } from "./task.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 9, 0, 0);
const HOUR_MS = 3_600_000;
const RETENTION = { succeededMs: 1_000, endedMs: 2_000 };
const BOUNDS: PlanBounds = {
  nowMs: NOW_MS,
  untilMs: NOW_MS + 30_000,
  missedRowsMax: 200,
  dueRowsMax: 1_000,
  stepsMax: 5_000,
  retention: RETENTION,
};

function every(seconds: number): Schedule {
  return { type: "every", seconds, anchor: "1970-01-01T00:00:00.000Z" };
}

function dueTask(changes: Partial<DueTask>): DueTask {
  return {
    id: makeTaskId(NOW_MS, 7, new Uint8Array(8)),
    tenantId: "acme" as TenantId,
    schedule: every(60),
    priority: "normal",
    catchUp: "all",
    startAtMs: null,
    endAtMs: null,
    nextRunAtMs: NOW_MS,
    requestVersion: 3,
    timeoutMs: 30_000,
    maxAttempts: 5,
    ...changes,
  };
}

function times(jobs: readonly Job[]): number[] {
  return jobs.map((job) => job.scheduledAtMs);
}

/** Of runs that were missed, made or skipped, and of those that were not. */
function rowsOf({ jobs }: RunPlan): [missed: number, due: number] {
  const isDue = ({ trigger, status }: Job) => trigger === "schedule" && status !== "cancelled";
  const due = jobs.filter(isDue).length;
  return [jobs.length - due, due];
}

describe("what is due now", () => {
  test("a run at its time is planned as it is, and the next one is computed from it", () => {
    const plan = planRuns(dueTask({}), BOUNDS);
    assert.deepEqual(times(plan.jobs), [NOW_MS]);
    const [job] = plan.jobs;
    assert.deepEqual(
      [job?.trigger, job?.status, job?.runAtMs, job?.queue, job?.taskVersion],
      ["schedule", "pending", NOW_MS, queueOf("normal"), 3],
    );
    assert.deepEqual([plan.madeUntilMs, plan.nextRunAtMs], [NOW_MS, NOW_MS + 60_000]);
    assert.deepEqual([...rowsOf(plan), plan.steps], [0, 1, 1]);
  });

  test("the horizon is inside; what lies beyond stays for later", () => {
    const on = planRuns(dueTask({ nextRunAtMs: BOUNDS.untilMs }), BOUNDS);
    assert.deepEqual(times(on.jobs), [BOUNDS.untilMs]);
    const beyond = planRuns(dueTask({ nextRunAtMs: BOUNDS.untilMs + 1 }), BOUNDS);
    assert.deepEqual(beyond.jobs, []);
    assert.deepEqual([beyond.madeUntilMs, beyond.nextRunAtMs], [null, BOUNDS.untilMs + 1]);
  });

  test("several runs inside the horizon are all planned, up to the bound of a task and the room there is", () => {
    const fast = dueTask({ schedule: every(1), nextRunAtMs: NOW_MS - 59_000 });
    const plan = planRuns(fast, BOUNDS);
    assert.deepEqual(rowsOf(plan), [0, MATERIALIZE_PER_TASK_MAX]);
    assert.equal(plan.nextRunAtMs, NOW_MS + 1_000);
    const little = planRuns(fast, { ...BOUNDS, dueRowsMax: 7 });
    assert.deepEqual([...rowsOf(little), little.madeUntilMs], [0, 7, NOW_MS - 53_000]);
    const none = planRuns(fast, { ...BOUNDS, dueRowsMax: 0 });
    assert.deepEqual([none.jobs.length, none.nextRunAtMs], [0, NOW_MS - 59_000]);
    const steps = planRuns(fast, { ...BOUNDS, stepsMax: 3 });
    assert.deepEqual([...rowsOf(steps), steps.steps], [0, 3, 3]);
  });

  test("late by less than a minute is not missed, whatever the catch-up says: made at its own time", () => {
    for (const catchUp of ["all", "latest", "none"] as const) {
      const atMs = NOW_MS - MISSED_AFTER_MS;
      const plan = planRuns(dueTask({ catchUp, nextRunAtMs: atMs }), BOUNDS);
      assert.deepEqual(times(plan.jobs), [atMs, NOW_MS]);
      for (const job of plan.jobs) {
        assert.deepEqual([job.trigger, job.status], ["schedule", "pending"]);
        assert.equal(job.runAtMs, job.scheduledAtMs);
        assert.equal(job.dueAtMs, NOW_MS, "due from the write on, not before");
      }
    }
  });

  test("without an occurrence left there is no next run", () => {
    const at: Schedule = { type: "at", at: new Date(NOW_MS).toISOString() };
    const once = planRuns(dueTask({ schedule: at }), BOUNDS);
    assert.deepEqual([once.jobs.length, once.nextRunAtMs], [1, null]);
    const ends = planRuns(dueTask({ endAtMs: NOW_MS + 60_000 }), BOUNDS);
    assert.deepEqual([ends.jobs.length, ends.nextRunAtMs], [1, null]);
    const goesOn = planRuns(dueTask({ endAtMs: NOW_MS + 60_001 }), BOUNDS);
    assert.equal(goesOn.nextRunAtMs, NOW_MS + 60_000);
    const over = planRuns(dueTask({ nextRunAtMs: null }), BOUNDS);
    assert.deepEqual([over.jobs, over.nextRunAtMs, over.madeUntilMs], [[], null, null]);
  });

  test("a schedule that cannot go on is an error", () => {
    const schedule: Schedule = { type: "cron", expression: "nonsense", timezone: "UTC" };
    assert.throws(() => planRuns(dueTask({ schedule }), BOUNDS), ScheduleError);
  });
});

describe("what was missed", () => {
  const nextRunAtMs = NOW_MS - 5 * 60_000;

  test("all: every missed run is made, now, a lane down; what is not missed keeps its time and lane", () => {
    const plan = planRuns(dueTask({ nextRunAtMs }), BOUNDS);
    const missed = plan.jobs.filter((job) => job.trigger === "catch_up");
    assert.deepEqual(
      times(missed),
      [5, 4, 3, 2].map((minutes) => NOW_MS - minutes * 60_000),
    );
    for (const job of missed) {
      assert.deepEqual([job.runAtMs, job.dueAtMs], [NOW_MS, NOW_MS]);
      assert.equal(job.queue, oneLaneDown(queueOf("normal"), job.tenantId));
    }
    const due = plan.jobs.filter((job) => job.trigger === "schedule");
    assert.deepEqual(times(due), [NOW_MS - 60_000, NOW_MS]);
    assert.deepEqual(rowsOf(plan), [4, 2]);
  });

  test("none: every missed run has a cancelled row that says so", () => {
    const plan = planRuns(dueTask({ nextRunAtMs, catchUp: "none" }), BOUNDS);
    const skipped = plan.jobs.filter((job) => job.status === "cancelled");
    assert.equal(skipped.length, 4);
    for (const job of skipped) {
      assert.deepEqual([job.reason, job.covers, job.finishedAtMs], [REASON_MISSED, null, NOW_MS]);
      assert.equal(job.dueAtMs, NOW_MS + RETENTION.endedMs);
    }
    assert.deepEqual(rowsOf(plan), [4, 2]);
    const justFits = { ...BOUNDS, missedRowsMax: 4 };
    assert.deepEqual(planRuns(dueTask({ nextRunAtMs, catchUp: "none" }), justFits), plan);
  });

  test("latest: the last missed run is made, those before it have their rows", () => {
    const plan = planRuns(dueTask({ nextRunAtMs, catchUp: "latest" }), BOUNDS);
    const made = plan.jobs.filter((job) => job.trigger === "catch_up");
    assert.deepEqual(times(made), [NOW_MS - 2 * 60_000]);
    assert.equal(plan.jobs.filter((job) => job.status === "cancelled").length, 3);
    const at: Schedule = { type: "at", at: new Date(nextRunAtMs).toISOString() };
    const once = planRuns(dueTask({ schedule: at, nextRunAtMs, catchUp: "latest" }), BOUNDS);
    assert.deepEqual([once.jobs[0]?.trigger, once.nextRunAtMs], ["catch_up", null]);
  });

  test("more skipped runs than rows, 100 at most: one row says how many there are, from and to", () => {
    const fromMs = NOW_MS - 6 * HOUR_MS;
    const task = dueTask({ schedule: every(1), nextRunAtMs: fromMs, catchUp: "none" });
    for (const missedRowsMax of [1, 2, 50, 200]) {
      const plan = planRuns(task, { ...BOUNDS, missedRowsMax });
      const rows = Math.min(missedRowsMax, 100);
      assert.deepEqual(rowsOf(plan), [rows, 0]);
      const covering = plan.jobs.at(-1);
      assert.deepEqual(covering?.covers, {
        count: BOUNDS.stepsMax - (rows - 1),
        fromMs: fromMs + (rows - 1) * 1_000,
        toMs: fromMs + (BOUNDS.stepsMax - 1) * 1_000,
      });
      assert.equal(covering?.scheduledAtMs, covering?.covers?.fromMs);
      // Should the first one's own row exist, this one is made all the same.
      assert(covering !== undefined && partsOfJobId(covering.id).run !== RUN_OF_OCCURRENCE);
      assert.equal(plan.nextRunAtMs, fromMs + BOUNDS.stepsMax * 1_000);
    }
  });

  test("room for one row is enough to get on, with any catch-up", () => {
    for (const catchUp of ["all", "latest", "none"] as const) {
      const task = dueTask({ nextRunAtMs, catchUp });
      const plan = planRuns(task, { ...BOUNDS, missedRowsMax: 1, dueRowsMax: 0, stepsMax: 1 });
      assert.deepEqual([plan.jobs.length, plan.madeUntilMs], [1, nextRunAtMs]);
    }
  });

  test("latest with room for one row still makes the latest: else a fast schedule would chase it for ever", () => {
    const task = dueTask({ schedule: every(1), nextRunAtMs: NOW_MS - 65_000, catchUp: "latest" });
    const plan = planRuns(task, { ...BOUNDS, missedRowsMax: 1, dueRowsMax: 0 });
    const made = plan.jobs.filter((job) => job.trigger === "catch_up");
    assert.deepEqual(times(made), [NOW_MS - 61_000]);
    assert.deepEqual(rowsOf(plan), [2, 0]);
    assert.equal(plan.nextRunAtMs, NOW_MS - 60_000);
  });
});

/** What one tick may do for one task; the tick after it comes `periodMs` later. */
interface Pace {
  readonly missedRowsMax: number;
  readonly stepsMax: number;
  readonly dueRowsMax: number;
  readonly periodMs: number;
}

/** Ticks until the task has caught up with the clock, with the room that the scheduler's tick gives. */
function runTicks(first: DueTask, pace: Pace, ticksMax: number) {
  const rows = new Map<string, Job>();
  let nowMs = NOW_MS;
  let task = first;
  let ticks = 0;
  for (; ticks < ticksMax; ticks++, nowMs += pace.periodMs) {
    const untilMs = nowMs + 30_000;
    const missed = (task.nextRunAtMs ?? 0) < nowMs - MISSED_AFTER_MS;
    const { missedRowsMax, stepsMax } = pace;
    const dueRowsMax = missed ? Math.min(missedRowsMax, pace.dueRowsMax) : pace.dueRowsMax;
    const bounds = { nowMs, untilMs, missedRowsMax, dueRowsMax, stepsMax, retention: RETENTION };
    const plan = planRuns(task, bounds);
    assert(plan.steps > 0 && plan.madeUntilMs !== null, "every tick gets on");
    const [missedRows, dueRows] = rowsOf(plan);
    assert(plan.steps <= stepsMax && dueRows <= dueRowsMax);
    assert(missedRows <= missedRowsMax + (task.catchUp === "latest" ? 1 : 0));
    for (const job of plan.jobs) {
      assert(!rows.has(job.id), "no occurrence has two rows");
      rows.set(job.id, job);
      if (job.trigger === "catch_up") assert.equal(job.runAtMs, nowMs);
    }
    task = { ...task, nextRunAtMs: plan.nextRunAtMs };
    if (plan.nextRunAtMs === null || plan.nextRunAtMs > untilMs) break;
  }
  assert(ticks < ticksMax, "it catches up");
  return { rows: [...rows.values()], task };
}

/** Every occurrence of an every-`seconds` schedule from the first on is in exactly one row, and no row holds anything else. */
function assertCovered(rows: readonly Job[], fromMs: number, untilMs: number, seconds: number) {
  const periodMs = seconds * 1_000;
  const counts = new Array<number>((untilMs - fromMs) / periodMs).fill(0);
  for (const { scheduledAtMs, covers } of rows) {
    const last = covers?.toMs ?? scheduledAtMs;
    assert.equal(covers?.fromMs ?? scheduledAtMs, scheduledAtMs);
    assert.equal(covers?.count ?? 1, (last - scheduledAtMs) / periodMs + 1);
    for (let atMs = scheduledAtMs; atMs <= last; atMs += periodMs) {
      const index = (atMs - fromMs) / periodMs;
      assert(index in counts, "a row is of an occurrence");
      counts[index] = (counts[index] ?? 0) + 1;
    }
  }
  assert(counts.every((count) => count === 1));
}

describe("an outage of six hours, tick by tick", () => {
  const paces: Record<string, Pace> = {
    "alone, at once": { missedRowsMax: 200, stepsMax: 5_000, dueRowsMax: 1_000, periodMs: 20 },
    "among two hundred": { missedRowsMax: 1, stepsMax: 25, dueRowsMax: 60, periodMs: 50 },
    "alone, a tick a second": {
      missedRowsMax: 200,
      stepsMax: 5_000,
      dueRowsMax: 30,
      periodMs: 1_000,
    },
  };
  for (const [name, pace] of Object.entries(paces)) {
    for (const seconds of [60, 1]) {
      for (const catchUp of ["all", "latest", "none"] as const) {
        test(`every ${seconds} s, catch-up ${catchUp}, ${name}: each occurrence has exactly one row`, () => {
          const fromMs = NOW_MS - 6 * HOUR_MS;
          const task = dueTask({ schedule: every(seconds), nextRunAtMs: fromMs, catchUp });
          const { rows, task: after } = runTicks(task, pace, 30_000);
          assertCovered(rows, fromMs, after.nextRunAtMs ?? 0, seconds);
          const caughtUp = rows.filter((job) => job.trigger === "catch_up");
          const skipped = rows.filter((job) => job.status === "cancelled");
          if (catchUp === "all") assert.deepEqual(skipped, []);
          if (catchUp === "none") assert.deepEqual(caughtUp, []);
          if (catchUp === "latest") assert(caughtUp.length >= 1);
          if (catchUp === "latest" && seconds === 60) assert.equal(caughtUp.length, 1);
        });
      }
    }
  }

  test("any schedule, outage, pace and catch-up: each occurrence has exactly one row", () => {
    fc.assert(
      fc.property(
        fc.record({
          seconds: fc.constantFrom(1, 7, 60, 900),
          outageS: fc.integer({ min: 0, max: 3_000 }),
          catchUp: fc.constantFrom("all" as const, "latest" as const, "none" as const),
          missedRowsMax: fc.integer({ min: 1, max: 120 }),
          stepsMax: fc.integer({ min: 1, max: 200 }),
          dueRowsMax: fc.integer({ min: 1, max: 80 }),
          periodMs: fc.integer({ min: 0, max: 300 }),
        }),
        ({ seconds, outageS, catchUp, ...pace }) => {
          const periodMs = seconds * 1_000;
          const fromMs = Math.floor((NOW_MS - outageS * 1_000) / periodMs) * periodMs;
          const task = dueTask({ schedule: every(seconds), nextRunAtMs: fromMs, catchUp });
          const { rows, task: after } = runTicks(task, pace, 10_000);
          assertCovered(rows, fromMs, after.nextRunAtMs ?? 0, seconds);
        },
      ),
      { numRuns: 300 },
    );
  });
});
