import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { makeTaskId, partsOfJobId } from "#core/domain/ids.ts";
import {
  MATERIALIZE_CATCH_UP_JOBS_MAX,
  MATERIALIZE_JOBS_MAX,
  MISSED_AFTER_MS,
  REASON_LENGTH_MAX,
} from "#core/domain/limits.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import type { DueTask } from "#core/domain/task.ts";
import { TenantLanes } from "#core/domain/tenant-lanes.ts";
import { planTick } from "./materialize-due-tasks.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 9, 0, 0);
const RETENTION = { succeededMs: 1, endedMs: 1 };
const EVERY_MINUTE: Schedule = { type: "cron", expression: "* * * * *", timezone: "UTC" };

let made = 0;
function dueTask(changes: Partial<DueTask>): DueTask {
  const random = new Uint8Array(8);
  new DataView(random.buffer).setUint32(4, made++);
  return {
    id: makeTaskId(NOW_MS, 7, random),
    tenantId: "acme" as TenantId,
    schedule: EVERY_MINUTE,
    priority: "normal",
    catchUp: "all",
    startAtMs: null,
    endAtMs: null,
    nextRunAtMs: NOW_MS,
    requestVersion: 1,
    timeoutMs: 30_000,
    maxAttempts: 5,
    ...changes,
  };
}

test("one bad schedule among a hundred: it is marked and its run has a row that says why, the others are made", () => {
  const bad = dueTask({ schedule: { type: "cron", expression: "not a cron", timezone: "UTC" } });
  const good = Array.from({ length: 99 }, () => dueTask({}));
  const due = [...good.slice(0, 50), bad, ...good.slice(50)];
  const plan = planTick({ nowMs: NOW_MS, missed: [], due }, { retention: RETENTION });
  assert.equal(plan.jobs.filter(({ status }) => status === "pending").length, 99);
  const skipped = plan.jobs.filter(({ status }) => status === "cancelled");
  assert.equal(skipped.length, 1);
  assert.equal(skipped[0]?.taskId, bad.id);
  assert.match(skipped[0]?.reason ?? "", /^schedule cannot go on: ./);
  const advance = plan.advances.find(({ taskId }) => taskId === bad.id);
  assert.ok(advance?.error);
  assert.equal(advance.nextRunAtMs, null);
  assert.ok(
    plan.advances
      .filter(({ error }) => error === null)
      .every((a) => a.nextRunAtMs === NOW_MS + 60_000),
  );
});

test("why a schedule cannot go on fits its columns, however long the schedule is", () => {
  const lunar = { type: "lunar", phase: "f".repeat(2_000) } as unknown as Schedule;
  const plan = planTick(
    { nowMs: NOW_MS, missed: [], due: [dueTask({ schedule: lunar })] },
    { retention: RETENTION },
  );
  const [skipped] = plan.jobs;
  assert.match(skipped?.reason ?? "", /^schedule cannot go on: unknown type of schedule/);
  assert.ok((skipped?.reason ?? "").length <= REASON_LENGTH_MAX);
  assert.ok((plan.advances[0]?.error ?? "").length <= REASON_LENGTH_MAX);
});

test("a storm of missed runs takes its share and leaves the rest to what is due now", () => {
  const outageMs = 6 * 3_600_000;
  const missed = Array.from({ length: 200 }, () => dueTask({ nextRunAtMs: NOW_MS - outageMs }));
  const due = Array.from({ length: 800 }, () => dueTask({}));
  const plan = planTick({ nowMs: NOW_MS, missed, due }, { retention: RETENTION });
  const caughtUp = plan.jobs.filter(({ trigger }) => trigger === "catch_up");
  assert.equal(caughtUp.length, MATERIALIZE_CATCH_UP_JOBS_MAX);
  assert.equal(new Set(caughtUp.map(({ taskId }) => taskId)).size, 200, "each missed task gets on");
  assert.equal(plan.jobs.filter(({ trigger }) => trigger === "schedule").length, 800);
  assert.ok(plan.jobs.length <= MATERIALIZE_JOBS_MAX);
});

test("what is due now leaves goes to those behind: all of it when nothing is due, and none that a fast schedule needs", () => {
  const everySecond: Schedule = { type: "every", seconds: 1, anchor: "1970-01-01T00:00:00.000Z" };
  const behindBy = (ms: number) => dueTask({ schedule: everySecond, nextRunAtMs: NOW_MS - ms });
  const missed = Array.from({ length: 200 }, () => behindBy(600_000));
  for (const dueCount of [0, 8, 100]) {
    const due = Array.from({ length: dueCount }, () => dueTask({ schedule: everySecond }));
    const plan = planTick({ nowMs: NOW_MS, missed, due }, { retention: RETENTION });
    const caughtUp = plan.jobs.filter(({ trigger }) => trigger === "catch_up").length;
    // Each has 31 runs up to the horizon.
    const onTime = Math.min(31 * dueCount, MATERIALIZE_JOBS_MAX - MATERIALIZE_CATCH_UP_JOBS_MAX);
    assert.equal(plan.jobs.length - caughtUp, onTime);
    assert.equal(caughtUp, MATERIALIZE_JOBS_MAX - onTime);
    assert.equal(new Set(plan.jobs.map(({ id }) => id)).size, MATERIALIZE_JOBS_MAX);
    for (const { taskId, nextRunAtMs, madeUntilMs } of plan.advances) {
      const made = plan.jobs.filter((job) => job.taskId === taskId);
      assert.equal(madeUntilMs, Math.max(...made.map(({ scheduledAtMs }) => scheduledAtMs)));
      assert.equal(nextRunAtMs, (madeUntilMs ?? 0) + 1_000);
    }
    assert.equal(new Set(plan.advances.map(({ taskId }) => taskId)).size, plan.advances.length);
  }
});

test("a task that is brought up to now, or ends, in the room that was left is moved on once", () => {
  const everySecond: Schedule = { type: "every", seconds: 1, anchor: "1970-01-01T00:00:00.000Z" };
  const startMs = NOW_MS - 70_000;
  const changes = { schedule: everySecond, nextRunAtMs: startMs };
  const going = dueTask(changes);
  const ending = dueTask({ ...changes, endAtMs: startMs + 4_999 });
  const daily: Schedule = { ...everySecond, seconds: 86_400 };
  const once = { schedule: daily, nextRunAtMs: NOW_MS - 90_000 };
  const others = Array.from({ length: 198 }, () => dueTask(once));
  const due = { nowMs: NOW_MS, missed: [going, ending, ...others], due: [] };
  const plan = planTick(due, { retention: RETENTION });
  const advanceOf = ({ id }: DueTask) => plan.advances.find(({ taskId }) => taskId === id);
  assert.equal(advanceOf(ending)?.nextRunAtMs, null);
  assert.equal(advanceOf(ending)?.madeUntilMs, startMs + 4_000);
  assert.ok((advanceOf(going)?.nextRunAtMs ?? 0) >= NOW_MS - MISSED_AFTER_MS);
  assert.equal(plan.advances.length, 200);
});

test("a tick is bounded in jobs, not in tasks; what finds no room is not advanced", () => {
  const everySecond: Schedule = { type: "every", seconds: 1, anchor: "1970-01-01T00:00:00.000Z" };
  const due = Array.from({ length: 100 }, () => dueTask({ schedule: everySecond }));
  const plan = planTick({ nowMs: NOW_MS, missed: [], due }, { retention: RETENTION });
  assert.equal(plan.jobs.length, MATERIALIZE_JOBS_MAX);
  for (const { taskId, nextRunAtMs, madeUntilMs } of plan.advances) {
    const times = plan.jobs
      .filter((job) => job.taskId === taskId)
      .map(({ id }) => partsOfJobId(id).scheduledAtMs);
    assert.equal(Math.max(...times), madeUntilMs);
    assert.equal(nextRunAtMs, (madeUntilMs ?? 0) + 1_000);
  }
  assert.ok(plan.advances.length < due.length);
});

test("a tenant beyond its share of a tick goes down the lanes; another tenant's job behind it does not", () => {
  const burst = Array.from({ length: 600 }, () => dueTask({}));
  const quiet = dueTask({ tenantId: "quiet" as TenantId });
  const due = { nowMs: NOW_MS, missed: [], due: [...burst, quiet] };
  const lanesOf = (jobs: readonly { queue: number }[]) => jobs.map(({ queue }) => queue - 32);
  const { jobs } = planTick(due, { retention: RETENTION, lanes: new TenantLanes() });
  assert.deepEqual(
    [0, 99, 100, 399, 400, 599, 600].map((i) => lanesOf(jobs)[i]),
    [0, 0, 1, 1, 2, 2, 0],
  );
  assert.ok(lanesOf(planTick(due, { retention: RETENTION }).jobs).every((lane) => lane === 0));
});
