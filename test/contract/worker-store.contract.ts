/** What every WorkerStore must do: leases on the database's clock, and a fence that only an expired lease lets pass. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { WorkerId } from "#core/domain/ids.ts";
import { FENCED_KEPT_MS } from "#core/domain/limits.ts";
import { addTask, addWorker, dbNow, makeWorker, plannedJob } from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

/** Registers the whole suite of the WorkerStore port for the adapter called `name`. */
export function workerStoreContract(name: string, open: OpenStore): void {
  describe(`${name}: worker store`, () => {
    renews(open);
    fences(open);
    listsAndRemoves(open);
    prunes(open);
  });
}

function renews(open: OpenStore): void {
  test(
    "a registered worker renews; an unknown one is fenced",
    onStore(open, async ({ shard: { workers } }) => {
      const workerId = makeWorker();
      assert.deepEqual(await workers.renew(workerId, 6_000), { kind: "fenced" });
      await workers.register(workerId, 6_000);
      assert.deepEqual(await workers.renew(workerId, 6_000), { kind: "renewed" });
      assert.deepEqual(await workers.renew(workerId, 6_000), { kind: "renewed" });
      assert.deepEqual(await workers.renew(makeWorker(), 6_000), { kind: "fenced" });
    }),
  );

  test(
    "a registration that is repeated extends the lease, and revives nobody who was fenced meanwhile",
    onStore(open, async ({ shard: { workers } }) => {
      const workerId = makeWorker();
      await workers.register(workerId, -5_000);
      await workers.register(workerId, 60_000);
      assert.deepEqual(await workers.listExpired(10), []);
      assert.equal(await workers.fence(workerId), false);
      await workers.renew(workerId, -5_000);
      assert.equal(await workers.fence(workerId), true);
      await workers.register(workerId, 60_000);
      assert.deepEqual(await workers.renew(workerId, 60_000), { kind: "fenced" });
      assert.deepEqual(await workers.listFenced(10), [workerId]);
    }),
  );

  test(
    "a lease that passed can be renewed as long as nobody has fenced it, and is live again",
    onStore(open, async (store) => {
      const { workers } = store.shard;
      const workerId = await addExpired(store, 5_000);
      assert.deepEqual(await workers.listExpired(10), [workerId]);
      assert.deepEqual(await workers.renew(workerId, 60_000), { kind: "renewed" });
      assert.deepEqual(await workers.listExpired(10), []);
      assert.equal(await workers.fence(workerId), false);
    }),
  );
}

function fences(open: OpenStore): void {
  test(
    "an expired worker is fenced once, and then neither renews nor shows as expired",
    onStore(open, async (store) => {
      const { workers } = store.shard;
      const workerId = await addExpired(store, 5_000);
      assert.equal(await workers.fence(workerId), true);
      assert.equal(await workers.fence(workerId), false);
      assert.deepEqual(await workers.renew(workerId, 60_000), { kind: "fenced" });
      assert.deepEqual(await workers.listExpired(10), []);
    }),
  );

  test(
    "a live worker and an unknown one are not fenced",
    onStore(open, async (store) => {
      const { workers } = store.shard;
      const workerId = await addWorker(store);
      assert.equal(await workers.fence(workerId), false);
      assert.equal(await workers.fence(makeWorker()), false);
      assert.deepEqual(await workers.renew(workerId, 60_000), { kind: "renewed" });
    }),
  );

  test(
    "of several who fence at once, one did it",
    onStore(open, async (store) => {
      const workerId = await addExpired(store, 5_000);
      const fence = () => store.shard.workers.fence(workerId);
      const done = await Promise.all([fence(), fence(), fence(), fence()]);
      assert.equal(done.filter(Boolean).length, 1);
    }),
  );

  test(
    "a fence and a renewal at once: one of them wins",
    onStore(open, async (store) => {
      const { workers } = store.shard;
      const workerId = await addExpired(store, 5_000);
      const [fenced, renewal] = await Promise.all([
        workers.fence(workerId),
        workers.renew(workerId, 60_000),
      ]);
      assert.equal(renewal.kind, fenced ? "fenced" : "renewed");
    }),
  );
}

function listsAndRemoves(open: OpenStore): void {
  test(
    "expired workers are listed oldest first, up to the limit",
    onStore(open, async (store) => {
      const { workers } = store.shard;
      const middle = await addExpired(store, 20_000);
      const oldest = await addExpired(store, 30_000);
      const newest = await addExpired(store, 10_000);
      await addWorker(store);
      assert.deepEqual(await workers.listExpired(10), [oldest, middle, newest]);
      assert.deepEqual(await workers.listExpired(2), [oldest, middle]);
    }),
  );

  test(
    "a removed worker is gone; removing again changes nothing",
    onStore(open, async (store) => {
      const { workers } = store.shard;
      const workerId = await addExpired(store, 5_000);
      const other = await addWorker(store);
      await workers.remove(workerId);
      await workers.remove(workerId);
      assert.deepEqual(await workers.listExpired(10), []);
      assert.deepEqual(await workers.renew(workerId, 60_000), { kind: "fenced" });
      assert.equal(await workers.fence(workerId), false);
      assert.deepEqual(await workers.renew(other, 60_000), { kind: "renewed" });
    }),
  );
}

/** A worker whose lease was over `agoMs` before now. */
async function addExpired(store: ContractStore, agoMs: number): Promise<WorkerId> {
  const workerId = makeWorker();
  await store.shard.workers.register(workerId, -agoMs);
  return workerId;
}

function prunes(open: OpenStore): void {
  test(
    "rows fenced long ago are removed, unless jobs still run under them",
    onStore(open, async (store) => {
      const { workers } = store.shard;
      const [idle, holder, young, live] = await Promise.all([
        addExpired(store, 5_000),
        addExpired(store, 5_000),
        addExpired(store, 5_000),
        addWorker(store),
      ]);
      for (const workerId of [idle, holder, young]) await workers.fence(workerId);
      for (const workerId of [idle, holder]) {
        await store.putFencedAt(workerId, (await dbNow(store)) - FENCED_KEPT_MS - 1_000);
      }
      await store.putFencedAt(young, (await dbNow(store)) - FENCED_KEPT_MS + 60_000);
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const held = plannedJob(task, nowMs, -1_000);
      await store.putJob({ ...held, status: "running", claimNo: 1, workerId: holder });
      await store.putJob({ ...plannedJob(task, nowMs, -2_000), claimNo: 1, workerId: idle });
      assert.equal(await workers.pruneFenced(10), 1);
      assert.equal(await workers.pruneFenced(10), 0);
      await store.putJob({ ...held, status: "pending", claimNo: 1, workerId: holder });
      assert.equal(await workers.pruneFenced(10), 1);
      assert.deepEqual(await workers.renew(live, 60_000), { kind: "renewed" });
      assert.deepEqual(await workers.renew(holder, 60_000), { kind: "fenced" });
    }),
  );

  test(
    "lists fenced workers, the last fenced first, up to the limit",
    onStore(open, async (store) => {
      const { workers } = store.shard;
      const ids = [await addExpired(store, 5_000), await addExpired(store, 5_000)];
      await addExpired(store, 5_000);
      for (const [at, workerId] of ids.entries()) {
        await workers.fence(workerId);
        await store.putFencedAt(workerId, (await dbNow(store)) - 10_000 * at);
      }
      assert.deepEqual(await workers.listFenced(10), ids);
      assert.deepEqual(await workers.listFenced(1), [ids[0]]);
    }),
  );

  test(
    "prunes up to the limit",
    onStore(open, async (store) => {
      const { workers } = store.shard;
      for (let n = 0; n < 5; n++) {
        const workerId = await addExpired(store, 5_000);
        await workers.fence(workerId);
        await store.putFencedAt(workerId, (await dbNow(store)) - 2 * FENCED_KEPT_MS);
      }
      const pruned = [await workers.pruneFenced(3), await workers.pruneFenced(3)];
      assert.deepEqual([...pruned, await workers.pruneFenced(3)], [3, 2, 0]);
    }),
  );
}
