/** Slots: never more than a limit allows, whoever takes, and whoever dies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantKey } from "#core/domain/call-limit.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import { addWorker } from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { addWaiting, limitedTask, lineOf, takeLine, takeLines } from "./limited-jobs.ts";

export function limitSlotsContract(open: OpenStore): void {
  slots(open);
  holders(open);
  both(open);
}

/** Slots that the worker gets when it asks for so many. */
async function slotsOf(
  store: ContractStore,
  workerId: WorkerId,
  key: Parameters<typeof takeLine>[2],
  slotsMax: number,
): Promise<number | undefined> {
  return (await takeLine(store, workerId, key, { slotsMax, jobsMax: 0 })).lines[0]?.slots;
}

function slots(open: OpenStore): void {
  test(
    "workers share what there is; who wants fewer gives the rest back; nobody takes a job without a slot",
    onStore(open, async (store) => {
      const limited = await limitedTask(store, { concurrency: 5 });
      const { key } = limited;
      await addWaiting(store, limited, [-1_000]);
      const [a, b, c] = [await addWorker(store), await addWorker(store), await addWorker(store)];
      assert.equal(await slotsOf(store, a, key, 2), 2);
      assert.equal(await slotsOf(store, b, key, 2), 2);
      assert.equal(await slotsOf(store, c, key, 2), 1);
      assert.equal(await slotsOf(store, a, key, 5), 2);
      assert.equal(await slotsOf(store, b, key, 1), 1);
      assert.equal(await slotsOf(store, a, key, 5), 3);
      assert.equal(await slotsOf(store, c, key, 0), 0);
      assert.equal(await slotsOf(store, b, key, 9), 2);
      const none = await takeLine(store, c, key);
      assert.deepEqual([none.lines[0]?.slots, none.jobs], [0, []]);
      assert.equal(await slotsOf(store, a, key, 0), 0);
      const some = await takeLine(store, c, key);
      assert.deepEqual([some.lines[0]?.slots, some.jobs.length], [3, 1]);
    }),
  );

  test(
    "a limit that is lowered cuts whoever asks next, one that is raised is there at once",
    onStore(open, async (store) => {
      const { key } = await limitedTask(store, { concurrency: 10 });
      const [a, b] = [await addWorker(store), await addWorker(store)];
      assert.equal(await slotsOf(store, a, key, 6), 6);
      assert.equal(await slotsOf(store, b, key, 6), 4);
      await store.shard.limits.put(key, { maxConcurrency: 5 });
      assert.equal(await slotsOf(store, a, key, 6), 1);
      assert.equal(await slotsOf(store, b, key, 6), 4);
      assert.equal(await slotsOf(store, a, key, 6), 1);
      await store.shard.limits.put(key, { maxConcurrency: null });
      assert.equal(await slotsOf(store, a, key, 9), 6);
    }),
  );

  test(
    "slots that are kept are lowered, never raised; what is told of before a later take changes nothing",
    onStore(open, async (store) => {
      const { key } = await limitedTask(store, { concurrency: 10 });
      const { limits } = store.shard;
      const [a, b] = [await addWorker(store), await addWorker(store)];
      const free = async () => {
        const got = await slotsOf(store, b, key, 100);
        await slotsOf(store, b, key, 0);
        return got;
      };
      const taken = await takeLine(store, a, key, { slotsMax: 6 });
      const takenAtMs = taken.claimedAtMs;
      const keep = (slotsKept: number, atMs = takenAtMs) =>
        limits.keepSlots(a, [{ key, slots: slotsKept, takenAtMs: atMs }]);
      assert.equal(await free(), 4);
      await keep(8);
      assert.equal(await free(), 4);
      await keep(3);
      assert.equal(await free(), 7);
      await keep(0, takenAtMs - 1);
      await keep(1, takenAtMs - 1);
      assert.equal(await free(), 7);
      await keep(0);
      assert.equal(await free(), 10);
      await limits.keepSlots(a, []);
      await keep(5);
      assert.equal(await free(), 10);
    }),
  );

  test(
    "takers at once never have more than the limit together, nor a job twice",
    onStore(open, async (store) => {
      const limited = await limitedTask(store, { concurrency: 7 });
      const { key } = limited;
      const made = await addWaiting(
        store,
        limited,
        Array.from({ length: 60 }, (_, i) => -1_000 - i),
      );
      const workers = await Promise.all(Array.from({ length: 5 }, () => addWorker(store)));
      const has = new Map<WorkerId, number>();
      const jobs: string[] = [];
      for (let round = 0; round < 12; round++) {
        await Promise.all(
          workers.map(async (workerId, at) => {
            // It may lose some by asking for fewer: until it is answered it counts on those it will have.
            const slotsMax = (round + at) % 5;
            has.set(workerId, Math.min(slotsMax, has.get(workerId) ?? 0));
            const taken = await takeLine(store, workerId, key, { slotsMax, jobsMax: 2 });
            const [line] = taken.lines;
            if (line !== undefined) has.set(workerId, line.slots);
            jobs.push(...taken.jobs.map(({ id }) => id));
            const inUse = [...has.values()].reduce((sum, own) => sum + own, 0);
            assert(inUse <= 7, `${inUse} slots of 7`);
          }),
        );
      }
      assert.equal(new Set(jobs).size, jobs.length);
      assert.equal(jobs.length + (await store.listLimited()).length, made.length);
      assert(jobs.length > 0);
    }),
  );
}

function holders(open: OpenStore): void {
  test(
    "the slots of a holder whose lease ends are free, and stay so when it comes back",
    onStore(open, async (store) => {
      const { workers } = store.shard;
      const { key } = await limitedTask(store, { concurrency: 5 });
      const [a, b, c] = [await addWorker(store), await addWorker(store), await addWorker(store)];
      assert.equal(await slotsOf(store, a, key, 3), 3);
      assert.equal(await slotsOf(store, c, key, 1), 1);
      assert.equal(await slotsOf(store, b, key, 5), 1);
      await workers.renew(a, -1);
      assert.equal(await slotsOf(store, b, key, 5), 4);
      await workers.renew(a, 60_000);
      assert.equal(await slotsOf(store, a, key, 5), 0);
      await workers.renew(c, -1);
      await workers.fence(c);
      assert.equal(await slotsOf(store, a, key, 5), 1);
      await workers.remove(b);
      assert.equal(await slotsOf(store, a, key, 9), 5);
    }),
  );

  test(
    "what is set again after it was taken away begins with no slots in use",
    onStore(open, async (store) => {
      const { key } = await limitedTask(store, { concurrency: 5 });
      const [a, b] = [await addWorker(store), await addWorker(store)];
      assert.equal(await slotsOf(store, a, key, 5), 5);
      await store.shard.limits.put(key, { concurrency: null });
      await store.shard.limits.put(key, { concurrency: 5 });
      assert.equal(await slotsOf(store, b, key, 5), 5);
      assert.equal(await slotsOf(store, a, key, 5), 0);
    }),
  );
}

function both(open: OpenStore): void {
  test(
    "a job of a limited endpoint of a limited tenant takes a slot of each",
    onStore(open, async (store) => {
      const one = await limitedTask(store, { concurrency: 5 });
      const { tenantId } = one.task;
      const own = tenantKey(tenantId);
      await store.shard.limits.put(own, { concurrency: 3 });
      await addWaiting(store, one, [-2_000]);
      const [a, b] = [await addWorker(store), await addWorker(store)];
      const first = await takeLine(store, a, one.key, { tenantSlotsMax: 3, jobsMax: 0 });
      const tenantLimit = { concurrency: 3, perSecond: null };
      assert.deepEqual(first.lines[0]?.tenant, { limit: tenantLimit, slots: 3 });
      const none = await takeLine(store, b, one.key);
      assert.deepEqual([none.lines[0]?.tenant.slots, none.jobs], [0, []]);
      await takeLine(store, a, one.key, { tenantSlotsMax: 1, jobsMax: 0, slotsMax: 0 });
      const some = await takeLine(store, b, one.key, { slotsMax: 2 });
      assert.deepEqual([some.lines[0]?.slots, some.lines[0]?.tenant.slots], [2, 2]);
      assert.equal(some.jobs.length, 1);
      // The tenant's own line shares the key: of several wishes the largest holds.
      const lines = [lineOf(own, { slotsMax: 1 }), lineOf(one.key, { tenantSlotsMax: 2 })];
      const shared = await takeLines(store, b, lines);
      assert.deepEqual(
        shared.lines.map((line) => [line.slots, line.tenant.slots]),
        [
          [2, 2],
          [5, 2],
        ],
      );
    }),
  );

  test(
    "another tenant's limit on the same endpoint is another limit",
    onStore(open, async (store) => {
      const [one, other] = [
        await limitedTask(store, { concurrency: 1 }),
        await limitedTask(store, { concurrency: 1 }),
      ];
      const [a, b] = [await addWorker(store), await addWorker(store)];
      assert.equal(await slotsOf(store, a, one.key, 5), 1);
      assert.equal(await slotsOf(store, b, other.key, 5), 1);
    }),
  );
}
