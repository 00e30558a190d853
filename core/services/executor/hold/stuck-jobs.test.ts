/** A tenant's own long calls fill executors: its other jobs go to whoever has slots, and where nobody has, waiting costs little. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantKey } from "#core/domain/call-limit.ts";
import type { JobId } from "#core/domain/ids.ts";
import { STUCK_BACK_EVERY_MS, STUCK_BACK_MAX } from "#core/domain/limits.ts";
import type { LimitChanges } from "#core/ports/limit-store.ts";
import {
  addJob,
  FREE,
  keyOf,
  openWorld,
  SLOW,
  TENANT,
  type World,
} from "#test/support/limited-world.ts";

const OTHER = "https://other.example.com";
const SLOTS = 16;
const EXECUTORS = 3;

/** Its calls to FREE last ten minutes, or as long as is said; those to SLOW are short. */
function openFull(longMs = () => 600_000): World {
  const callMs = callOf(longMs);
  return openWorld({ executors: EXECUTORS, slots: SLOTS, staggerMs: 3_000, callMs });
}

function callOf(longMs = () => 600_000) {
  return ({ url }: { url: string }) =>
    url.startsWith(FREE) ? longMs() : url.startsWith(OTHER) ? 1_000 : 50;
}

function addLong(world: World, count: number, limitKey = null as Parameters<typeof addJob>[2]) {
  for (let i = 0; i < count; i++) addJob(world, FREE, limitKey, { timeoutMs: 900_000 });
}

/** Makes others' calls of a second for so long, so many a second. */
async function addOthers(world: World, perSecond: number, forMs: number): Promise<void> {
  let made = 0;
  for (let ms = 100; ms <= forMs; ms += 100) {
    for (; made < (perSecond * ms) / 1_000; made++)
      addJob(world, OTHER, null, { tenantId: `other-${made % 40}` });
    await world.clock.advance(100);
  }
}

const done = ({ tables }: World, ids: readonly JobId[]) =>
  ids.filter((id) => tables.jobs.get(id)?.status === "succeeded").length;

const claims = ({ tables }: World) =>
  [...tables.jobs.values()].reduce((sum, { claimNo }) => sum + claimNo, 0);

const CASES: readonly { own: LimitChanges | null; tenant?: number; withinMs: number }[] = [
  { own: null, withinMs: 6_000 },
  { own: { concurrency: 1 }, withinMs: 4_000 },
  { own: { perSecond: 5 }, withinMs: 6_000 },
  { own: null, tenant: SLOTS + 1, withinMs: 4_000 },
  { own: { concurrency: 1 }, tenant: SLOTS + 1, withinMs: 4_000 },
];
for (const { own, tenant, withinMs } of CASES)
  test(`one of three is full: ${JSON.stringify(own ?? "no limit")}, ${tenant ?? "none"} of the tenant: all is called in time`, async () => {
    for (let at = 0; at < 2_000; at += 500) {
      const world = openFull();
      const { clock, executors, limits } = world;
      const all = tenant === undefined ? null : tenantKey(TENANT);
      if (all !== null) await limits.put(all, { concurrency: tenant as number });
      await clock.advance(1_000);
      addLong(world, SLOTS, all);
      await clock.advance(10_000 + at);
      assert.deepEqual(executors.map(({ executor }) => executor.load.sending).sort(), [
        0,
        0,
        SLOTS,
      ]);
      if (own !== null) await limits.put(keyOf(SLOW), own);
      const key = own === null ? all : keyOf(SLOW);
      const ids = Array.from({ length: 20 }, () => addJob(world, SLOW, key));
      await clock.advance(withinMs);
      assert.equal(done(world, ids), 20, `begun ${at} ms later`);
    }
  });

test("a line that the full one had taken before goes to others", async () => {
  const world = openFull();
  const { clock, endpoints, executors, limits } = world;
  await limits.put(keyOf(SLOW), { concurrency: 1 });
  await clock.advance(1_000);
  addLong(world, SLOTS);
  for (let i = 0; i < 4; i++) addJob(world, SLOW, keyOf(SLOW));
  await clock.advance(1_500);
  assert.equal(executors[0]?.executor.load.sending, SLOTS);
  await clock.advance(9_000);
  assert.equal(endpoints.starts.get(SLOW)?.length, 4);
});

test("all are full: what waits is not passed round for ever, nor looked at each time", async () => {
  for (const own of [null, { concurrency: 50 }, { perSecond: 100 }]) {
    const world = openFull();
    const { clock, limits, tables } = world;
    await clock.advance(10_000);
    addLong(world, EXECUTORS * SLOTS);
    await clock.advance(30_000);
    if (own !== null) await limits.put(keyOf(SLOW), own);
    const ids = Array.from({ length: 100 }, () =>
      addJob(world, SLOW, own === null ? null : keyOf(SLOW)),
    );
    await clock.advance(10_000);
    const before = claims(world);
    await clock.advance(60_000);
    const most = EXECUTORS * (STUCK_BACK_MAX + 60_000 / STUCK_BACK_EVERY_MS);
    assert.ok(claims(world) - before <= most, `${claims(world) - before} claims`);
    for (const id of ids)
      assert.equal(
        tables.jobs.get(id)?.attempt ?? 0,
        tables.jobs.get(id)?.status === "running" ? 1 : 0,
      );
  }
});

test("all are full: a slot that is free again is used at once by a line that was left", async () => {
  let longMs = 60_070;
  const world = openFull(() => longMs);
  const { clock, endpoints, limits } = world;
  await limits.put(keyOf(SLOW), { concurrency: 1 });
  await clock.advance(10_000);
  addLong(world, 1);
  await clock.advance(2_000);
  longMs = 600_000;
  addLong(world, EXECUTORS * SLOTS - 1);
  await clock.advance(50_000);
  const endsMs = (endpoints.starts.get(FREE)?.[0] ?? 0) + 60_070;
  for (let i = 0; i < 5; i++) addJob(world, SLOW, keyOf(SLOW));
  await clock.advance(endsMs - clock.nowMs() - 1);
  assert.equal(endpoints.starts.get(SLOW), undefined);
  await clock.advance(2_000);
  const starts = (endpoints.starts.get(SLOW) ?? []).map((ms) => ms - endsMs);
  assert.ok(starts.length === 5 && (starts[0] ?? 1_000) < 10, starts.join(" "));
});

test("a line of many jobs that has gone back stops no other tenant's from going back", async () => {
  const LONG = "https://long.example.com";
  const isLong = (url: string) => url.startsWith(FREE) || url.startsWith(LONG);
  const callMs = ({ url }: { url: string }) => (isLong(url) ? 800_000 : 100);
  const world = openWorld({ executors: 2, slots: SLOTS, staggerMs: 3_000, callMs });
  const { clock, executors, limits, tables } = world;
  await limits.put(keyOf(SLOW), { perSecond: 300 });
  await clock.advance(1_000);
  for (let i = 0; i < 900; i++) addJob(world, SLOW, keyOf(SLOW));
  await clock.advance(1_500);
  const before = executors[0]?.executor.load.held ?? 0;
  for (let i = 0; i < SLOTS; i++) {
    addJob(world, FREE, null, { timeoutMs: 900_000 });
    addJob(world, LONG, null, { timeoutMs: 900_000, tenantId: "bravo" });
  }
  await clock.advance(15_000);
  const after = executors[0]?.executor.load.held ?? 0;
  assert.ok(before - after > 4 * STUCK_BACK_MAX, `${before} jobs, ${after} later`);
  for (let n = 0; n < 5; n++) {
    const id = addJob(world, SLOW, null, { tenantId: "bravo" });
    await clock.advance(7_000 + n);
    assert.equal(tables.jobs.get(id)?.status, "succeeded", `job ${n}`);
  }
});

test("others' short calls keep all slots busy everywhere: a tenant with a few long ones has its turn, with a limit too", async () => {
  for (const own of [null, { concurrency: 5 }]) {
    const world = openWorld({ executors: 2, slots: 20, callMs: callOf() });
    const { clock, executors, limits } = world;
    if (own !== null) await limits.put(keyOf(SLOW), own);
    await clock.advance(1_000);
    for (let i = 0; i < 8; i++) {
      addLong(world, 1);
      await clock.advance(50);
    }
    await clock.advance(3_000);
    assert.deepEqual(
      executors.map(({ executor }) => executor.load.sending),
      [4, 4],
    );
    await addOthers(world, 54, 6_000);
    const ids = [addJob(world, SLOW, own === null ? null : keyOf(SLOW))];
    await addOthers(world, 54, 4_000);
    assert.equal(done(world, ids), 1, JSON.stringify(own));
  }
});

test("others' short calls keep the slots busy that a tenant's long ones have left of one executor: its jobs go where there are more", async () => {
  for (const own of [null, { concurrency: 1 }, { perSecond: 5 }]) {
    const world = openWorld({ executors: 2, slots: SLOTS, staggerMs: 3_000, callMs: callOf() });
    const { clock, executors, limits } = world;
    if (own !== null) await limits.put(keyOf(SLOW), own);
    await clock.advance(1_000);
    addLong(world, 12);
    await clock.advance(6_000);
    assert.deepEqual(
      executors.map(({ executor }) => executor.load.sending),
      [12, 0],
    );
    await addOthers(world, 24, 6_000);
    const ids = [addJob(world, SLOW, own === null ? null : keyOf(SLOW))];
    await addOthers(world, 24, 5_000);
    assert.equal(done(world, ids), 1, JSON.stringify(own));
  }
});

test("critical jobs, for which there are slots, are not left to others", async () => {
  const world = openFull();
  const { clock, endpoints, limits } = world;
  await limits.put(keyOf(SLOW), { concurrency: 1 });
  await clock.advance(10_000);
  addLong(world, EXECUTORS * SLOTS);
  await clock.advance(30_000);
  for (let i = 0; i < 20; i++) addJob(world, SLOW, keyOf(SLOW), { priority: "critical" });
  await clock.advance(3_000);
  assert.equal(endpoints.starts.get(SLOW)?.length, 20);
});
