/** Rates where slots are short, or what calls need takes its time: how many calls of a limit start in a second, and that all go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import {
  addJob,
  FREE,
  jobsWhere,
  keyOf,
  openWorld,
  SLOW,
  TENANT,
} from "#test/support/limited-world.ts";

/** The most that started in a second, whenever it begins. */
function mostInSecond(startsAtMs: readonly number[]): number {
  const sorted = [...startsAtMs].sort((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (const [i, atMs] of sorted.entries()) {
    while ((sorted[first] ?? 0) <= atMs - 1_000) first++;
    most = Math.max(most, i - first + 1);
  }
  return most;
}

test("a rate holds when slots come free that all hung, and goes on as soon as it can", async () => {
  for (const { perSecond, executors } of [
    { perSecond: 10, executors: 1 },
    { perSecond: 40, executors: 3 },
  ]) {
    const isSlow = (url: string) => url.startsWith(SLOW);
    const world = openWorld({ executors, callMs: ({ url }) => (isSlow(url) ? 5 : 5_000) });
    const { clock, limits, endpoints } = world;
    await limits.put(keyOf(SLOW), { perSecond });
    await clock.advance(1_000);
    for (let i = 0; i < 20 * perSecond; i++) addJob(world, SLOW, keyOf(SLOW));
    await clock.advance(3_000);
    for (let i = 0; i < 30 * executors; i++) addJob(world, FREE, null, { priority: "high" });
    await clock.advance(12_000);
    const hung = (endpoints.starts.get(SLOW) ?? []).length;
    await clock.advance(14_000);
    assert.ok(mostInSecond(endpoints.starts.get(SLOW) ?? []) <= perSecond + 1);
    assert.ok(hung < 15 * perSecond, "slots were short");
    assert.equal(jobsWhere(world, "succeeded"), 20 * perSecond + 30 * executors);
    for (const job of world.tables.jobs.values()) assert.deepEqual([job.attempt, job.lost], [1, 0]);
    await world.end();
  }
});

test("an endpoint whose calls hang in all of its slots leaves its tenant's rate to the others", async () => {
  for (const { executors, perSecond, slots, byOperator } of [
    { executors: 1, perSecond: 2, slots: 10, byOperator: false },
    { executors: 1, perSecond: 20, slots: 40, byOperator: true },
    { executors: 2, perSecond: 5, slots: 10, byOperator: true },
    { executors: 3, perSecond: 5, slots: 10, byOperator: false },
  ]) {
    const isSlow = (url: string) => url.startsWith(SLOW);
    const callMs = ({ url }: { url: string }) => (isSlow(url) ? 55_000 : 50);
    const world = openWorld({ executors, staggerMs: 300, slots: 200, callMs });
    const { clock, limits, endpoints } = world;
    await limits.put(keyOf(SLOW), { [byOperator ? "maxConcurrency" : "concurrency"]: slots });
    await limits.put(tenantKey(TENANT), { perSecond });
    await clock.advance(2_000);
    for (let i = 0; i < 300; i++) addJob(world, SLOW, keyOf(SLOW), { timeoutMs: 60_000 });
    await clock.advance(20_000);
    assert.equal(endpoints.open.get(SLOW), slots);
    for (let i = 0; i < 900; i++) addJob(world, FREE, tenantKey(TENANT));
    await clock.advance(30_000);
    const calls = endpoints.starts.get(FREE)?.length ?? 0;
    assert.ok(calls > 0.85 * 30 * perSecond, `${calls} of ${30 * perSecond}, ${executors}`);
    await world.end();
  }
});

test("a line with slots and a rate comes to its rate, at few polls: what ends while the database answers is counted", async () => {
  for (const { own, tenants, statementMs, calls } of [
    { own: { concurrency: 1, perSecond: 20 }, tenants: null, statementMs: 15, calls: 200 },
    { own: { concurrency: 1, perSecond: 50 }, tenants: null, statementMs: 0, calls: 500 },
    { own: { concurrency: 1, perSecond: 50 }, tenants: null, statementMs: 3, calls: 500 },
    { own: { concurrency: 2, perSecond: 50 }, tenants: null, statementMs: 3, calls: 500 },
    { own: { concurrency: 5, perSecond: 200 }, tenants: null, statementMs: 3, calls: 2_000 },
    { own: { maxConcurrency: 5 }, tenants: 50, statementMs: 15, calls: 500 },
    { own: { maxConcurrency: 20 }, tenants: 200, statementMs: 3, calls: 2_000 },
  ]) {
    let polls = 0;
    const onVerb = (verb: string) => {
      if (verb === "poll") polls++;
    };
    const verbMs = (verb: string) => (verb === "takeLimited" ? 9 : 1) * statementMs;
    const world = openWorld({ slots: 200, callMs: () => 10, verbMs, onVerb });
    const { clock, limits, endpoints } = world;
    const put = [limits.put(keyOf(SLOW), own)];
    if (tenants !== null) put.push(limits.put(tenantKey(TENANT), { perSecond: tenants }));
    await clock.advance(2_000);
    await Promise.all(put);
    for (let i = 0; i < 1.4 * calls; i++) addJob(world, SLOW, keyOf(SLOW));
    await clock.advance(2_000);
    const before = endpoints.starts.get(SLOW)?.length ?? 0;
    polls = 0;
    await clock.advance(10_000);
    const made = (endpoints.starts.get(SLOW)?.length ?? 0) - before;
    const told = `${made} of ${calls} calls, ${polls} polls: ${JSON.stringify({ own, tenants, statementMs })}`;
    assert.ok(made >= 0.95 * calls && polls <= 80, told);
    await world.end();
  }
});

test("of two lines of a tenant's rate whose jobs were due at the same moment neither waits for the other", async () => {
  const world = openWorld({ slots: 100, callMs: () => 5 });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { concurrency: 10 });
  await limits.put(tenantKey(TENANT), { perSecond: 5 });
  await clock.advance(2_000);
  for (let i = 0; i < 400; i++) addJob(world, SLOW, keyOf(SLOW));
  for (let i = 0; i < 400; i++) addJob(world, FREE, tenantKey(TENANT));
  await clock.advance(60_000);
  for (const url of [SLOW, FREE]) {
    const calls = endpoints.starts.get(url)?.length ?? 0;
    assert.ok(calls > 100, `${calls} of 300`);
  }
  await world.end();
});

test("a rate holds in another tenant's peak, and is nearly used up", async () => {
  const world = openWorld({ callMs: ({ url }) => (url.startsWith(SLOW) ? 5 : 15) });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { perSecond: 20 });
  await clock.advance(1_000);
  for (let i = 0; i < 160; i++) addJob(world, SLOW, keyOf(SLOW), { priority: "low" });
  await clock.advance(2_000);
  for (let i = 0; i < 2_000; i++)
    addJob(world, FREE, null, { tenantId: `t${i % 100}` as TenantId, priority: "critical" });
  await clock.advance(8_000);
  const starts = endpoints.starts.get(SLOW) ?? [];
  assert.ok(mostInSecond(starts) <= 21, `${mostInSecond(starts)} in a second`);
  assert.ok(starts.length >= 140, `${starts.length} calls`);
  await world.end();
});

test("where what a call needs takes longer than its instant is good, the rate holds and every job is called", async () => {
  for (const jobs of [1, 60]) {
    let reads = 0;
    // Payloads of runs by hand are read for each call.
    const readMs = () => (reads++ < 15 ? 900 : 90);
    const world = openWorld({ verbMs: (verb) => (verb === "find" ? readMs() : 0) });
    const { clock, limits, endpoints } = world;
    await limits.put(keyOf(SLOW), { perSecond: 30 });
    await clock.advance(1_000);
    for (let i = 0; i < jobs; i++) addJob(world, SLOW, keyOf(SLOW), {}, "manual");
    await clock.advance(6_000);
    assert.equal(jobsWhere(world, "succeeded"), jobs);
    assert.ok(mostInSecond(endpoints.starts.get(SLOW) ?? []) <= 31);
    for (const job of world.tables.jobs.values()) assert.deepEqual([job.attempt, job.lost], [1, 0]);
    await world.end();
  }
});

test("a tenant's rate holds over its endpoints, whose own are slower", async () => {
  const world = openWorld({ callMs: ({ url }) => (url.startsWith(FREE) ? 400 : 5) });
  const { clock, limits, endpoints } = world;
  const urls = Array.from({ length: 12 }, (_, i) => `https://e${i}.example.com`);
  await limits.put(tenantKey("acme" as TenantId), { perSecond: 10 });
  for (const url of urls) await limits.put(keyOf(url), { perSecond: 1 });
  await clock.advance(1_000);
  for (const url of urls) for (let i = 0; i < 20; i++) addJob(world, url, keyOf(url));
  const other = { tenantId: "other" as TenantId, priority: "high" };
  for (let i = 0; i < 300; i++) addJob(world, FREE, null, other);
  await clock.advance(30_000);
  const starts = urls.flatMap((url) => endpoints.starts.get(url) ?? []);
  assert.ok(mostInSecond(starts) <= 11, `${mostInSecond(starts)} in a second`);
  assert.ok(starts.length > 150, `${starts.length} calls`);
  for (const url of urls) assert.ok(mostInSecond(endpoints.starts.get(url) ?? []) <= 2);
  await world.end();
});

test("a tenant's rate is used up by its other jobs where an endpoint's own is slower and has more urgent ones", async () => {
  for (const executors of [1, 3]) {
    const world = openWorld({ executors, slots: 100, staggerMs: 300, callMs: () => 50 });
    const { clock, limits, endpoints } = world;
    await limits.put(keyOf(SLOW), { perSecond: 2 });
    await limits.put(tenantKey(TENANT), { perSecond: 20 });
    await clock.advance(2_000);
    for (let i = 0; i < 100; i++) addJob(world, SLOW, keyOf(SLOW), { priority: "high" });
    for (let i = 0; i < 700; i++) addJob(world, FREE, tenantKey(TENANT));
    await clock.advance(30_000);
    const calls = [SLOW, FREE].map((url) => endpoints.starts.get(url)?.length ?? 0);
    const all = calls.reduce((sum, count) => sum + count, 0);
    assert.ok(all >= 0.93 * 20 * 30, `${executors} executors: ${calls} of 600 calls`);
    await world.end();
  }
});

test("a rate is used up however long its calls last: those that are under way keep no other from being taken", async () => {
  for (const executors of [1, 3])
    for (const key of [keyOf(SLOW), tenantKey(TENANT)]) {
      const world = openWorld({ executors, slots: 200, staggerMs: 300, callMs: () => 25_000 });
      const { clock, limits, endpoints } = world;
      await limits.put(key, { perSecond: 5 });
      await clock.advance(2_000);
      for (let i = 0; i < 300; i++) addJob(world, SLOW, key, { timeoutMs: 60_000 });
      await clock.advance(30_000);
      const starts = endpoints.starts.get(SLOW) ?? [];
      assert.ok(starts.length >= 0.9 * 5 * 30, `${executors}: ${starts.length} of 150 calls`);
      assert.ok(mostInSecond(starts) <= 6);
    }
});

test("where calls hang until all slots are full, few more jobs of a rate are in hand", async () => {
  const world = openWorld({ executors: 3, slots: 20, staggerMs: 300, callMs: () => 120_000 });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { perSecond: 5 });
  await clock.advance(2_000);
  for (let i = 0; i < 200; i++) addJob(world, SLOW, keyOf(SLOW), { timeoutMs: 150_000 });
  await clock.advance(60_000);
  assert.equal(endpoints.open.get(SLOW), 60);
  const inHand = jobsWhere(world, "running");
  assert.ok(inHand <= 60 + 3 * 8, `${inHand} jobs`);
});
