/** Rates where slots are short, or what calls need takes its time: how many calls of a limit start in a second, and that all go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { addJob, FREE, jobsWhere, keyOf, openWorld, SLOW } from "#test/support/limited-world.ts";

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
