/** Executors on one shard in memory with limits: how many calls an endpoint sees at once, and how soon. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantKey } from "#core/domain/call-limit.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { RESULTS_WAITING_MAX } from "#core/domain/limits.ts";
import {
  addJob,
  FREE,
  jobsWhere,
  keyOf,
  openWorld,
  SLOW,
  TENANT,
} from "#test/support/limited-world.ts";
import { Outbox } from "./outbox.ts";

test("a limit of five over three executors: never six at once, all five nearly all the time, others not held up", async () => {
  const world = openWorld({ executors: 3 });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { concurrency: 5 });
  await clock.advance(1_000);
  for (let i = 0; i < 500; i++) addJob(world, SLOW, keyOf(SLOW));
  for (let i = 0; i < 20; i++) addJob(world, FREE, null);
  await clock.advance(1_000);
  assert.equal(endpoints.starts.get(FREE)?.length, 20, "all others have gone");
  await clock.advance(11_500);
  assert.equal(endpoints.most.get(SLOW), 5);
  assert.equal(jobsWhere(world, "succeeded"), 520, "500 calls of 100 ms by fives are 10 s");
  for (const job of world.tables.jobs.values()) assert.deepEqual([job.attempt, job.lost], [1, 0]);
  await clock.advance(4_000);
  const held = [...world.tables.limitSlots.values()].flatMap((of) => [...of.values()]);
  assert.deepEqual(held, [], "idle slots have gone back");
  await world.end();
});

test("where nobody waits under a limit, nothing is asked for it", async () => {
  const world = openWorld();
  const { clock, limits, verbs } = world;
  await limits.put(keyOf(SLOW), { concurrency: 5 });
  await clock.advance(1_000);
  for (let i = 0; i < 20; i++) addJob(world, FREE, null);
  verbs.clear();
  await clock.advance(10_000);
  assert.equal(jobsWhere(world, "succeeded"), 20);
  assert.ok(verbs.has("poll") && verbs.has("claimDue"));
  for (const verb of ["listLines", "takeLimited", "keepSlots", "releaseLine"])
    assert.ok(!verbs.has(verb), verb);
  await world.end();
});

test("a tenant's limit holds beside those of its endpoints", async () => {
  const world = openWorld({ executors: 2 });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { concurrency: 3 });
  await limits.put(tenantKey(TENANT), { concurrency: 4 });
  await clock.advance(1_000);
  for (let i = 0; i < 40; i++) {
    addJob(world, SLOW, keyOf(SLOW));
    addJob(world, FREE, tenantKey(TENANT));
  }
  let most = 0;
  for (let i = 0; i < 400; i++) {
    await clock.advance(10);
    const open = [...endpoints.open.values()].reduce((sum, count) => sum + count, 0);
    most = Math.max(most, open);
  }
  assert.equal(most, 4);
  assert.equal(endpoints.most.get(SLOW), 3);
  assert.equal(jobsWhere(world, "succeeded"), 80);
  await world.end();
});

test("a rate: evenly spaced starts, as many as it allows", async () => {
  const world = openWorld({ executors: 3, callMs: () => 5 });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { perSecond: 20 });
  await clock.advance(1_000);
  for (let i = 0; i < 200; i++) addJob(world, SLOW, keyOf(SLOW));
  await clock.advance(11_000);
  const starts = [...(endpoints.starts.get(SLOW) ?? [])].sort((a, b) => a - b);
  assert.equal(starts.length, 200);
  for (const from of starts)
    assert.ok(starts.filter((atMs) => atMs >= from && atMs < from + 1_000).length <= 20);
  await world.end();
});

test("a limit that is raised, lowered or taken away holds for what starts then", async () => {
  const world = openWorld({ executors: 2 });
  const { clock, limits, endpoints } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 2 });
  await clock.advance(1_000);
  for (let i = 0; i < 1_000; i++) addJob(world, SLOW, key);
  const openAfter = async (ms: number) => {
    await clock.advance(ms);
    return endpoints.open.get(SLOW);
  };
  assert.equal(await openAfter(3_050), 2);
  await limits.put(key, { concurrency: 6 });
  assert.equal(await openAfter(4_000), 6);
  await limits.put(key, { concurrency: 1 });
  assert.equal(await openAfter(4_000), 1);
  await limits.put(key, { concurrency: null });
  await clock.advance(8_000);
  assert.equal(jobsWhere(world, "succeeded"), 1_000, "without a limit they all went");
  await world.end();
});

test("many limits are taken away at once: polls go on while their lines are let go", async () => {
  const world = openWorld({ verbMs: (verb) => (verb === "releaseLine" ? 200 : 0) });
  const { clock, executors } = world;
  await clock.advance(1_000);
  for (let n = 0; n < 60; n++) {
    const url = `https://w${n}.example.com`;
    addJob(world, url, keyOf(url));
  }
  for (let tenth = 0; tenth < 300; tenth++) {
    await clock.advance(100);
    assert.equal(executors[0]?.executor.mayStart, true, `${tenth / 10} s`);
  }
  assert.equal(jobsWhere(world, "succeeded"), 60);
  await world.end();
});

test("a line that cannot be let go now holds up no other", async () => {
  const world = openWorld();
  const { clock, limits } = world;
  const { releaseLine } = limits;
  let isLocked = true;
  limits.releaseLine = async (key, max) => {
    if (isLocked && key === keyOf(SLOW)) throw new StoreUnavailable("locked");
    return releaseLine.call(limits, key, max);
  };
  await clock.advance(1_000);
  addJob(world, SLOW, keyOf(SLOW));
  await clock.advance(1_000);
  for (let n = 0; n < 10; n++) addJob(world, FREE, keyOf(FREE));
  await clock.advance(5_000);
  assert.equal(jobsWhere(world, "succeeded"), 10);
  isLocked = false;
  await clock.advance(5_000);
  assert.equal(jobsWhere(world, "succeeded"), 11);
  await world.end();
});

test("slots that cannot be given back now hold up no line that has no limit", async () => {
  const world = openWorld();
  const { clock, limits, verbs } = world;
  await limits.put(keyOf(SLOW), { concurrency: 5 });
  await clock.advance(1_000);
  addJob(world, SLOW, keyOf(SLOW));
  world.break("keepSlots");
  await clock.advance(4_000);
  assert.ok(verbs.has("keepSlots"), "the slot is idle");
  for (let n = 0; n < 10; n++) addJob(world, FREE, keyOf(FREE));
  await clock.advance(5_000);
  assert.equal(jobsWhere(world, "succeeded"), 11);
  world.break(null);
  await clock.advance(4_000);
  const held = [...world.tables.limitSlots.values()].flatMap((of) => [...of.values()]);
  assert.deepEqual(held, [], "idle slots have gone back");
  await world.end();
});

test("critical tasks that cannot be made now hold up nothing else: jobs are claimed, and taken from lines", async () => {
  const world = openWorld();
  const { clock, limits, tables } = world;
  await limits.put(keyOf(SLOW), { concurrency: 1 });
  await clock.advance(1_000);
  world.break("takeCritical");
  const atMs = tables.nowMs() + 1_000;
  const schedule = { type: "at", at: new Date(atMs).toISOString() } as const;
  addJob(world, FREE, null, { schedule, nextRunAtMs: atMs, priority: "critical" });
  addJob(world, FREE, null);
  addJob(world, SLOW, keyOf(SLOW));
  await clock.advance(5_000);
  assert.equal(jobsWhere(world, "succeeded"), 3);
  world.break(null);
  await clock.advance(5_000);
  assert.equal(jobsWhere(world, "succeeded"), 4, "it is made when it can be");
  await world.end();
});

for (const verb of ["takeCritical", "releaseLine"])
  test(`while ${verb} fails claims follow each other as ever, as long as they bring jobs`, async () => {
    const world = openWorld({ slots: 100, callMs: () => 10 });
    const { clock, tables } = world;
    await clock.advance(1_000);
    world.break(verb);
    const atMs = tables.nowMs() - 1_000;
    const schedule = { type: "at", at: new Date(atMs).toISOString() } as const;
    addJob(world, FREE, null, { schedule, nextRunAtMs: atMs, priority: "critical" });
    // Of a limit that is gone: its line is to be let go.
    addJob(world, SLOW, keyOf(SLOW));
    for (let i = 0; i < 4_000; i++) addJob(world, FREE, null);
    await clock.advance(3_000);
    assert.ok(jobsWhere(world, "succeeded") >= 4_000);
    world.break(null);
    await world.end();
  });

test("what nears its backstop in hand goes back also while nothing can be claimed", async () => {
  const world = openWorld({ callMs: () => 150_000 });
  const { clock, limits, tables } = world;
  await limits.put(keyOf(SLOW), { concurrency: 1 });
  await clock.advance(1_000);
  addJob(world, SLOW, keyOf(SLOW), { timeoutMs: 200_000 });
  await clock.advance(1_000);
  const id = addJob(world, SLOW, keyOf(SLOW), { timeoutMs: 30_000 });
  await clock.advance(5_000);
  assert.equal(tables.jobs.get(id)?.status, "running", "in hand, behind the call that lasts");
  world.break("claimDue");
  addJob(world, FREE, null);
  await clock.advance(50_000);
  assert.equal(tables.jobs.get(id)?.status, "waiting");
  world.break(null);
  await world.end();
});

test("a drain gives back what waits, without an attempt, and its slots as its calls end", async () => {
  const world = openWorld({ executors: 2, callMs: () => 3_000 });
  const { clock, limits, tables } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 4 });
  await clock.advance(1_000);
  for (let i = 0; i < 10; i++) addJob(world, SLOW, key);
  await clock.advance(1_000);
  const [first] = world.executors;
  first?.stop.abort();
  await clock.advance(500);
  assert.equal(first?.executor.load.held, first?.executor.load.sending);
  await clock.advance(30_000);
  assert.equal(await first?.ended, true);
  assert.equal(jobsWhere(world, "succeeded"), 10);
  for (const job of tables.jobs.values()) assert.deepEqual([job.attempt, job.lost], [1, 0]);
  await world.end();
});

test("a lease that cannot be renewed: limited calls end before others may have their slots, others go on", async () => {
  const world = openWorld({ executors: 1, callMs: () => 20_000 });
  const { clock, limits, endpoints, tables } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 2 });
  await clock.advance(1_000);
  for (let i = 0; i < 4; i++) addJob(world, SLOW, key);
  const free = addJob(world, FREE, null);
  await clock.advance(1_000);
  assert.deepEqual([endpoints.open.get(SLOW), endpoints.open.get(FREE)], [2, 1]);
  world.break("renew");
  await clock.advance(5_200);
  assert.deepEqual([endpoints.open.get(SLOW), endpoints.open.get(FREE)], [0, 1]);
  assert.equal(endpoints.most.get(SLOW), 2);
  world.break(null);
  await clock.advance(3_000);
  assert.equal(endpoints.open.get(SLOW), 2, "renewed, it takes slots anew");
  await clock.advance(60_000);
  assert.equal(endpoints.most.get(SLOW), 2);
  assert.equal(tables.jobs.get(free)?.attempt, 1);
  assert.equal(jobsWhere(world, "succeeded"), 5);
  for (const job of tables.jobs.values()) assert.equal(Object.keys(job.attempts).length <= 2, true);
  await world.end();
});

test("… but for those that only a rate holds back: no slot is theirs, and they go on", async () => {
  const world = openWorld({ callMs: () => 20_000 });
  const { clock, limits, endpoints, tables } = world;
  const key = keyOf(SLOW);
  const other = "other" as TenantId;
  await limits.put(key, { perSecond: 5 });
  await limits.put(keyOf(FREE, other), { perSecond: 5 });
  await limits.put(tenantKey(other), { concurrency: 2 });
  await clock.advance(1_000);
  const rated = [1, 2, 3].map(() => addJob(world, SLOW, key));
  for (let i = 0; i < 2; i++) addJob(world, FREE, keyOf(FREE, other), { tenantId: other });
  await clock.advance(3_000);
  const open = () => [endpoints.open.get(SLOW), endpoints.open.get(FREE)];
  assert.deepEqual(open(), [3, 2]);
  world.break("renew");
  await clock.advance(5_200);
  assert.deepEqual(open(), [3, 0], "the other tenant's have slots");
  world.break(null);
  await clock.advance(60_000);
  assert.equal(jobsWhere(world, "succeeded"), 5);
  for (const id of rated)
    assert.partialDeepStrictEqual(tables.jobs.get(id), { attempt: 1, lost: 0 });
  await world.end();
});

test("jobs that wait long in hand are given back, not lost", async () => {
  const world = openWorld({ executors: 1, callMs: () => 29_000 });
  const { clock, limits, tables } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 1 });
  await clock.advance(1_000);
  for (let i = 0; i < 6; i++) addJob(world, SLOW, key);
  await clock.advance(190_000);
  assert.equal(jobsWhere(world, "succeeded"), 6);
  for (const job of tables.jobs.values()) assert.deepEqual([job.attempt, job.lost], [1, 0]);
  await world.end();
});

test("however many limited calls there were, one signal is theirs and one the others', and a drain that is over ends both", async () => {
  let callMs = 5;
  const world = openWorld({ callMs: () => callMs });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { concurrency: 5 });
  await clock.advance(1_000);
  for (let i = 0; i < 200; i++) addJob(world, SLOW, keyOf(SLOW));
  for (let i = 0; i < 20; i++) addJob(world, FREE, null);
  await clock.advance(5_000);
  assert.equal(jobsWhere(world, "succeeded"), 220);
  // A signal of its own for each call, made of these, would never be let go.
  assert.equal(endpoints.signals.size, 2);
  callMs = 900_000;
  addJob(world, SLOW, keyOf(SLOW));
  addJob(world, FREE, null);
  await clock.advance(1_000);
  assert.deepEqual([endpoints.open.get(SLOW), endpoints.open.get(FREE)], [1, 1]);
  await world.end();
  assert.deepEqual([endpoints.open.get(SLOW), endpoints.open.get(FREE)], [0, 0]);
  assert.equal(jobsWhere(world, "pending") + jobsWhere(world, "waiting"), 2, "interrupted");
});

test("the database's clock is set forward: no executor takes the slots of others, whose calls go on", async () => {
  for (const stepMs of [5_000, 6_000, 3_600_000])
    for (let at = 0; at < 2_000; at += 400) {
      const world = openWorld({ executors: 3, staggerMs: 650, callMs: () => 3_000 });
      const { clock, database, endpoints, limits } = world;
      await limits.put(keyOf(SLOW), { concurrency: 2 });
      await clock.advance(5_000);
      for (let i = 0; i < 40; i++) addJob(world, SLOW, keyOf(SLOW));
      await clock.advance(1_000 + at);
      database.aheadMs += stepMs;
      await clock.advance(10_000);
      assert.equal(endpoints.most.get(SLOW), 2, `${stepMs} ms, ${at} ms later`);
    }
});

test("a lease that lapses while a job that its limit has let go waits for a slot of its executor: it goes back, and the limit holds", async () => {
  for (let at = 0; at < 1_000; at += 200) {
    const world = openWorld({
      ...{ executors: 2, staggerMs: 15_000, slots: 2 },
      callMs: ({ url }) => (url.startsWith(SLOW) ? 25_000 : 20_500),
    });
    const { clock, limits, endpoints } = world;
    const key = keyOf(SLOW);
    await limits.put(key, { concurrency: 1 });
    await clock.advance(1_000);
    for (let i = 0; i < 3; i++) addJob(world, FREE, null, { tenantId: `busy-${i}` as TenantId });
    await clock.advance(1_000);
    assert.equal(endpoints.open.get(FREE), 3, "no slot is free");
    addJob(world, SLOW, key);
    await clock.advance(3_000);
    world.break("renew");
    await clock.advance(5_500);
    world.break(null);
    await clock.advance(8_000 + at);
    addJob(world, SLOW, key);
    await clock.advance(60_000);
    assert.equal(endpoints.most.get(SLOW), 1, `${at} ms`);
    await clock.advance(60_000);
    assert.equal(jobsWhere(world, "succeeded"), 5);
  }
});

test("a wide limit of short calls is nearly used up: as many jobs are in hand as its slots do until the poll after the next", async () => {
  const world = openWorld({ slots: 40, callMs: () => 50 });
  const { clock, limits } = world;
  await limits.put(keyOf(SLOW), { concurrency: 20 });
  await clock.advance(1_000);
  for (let i = 0; i < 3_000; i++) addJob(world, SLOW, keyOf(SLOW));
  await clock.advance(2_000);
  const before = jobsWhere(world, "succeeded");
  await clock.advance(4_000);
  const done = jobsWhere(world, "succeeded") - before;
  assert.ok(done >= 0.8 * 20 * 4 * 20, `${done} of 1600`);
});

test("a limit that is raised or taken away is heard of within seconds by who has all that waits in hand, however long calls last", async () => {
  for (const raised of [{ concurrency: 2 }, { concurrency: null }]) {
    const world = openWorld({ callMs: () => 60_000 });
    const { clock, limits, endpoints } = world;
    const key = keyOf(SLOW);
    await limits.put(key, { concurrency: 1 });
    await clock.advance(1_000);
    for (let i = 0; i < 2; i++) addJob(world, SLOW, key, { timeoutMs: 120_000 });
    await clock.advance(5_000);
    assert.equal(endpoints.open.get(SLOW), 1);
    await limits.put(key, raised);
    await clock.advance(5_000);
    assert.equal(endpoints.open.get(SLOW), 2, JSON.stringify(raised));
    await clock.advance(60_000);
    await world.end();
  }
});

test("while very many results wait to be stored, no more jobs are taken, with a limit or without", async ({
  mock,
}) => {
  const world = openWorld();
  const { clock, limits, verbs } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 5 });
  await clock.advance(1_000);
  const { mock: waiting } = mock.getter(Outbox.prototype, "unwritten", () => RESULTS_WAITING_MAX);
  addJob(world, SLOW, key);
  addJob(world, FREE, null);
  verbs.clear();
  await clock.advance(5_000);
  assert.deepEqual([verbs.has("poll"), jobsWhere(world, "waiting")], [true, 1]);
  assert.deepEqual([verbs.has("takeLimited"), verbs.has("claimDue")], [false, false]);
  waiting.restore();
  await clock.advance(5_000);
  assert.equal(jobsWhere(world, "succeeded"), 2);
});
