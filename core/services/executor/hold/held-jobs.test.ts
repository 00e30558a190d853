/** What happens at the instant at which thousands of held jobs fall due. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import type { CarriedVersion } from "#core/ports/task-store.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { DatabaseClock } from "../database-clock.ts";
import type { Claimed, HeldJob } from "./held-job.ts";
import { HeldJobs } from "./held-jobs.ts";

const [CRITICAL, LOW] = [0, 48] as const;
const SLOTS = 8;
const DUE_IN_MS = 1_000;

function openHeld(tenants = 50) {
  const clock = new ManualClock();
  const database = new DatabaseClock(clock);
  database.addSample(0, 0, clock.nowMs());
  const rounds: HeldJob[][] = [];
  const held: HeldJobs = new HeldJobs(clock, database, SLOTS, () => {
    const taken: HeldJob[] = [];
    for (let job = held.takeReady(); job !== null; job = held.takeReady()) taken.push(job);
    rounds.push(taken);
  });
  const add = (queue: number, count: number) =>
    held.add(
      Array.from({ length: count }, (_, i) =>
        claimed(queue, i % tenants, clock.nowMs() + DUE_IN_MS),
      ),
    );
  return { clock, held, add, rounds };
}

function claimed(queue: number, tenant: number, runAtMs: number): Claimed {
  const tenantId = `tenant-${tenant}` as TenantId;
  const job = { queue, runAtMs, tenantId, limitKey: null } as ClaimedJob;
  const version = { request: { url: "http://a/" } } as CarriedVersion;
  return { job, version, workerId: "" as HeldJob["workerId"], claimedAtMs: 0 };
}

test("of thousands that are due at once the most urgent are called before the others are even looked at", async () => {
  const { clock, held, add, rounds } = openHeld();
  add(LOW, 5_000);
  add(CRITICAL, 100);
  await clock.advance(DUE_IN_MS - 1);
  assert.equal(rounds.length, 0);
  await clock.advance(1);
  const [first = []] = rounds;
  assert.equal(first.length, SLOTS + 1);
  assert.ok(first.every(({ job }) => job.queue === CRITICAL));
  assert.ok(rounds.length >= 5_100 / 256, `all in ${rounds.length} rounds`);
  const called = rounds.flat();
  for (const job of called) held.remove(job);
  for (let job = held.takeReady(); job !== null; job = held.takeReady()) {
    called.push(job);
    held.remove(job);
  }
  assert.equal(called.length, 5_100);
  assert.equal(held.size, 0);
});

test("a peak presses while more critical jobs wait for a slot than there are slots, and their calls are short", async () => {
  const { clock, held, add, rounds } = openHeld();
  add(CRITICAL, 3 * SLOTS);
  assert.equal(held.pressed, false);
  await clock.advance(DUE_IN_MS);
  assert.equal(held.pressed, true);
  await clock.advance(50);
  assert.equal(held.pressed, false, "they last");
  for (const job of rounds.flat()) held.remove(job);
  assert.equal(held.pressed, true);
  while (held.pressed) {
    const next = held.takeReady();
    assert.equal(next?.job.queue, CRITICAL);
    if (next !== null) held.remove(next);
  }
  assert.equal(held.readyOf(CRITICAL), SLOTS);
});

test("on a busy machine, where any call lasts some tens of ms, no tenant's jobs are put off", async () => {
  const { clock, held, add } = openHeld(1);
  add(LOW, 5_000);
  await clock.advance(DUE_IN_MS + 100);
  assert.equal(held.lasting, 5_000, "its calls last, and it has all the slots");
  assert.deepEqual(held.takePutOff(4_000, 5_000), []);
  await clock.advance(100);
  const startsIn4s = (SLOTS * 4_000) / (2 * 200);
  assert.equal(held.takePutOff(4_000, 5_000).length, 5_000 - SLOTS - startsIn4s, "they hang");
});
