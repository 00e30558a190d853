/** The database's clock is set back, mostly by an hour: what executors remember by it holds nothing up. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { JobId } from "#core/domain/ids.ts";
import { POLL_PERIOD_MS } from "#core/domain/limits.ts";
import * as plain from "#test/support/executor-world.ts";
import { addJob, FREE, keyOf, openWorld, SLOW, type World } from "#test/support/limited-world.ts";

const HOUR_MS = 3_600_000;

const statusOf = ({ tables }: World, id: JobId) => tables.jobs.get(id)?.status;

test("a rate goes on within seconds, with calls that were taken ahead and without", async () => {
  for (const executors of [1, 3]) {
    const world = openWorld({ executors });
    const { clock, database, endpoints, limits } = world;
    const key = keyOf(SLOW);
    await limits.put(key, { perSecond: 5 });
    await clock.advance(1_000);
    for (let i = 0; i < 40; i++) addJob(world, SLOW, key);
    await clock.advance(2_500);
    database.aheadMs -= HOUR_MS;
    const fresh = addJob(world, SLOW, key);
    await clock.advance(10_000);
    assert.equal(statusOf(world, fresh), "succeeded", `${executors} executors`);
    const starts = endpoints.starts.get(SLOW) ?? [];
    for (const fromMs of starts) {
      const within = starts.filter((ms) => ms >= fromMs && ms < fromMs + 1_000).length;
      assert.ok(within <= 6, `${within} in a second`);
    }
    await world.end();
  }
});

test("who was told that others have all slots asks again; slots that nobody uses go back", async () => {
  const world = openWorld({ executors: 2, callMs: () => 400 });
  const { clock, database, executors, limits, tables } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 1 });
  await clock.advance(1_000);
  for (let i = 0; i < 30; i++) addJob(world, SLOW, key);
  await clock.advance(2_000);
  database.aheadMs -= HOUR_MS;
  const held = executors.map(({ executor }) => executor.load.held);
  executors[held.indexOf(Math.max(...held))]?.stop.abort();
  const fresh = addJob(world, SLOW, key);
  await clock.advance(10_000);
  assert.equal(statusOf(world, fresh), "succeeded");
  await clock.advance(10_000);
  assert.deepEqual([...(tables.limitSlots.get(key) ?? [])], []);
  await world.end();
});

test("of four slots those that are not used go back within 10 s", async () => {
  const world = openWorld({ executors: 2 });
  const { clock, database, limits, tables } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 4 });
  await clock.advance(1_000);
  for (let i = 0; i < 12; i++) addJob(world, SLOW, key);
  await clock.advance(500);
  database.aheadMs -= HOUR_MS;
  await clock.advance(10_000);
  assert.deepEqual([...(tables.limitSlots.get(key) ?? [])], []);
  await world.end();
});

test("a slot that a full executor has for jobs of before goes to who has room for those that are due", async () => {
  for (const stepMs of [1_500, 3_000, 60_000, HOUR_MS]) {
    const callMs = ({ url }: { url: string }) => (url.startsWith(FREE) ? 600_000 : 50);
    const world = openWorld({ executors: 2, slots: 16, staggerMs: 3_000, callMs });
    const { clock, database, limits } = world;
    const key = keyOf(SLOW);
    await limits.put(key, { concurrency: 1 });
    await clock.advance(1_000);
    for (let i = 0; i < 16; i++) addJob(world, FREE, null, { timeoutMs: 900_000 });
    await clock.advance(500);
    for (let i = 0; i < 2; i++) addJob(world, SLOW, key);
    await clock.advance(800);
    database.aheadMs -= stepMs;
    const fresh = addJob(world, SLOW, key);
    await clock.advance(10_000);
    assert.equal(statusOf(world, fresh), "succeeded", `${stepMs} ms back`);
  }
});

test("an executor that is full of jobs of before gives them back and calls what is due", async () => {
  const world = plain.openWorld({ endpoint: () => ({ status: 200, afterMs: 500 }) });
  const { clock, database, tables } = world;
  await clock.advance(1_000);
  for (let i = 0; i < 200; i++) plain.addJob(tables, 2_000);
  await clock.advance(1_300);
  database.aheadMs -= 60_000;
  const id = plain.addJob(tables, 0);
  await clock.advance(3_000);
  assert.equal(plain.jobOf(tables, id).status, "succeeded");
  await clock.advance(90_000);
  for (const job of tables.jobs.values())
    assert.deepEqual([job.status, job.attempt], ["succeeded", 1]);
  await plain.endWorld(world);
});

test("a lane that was not in use is found as soon as ever", async () => {
  for (let at = 0; at < 10; at++) {
    const world = plain.openWorld();
    const { clock, database, tables } = world;
    await clock.advance(10_000 + at * POLL_PERIOD_MS);
    database.aheadMs -= HOUR_MS;
    const id = plain.addJob(tables, 0);
    tables.jobs.set(id, { ...plain.jobOf(tables, id), queue: 37 });
    await clock.advance(12 * POLL_PERIOD_MS);
    assert.equal(plain.jobOf(tables, id).status, "succeeded", `${at} polls later`);
    await plain.endWorld(world);
  }
});

test("what was made while no poll was answered is found by the first that is", async () => {
  for (const gapMs of [3_000, 8_000, 60_000]) {
    const world = plain.openWorld();
    const { clock, database, tables, faults } = world;
    await clock.advance(10_000);
    const error = () => new StoreUnavailable("failover");
    faults.set("poll", { when: "before", error, left: Number.POSITIVE_INFINITY });
    await clock.advance(500);
    database.aheadMs -= HOUR_MS;
    const first = plain.addJob(tables, 0);
    await clock.advance(gapMs);
    faults.delete("poll");
    const last = plain.addJob(tables, 0);
    await clock.advance(4_000);
    for (const id of [first, last])
      assert.equal(plain.jobOf(tables, id).status, "succeeded", `${gapMs} ms`);
    await plain.endWorld(world);
  }
});
