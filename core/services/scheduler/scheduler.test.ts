import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { openMetrics } from "#adapters/system/metrics.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { TaskId } from "#core/domain/ids.ts";
import { DENSE_TASKS, HORIZON_MS, MISSED_AFTER_MS } from "#core/domain/limits.ts";
import type { TaskStore } from "#core/ports/task-store.ts";
import { buildTask, RETENTION } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { peakUntil, Scheduler } from "./scheduler.ts";

const PEAK_TASKS = 30_000;
const PEAK_IN_MS = 200_000;
/** Of a tick that makes a thousand jobs: the peak takes a minute. */
const TICK_COSTS_MS = 2_000;

/** A scheduler whose every tick that finds something takes its time, over tasks that are all due at one instant. */
function schedulerBefore(tasks: number, dueInMs: number, tickCostsMs = TICK_COSTS_MS) {
  const clock = new ManualClock(Date.UTC(2026, 5, 1, 8, 50, 0));
  const shards = openMemoryShards({ clock });
  const [shard] = shards.all();
  assert.ok(shard);
  const atMs = clock.nowMs() + dueInMs;
  const schedule = { type: "at" as const, at: new Date(atMs).toISOString() };
  const ids: TaskId[] = [];
  for (let i = 0; i < tasks; i++) {
    const { task, version } = buildTask(clock.nowMs(), { task: { schedule, nextRunAtMs: atMs } });
    shards.tables.tasks.set(task.id, task);
    shards.tables.addVersion(version);
    ids.push(task.id);
  }
  let looks = 0;
  const slow: Pick<TaskStore, "materialize" | "lookAhead"> = {
    async materialize(bounds, plan) {
      const done = await shard.tasks.materialize(bounds, plan);
      if (done !== null) await clock.advance(tickCostsMs);
      return done;
    },
    lookAhead(...args) {
      looks++;
      return shard.tasks.lookAhead(...args);
    },
  };
  const deps = { tasks: slow, metrics: openMetrics("scheduler"), clock, retention: RETENTION };
  const scheduler = new Scheduler(deps);
  const runFor = async (ms: number) => {
    const endMs = clock.nowMs() + ms;
    while (clock.nowMs() < endMs) await clock.advance(await scheduler.tickOnce());
  };
  const { tables } = shards;
  return { clock, tables, jobs: tables.jobs, shard, atMs, ids, runFor, looks: () => looks };
}

test("30,000 tasks due in one second are made before it, though ticks take a minute for them; an edit in between wins", async () => {
  const { clock, jobs, shard, atMs, ids, runFor } = schedulerBefore(PEAK_TASKS, PEAK_IN_MS);
  await runFor(80_000);
  assert.equal(jobs.size, PEAK_TASKS);
  assert.ok(clock.nowMs() + HORIZON_MS < atMs, "made before the usual horizon reaches it");

  const [edited] = ids;
  assert.ok(edited);
  const made = [...jobs.values()].find(({ taskId }) => taskId === edited);
  assert.ok(made);
  const laterMs = atMs + 60_000;
  const at = new Date(laterMs).toISOString();
  const result = await shard.tasks.edit(
    made.tenantId,
    edited,
    ({ task }) => ({
      kind: "write",
      task: { ...task, status: "active", schedule: { type: "at", at }, nextRunAtMs: laterMs },
      newVersion: null,
      jobsEffect: { kind: "remove-planned" },
      makeJobs: [],
    }),
    RETENTION,
  );
  assert.equal(result.kind, "written");
  await runFor(atMs + 40_000 - clock.nowMs());
  const its = [...jobs.values()].filter(({ taskId }) => taskId === edited);
  assert.deepEqual(
    its.map(({ scheduledAtMs }) => scheduledAtMs),
    [laterMs],
  );
  assert.equal(jobs.size, PEAK_TASKS);
});

test("what ticks make in time is not made early; two idle seconds cost one look", async () => {
  const { jobs, runFor, looks } = schedulerBefore(DENSE_TASKS - 1, PEAK_IN_MS);
  await runFor(100_000);
  assert.equal(jobs.size, 0);
  assert.equal(looks(), 50);
});

test("ticks of which the database ends only small ones in time: what is due and what was missed is made, and then in larger ticks again", async () => {
  for (const endsRows of [10, 100]) {
    const clock = new ManualClock(Date.UTC(2026, 5, 1, 8, 50, 0));
    const shards = openMemoryShards({ clock });
    const [shard] = shards.all();
    assert.ok(shard);
    const add = (atMs: number) => {
      const schedule = { type: "at" as const, at: new Date(atMs).toISOString() };
      const { task, version } = buildTask(clock.nowMs(), { task: { schedule, nextRunAtMs: atMs } });
      shards.tables.tasks.set(task.id, task);
      shards.tables.addVersion(version);
    };
    for (let n = 0; n < 2 * endsRows; n++) add(clock.nowMs() - MISSED_AFTER_MS - 1_000);
    for (let n = 0; n < 10 * endsRows; n++) add(clock.nowMs());
    let isSlow = true;
    const made: number[] = [];
    const tasks: Pick<TaskStore, "materialize" | "lookAhead"> = {
      materialize: (bounds, plan) =>
        shard.tasks.materialize(bounds, (due) => {
          const planned = plan(due);
          if (
            isSlow &&
            Math.max(planned.jobs.length, due.missed.length + due.due.length) > endsRows
          )
            throw new StoreUnavailable("did not end in time");
          made.push(planned.jobs.length);
          return planned;
        }),
      lookAhead: (...args) => shard.tasks.lookAhead(...args),
    };
    const deps = { tasks, metrics: openMetrics("scheduler"), clock, retention: RETENTION };
    const scheduler = new Scheduler(deps);
    const tick = async () => clock.advance(await scheduler.tickOnce().catch(() => 100));
    for (let n = 0; n < 60; n++) await tick();
    assert.equal(shards.tables.jobs.size, 12 * endsRows);
    isSlow = false;
    made.length = 0;
    for (let n = 0; n < 2_000; n++) add(clock.nowMs());
    for (let n = 0; n < 60; n++) await tick();
    assert.equal(shards.tables.jobs.size, 12 * endsRows + 2_000);
    assert.ok(Math.max(...made) > 1.5 * endsRows, made.join());
  }
});

test("a span ahead is a peak when ticks take longer for it than it lasts", () => {
  const none = { firstMs: null, deepMs: null };
  const ahead = (firstMs: number, deepMs: number | null) => ({
    nowMs: 0,
    priorities: [none, { firstMs, deepMs }, none, { firstMs: 50_000, deepMs: null }],
  });
  const ratePerSecond = DENSE_TASKS;
  assert.equal(peakUntil(ahead(60_000, 60_999), ratePerSecond), 60_999);
  assert.equal(peakUntil(ahead(60_000, 61_000), ratePerSecond), null);
  assert.equal(peakUntil(ahead(60_000, null), ratePerSecond), null);
});

test("a peak that others are making is looked at once a tick, not without end", async () => {
  const clock = new ManualClock(Date.UTC(2026, 5, 1, 8, 50, 0));
  const firstMs = clock.nowMs() + PEAK_IN_MS;
  let looks = 0;
  const tasks: Pick<TaskStore, "materialize" | "lookAhead"> = {
    materialize: async () => null,
    lookAhead: async () => {
      looks++;
      return { nowMs: clock.nowMs(), priorities: [{ firstMs, deepMs: firstMs }] };
    },
  };
  const deps = { tasks, metrics: openMetrics("scheduler"), clock, retention: RETENTION };
  const scheduler = new Scheduler(deps);
  const endMs = clock.nowMs() + 10_000;
  for (let ticks = 0; ticks < 1_000 && clock.nowMs() < endMs; ticks++)
    await clock.advance(await scheduler.tickOnce());
  assert.equal(clock.nowMs(), endMs);
  assert.equal(looks, 11);
});

test("while a peak of urgent tasks is made minutes before it, what is due before is made in time", async () => {
  const peakTasks = 9_000;
  const { clock, tables, jobs, runFor } = schedulerBefore(peakTasks, PEAK_IN_MS, 6_000);
  await runFor(10_000);
  assert.ok(jobs.size > 0 && jobs.size < peakTasks);
  const soonMs = clock.nowMs() + HORIZON_MS + 2_000;
  const schedule = { type: "at" as const, at: new Date(soonMs).toISOString() };
  const soon = buildTask(clock.nowMs(), {
    random: new Uint8Array(8).fill(9),
    task: { schedule, nextRunAtMs: soonMs, priority: "low" },
  });
  tables.tasks.set(soon.task.id, soon.task);
  tables.addVersion(soon.version);
  await runFor(HORIZON_MS + 2_000);
  assert.ok([...jobs.values()].some(({ taskId }) => taskId === soon.task.id));
  assert.ok(jobs.size < peakTasks, "the peak is being made still");
});
