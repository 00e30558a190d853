/** Limits that are used up: who of a line, and of a tenant's lines, has which part of them. Time is moved by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantKey } from "#core/domain/call-limit.ts";
import type { JobId } from "#core/domain/ids.ts";
import {
  addJob,
  FREE,
  keyOf,
  openWorld,
  SLOW,
  TENANT,
  type World,
} from "#test/support/limited-world.ts";

const FAILING = `${SLOW}/failing`;
const KEY = keyOf(SLOW);
/** Each is used up by a call a second. */
const LIMITS = [{ perSecond: 1 }, { concurrency: 1 }] as const;

function openFull(executors: number): World {
  return openWorld({
    ...{ executors, staggerMs: 300 },
    callMs: () => 1_000,
    statusOf: ({ url }) => (url.startsWith(FAILING) ? 500 : 200),
  });
}

/** A job every second that could have all of the limit. */
async function goOn(world: World, seconds: number, each: () => void): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    each();
    await world.clock.advance(1_000);
  }
}

function attemptsOf({ tables }: World, id: JobId): number {
  return Object.keys(tables.jobs.get(id)?.attempts ?? {}).length;
}

function succeeded({ tables }: World, ids: readonly JobId[]): number {
  return ids.filter((id) => tables.jobs.get(id)?.status === "succeeded").length;
}

test("a limit that a high task uses up every second: a low job has its turn, and so have the retries of another", async () => {
  for (const limit of LIMITS)
    for (const executors of [1, 2, 3]) {
      const world = openFull(executors);
      await world.limits.put(KEY, limit);
      await world.clock.advance(2_000);
      const high = () => addJob(world, SLOW, KEY, { priority: "high" });
      for (let i = 0; i < 10; i++) high();
      const low = addJob(world, SLOW, KEY, { priority: "low" });
      const failing = addJob(world, FAILING, KEY, { priority: "high" });
      await goOn(world, 120, high);
      const name = `${JSON.stringify(limit)}, ${executors} executors`;
      assert.equal(succeeded(world, [low]), 1, name);
      assert.ok(attemptsOf(world, failing) >= 3, `${attemptsOf(world, failing)} calls: ${name}`);
      await world.end();
    }
});

test("a limit that is short is shared 6 : 3 : 1 between high, normal and low, and what one does not use the others have", async () => {
  for (const limit of LIMITS)
    for (const executors of [1, 3]) {
      const world = openFull(executors);
      await world.limits.put(KEY, limit);
      await world.clock.advance(2_000);
      const add = (priority: string) =>
        Array.from({ length: 100 }, () => addJob(world, SLOW, KEY, { priority }));
      const [high, normal, low] = [add("high"), add("normal"), add("low")];
      await world.clock.advance(120_000);
      const had = [high, normal, low].map((ids) => succeeded(world, ids));
      const name = `${had} of ${JSON.stringify(limit)}, ${executors} executors`;
      const all = had.reduce((sum, count) => sum + count, 0);
      assert.ok(all >= 96, name);
      for (const [at, part] of [0.6, 0.3, 0.1].entries())
        assert.ok(Math.abs((had[at] ?? 0) - part * all) <= 0.1 * all, name);
      await world.end();
    }
});

test("lines of a tenant share its own limit the same way, whichever has the more urgent jobs", async () => {
  for (const limit of LIMITS)
    for (const executors of [1, 3]) {
      const world = openFull(executors);
      await world.limits.put(KEY, { concurrency: 50 });
      await world.limits.put(tenantKey(TENANT), limit);
      await world.clock.advance(2_000);
      const high = Array.from({ length: 120 }, () =>
        addJob(world, SLOW, KEY, { priority: "high" }),
      );
      const low = Array.from({ length: 120 }, () =>
        addJob(world, FREE, tenantKey(TENANT), { priority: "low" }),
      );
      await world.clock.advance(120_000);
      const had = [high, low].map((ids) => succeeded(world, ids));
      const name = `${had} of ${JSON.stringify(limit)}, ${executors} executors`;
      const all = had.reduce((sum, count) => sum + count, 0);
      assert.ok(all >= 96, name);
      assert.ok(Math.abs((had[1] ?? 0) - all / 7) <= 0.1 * all, name);
      await world.end();
    }
});

test("critical jobs of a tenant's line are called before low ones of its endpoint's, which would use up its rate", async () => {
  for (const perSecond of [0.05, 2])
    for (const executors of [1, 2]) {
      const world = openWorld({ executors, staggerMs: 300, slots: 100 });
      await world.limits.put(KEY, { concurrency: 50 });
      await world.limits.put(tenantKey(TENANT), { perSecond });
      await world.clock.advance(2_000);
      for (let i = 0; i < 100; i++) addJob(world, SLOW, KEY, { priority: "low" });
      await world.clock.advance(5_000);
      const critical: JobId[] = [];
      for (let i = 0; i < 30; i++) {
        critical.push(addJob(world, FREE, tenantKey(TENANT), { priority: "critical" }));
        await world.clock.advance(2_100 / perSecond);
      }
      const had = succeeded(world, critical);
      assert.ok(had >= 28, `${had} of 30 at ${perSecond}/s, ${executors} executors`);
      await world.end();
    }
});
