/** What every LimitStore must do. Runs on any adapter: no clock is moved, instants are chosen around the database's now. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type CallLimit, endpointKey, type LimitKey, tenantKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { LimitChanges } from "#core/ports/limit-store.ts";
import {
  addJobs,
  addTask,
  dbNow,
  HOUR_MS,
  idsOf,
  makeTenant,
  makeWorker,
  plannedJob,
  RETENTION,
  readJob,
} from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { limitLinesContract } from "./limit-lines.contract.ts";
import { limitListsContract } from "./limit-lists.contract.ts";
import { limitRatesContract } from "./limit-rates.contract.ts";
import { limitSlotsContract } from "./limit-slots.contract.ts";
import { limitTakesContract } from "./limit-takes.contract.ts";
import { addWaiting, limitedTask, takeLine } from "./limited-jobs.ts";

/** Registers the whole suite of the LimitStore port for the adapter called `name`. */
export function limitStoreContract(name: string, open: OpenStore): void {
  describe(`${name}: limit store`, () => {
    settings(open);
    limitLinesContract(open);
    limitListsContract(open);
    limitTakesContract(open);
    limitSlotsContract(open);
    limitRatesContract(open);
    linesUp(open);
    releases(open);
  });
}

function keyOf(tenantId: TenantId, url: string): LimitKey {
  const key = endpointKey(tenantId, url);
  assert(key !== null);
  return key;
}

function settings(open: OpenStore): void {
  test(
    "a limit is made, changed value by value, and gone when it says nothing",
    onStore(open, async (store) => {
      const { limits } = store.shard;
      const key = keyOf(makeTenant(), "https://example.com/x");
      const none = { concurrency: null, perSecond: null, maxConcurrency: null, maxPerSecond: null };
      assert.equal(await limits.find(key), null);
      let expected: Omit<CallLimit, "updatedAtMs"> = { key, ...none };
      const steps: LimitChanges[] = [
        { concurrency: 5 },
        { perSecond: 0.01 },
        { concurrency: null, maxPerSecond: 333.3 },
        { perSecond: 999.999 },
        { perSecond: null },
        { maxConcurrency: 1_000 },
        { maxPerSecond: null },
      ];
      for (const changes of steps) {
        const beforeMs = await dbNow(store);
        expected = { ...expected, ...changes };
        const made = await limits.put(key, changes);
        assert(made !== null);
        assert(made.updatedAtMs >= beforeMs);
        assert.deepEqual(made, { ...expected, updatedAtMs: made.updatedAtMs });
        assert.deepEqual(await limits.find(key), made);
      }
      assert.equal(await limits.put(key, { maxConcurrency: null }), null);
      assert.equal(await limits.find(key), null);
      assert.equal(await limits.put(key, { concurrency: null }), null);
      assert.equal(await limits.find(key), null);
    }),
  );

  test(
    "a tenant's limits, its own first, page by page; none of a tenant whose id is longer",
    onStore(open, async (store) => {
      const { limits } = store.shard;
      const tenantId = makeTenant();
      const urls = ["http://a", "https://a", "https://a:8443", "https://b"];
      const keys = [tenantKey(tenantId), ...urls.map((url) => keyOf(tenantId, url)).sort()];
      for (const key of [...keys].reverse()) await limits.put(key, { concurrency: 1 });
      for (const other of [`${tenantId}0`, `${tenantId}-`, `${tenantId}z`] as TenantId[]) {
        await limits.put(tenantKey(other), { concurrency: 1 });
        await limits.put(keyOf(other, "https://a"), { concurrency: 1 });
      }
      const listed = async (after: LimitKey | null, max: number) =>
        (await limits.list(tenantId, after, max)).map(({ key }) => key);
      assert.deepEqual(await listed(null, 100), keys);
      assert.deepEqual(await listed(null, 2), keys.slice(0, 2));
      assert.deepEqual(await listed(keys[0] as LimitKey, 2), keys.slice(1, 3));
      assert.deepEqual(await listed(keys.at(-1) as LimitKey, 2), []);
      assert.deepEqual(await limits.list(makeTenant(), null, 9), []);
    }),
  );

  test(
    "of a tenant's limits those are counted, up to a bound, that it has set itself",
    onStore(open, async (store) => {
      const { limits } = store.shard;
      const tenantId = makeTenant();
      const [one, two] = ["https://a", "https://b"].map((url) => keyOf(tenantId, url));
      assert(one !== undefined && two !== undefined);
      const counted = async (max = 9) => limits.countSet(tenantId, max);
      assert.equal(await counted(), 0);
      await limits.put(one, { maxConcurrency: 1, maxPerSecond: 2 });
      await limits.put(tenantKey(`${tenantId}0` as TenantId), { concurrency: 1 });
      assert.equal(await counted(), 0);
      await limits.put(one, { concurrency: 3 });
      await limits.put(two, { perSecond: 3 });
      await limits.put(tenantKey(tenantId), { concurrency: 1, perSecond: 1 });
      assert.deepEqual([await counted(), await counted(3), await counted(2)], [3, 3, 2]);
      await limits.put(one, { concurrency: null });
      assert.equal(await counted(), 2);
    }),
  );

  test(
    "what waits is counted by key, up to a bound, once it is due",
    onStore(open, async (store) => {
      const one = await limitedTask(store, { concurrency: 1 });
      const other = await limitedTask(store, { concurrency: 1 });
      await addWaiting(store, one, [-3_000, -2_000, -1_000, HOUR_MS]);
      await addWaiting(store, other, [HOUR_MS]);
      const nobody = tenantKey(makeTenant());
      const count = (max: number) =>
        store.shard.limits.countWaiting([other.key, one.key, nobody], max);
      assert.deepEqual(
        [...(await count(100))].sort(),
        [
          [one.key, 3],
          [other.key, 0],
          [nobody, 0],
        ].sort(),
      );
      assert.equal((await count(2)).get(one.key), 2);
      assert.deepEqual(await store.shard.limits.countWaiting([], 2), new Map());
    }),
  );
}

function linesUp(open: OpenStore): void {
  test(
    "a limit that is new holds for what is in line already, due or ahead, of the request as it is (21)",
    onStore(open, async (store) => {
      const { limits } = store.shard;
      const { task, version } = await addTask(store);
      const nowMs = await dbNow(store);
      const key = keyOf(task.tenantId, version.request.url);
      const job = (offsetMs: number) => plannedJob(task, nowMs, offsetMs);
      const [due, ahead, long, running] = [job(-2_000), job(HOUR_MS), job(-HOUR_MS), job(-1_000)];
      const older = { ...job(-3_000), taskVersion: 7 };
      const other = await addTask(store);
      const theirs = plannedJob(other.task, nowMs, -2_000);
      await addJobs(store, task, [due, ahead, long, older]);
      await addJobs(store, other.task, [theirs]);
      await store.putJob({
        ...running,
        status: "running",
        claimNo: 1,
        attempt: 1,
        workerId: makeWorker(),
      });
      await limits.put(key, { concurrency: 1 });
      const lined = [due, ahead];
      for (const each of lined) {
        const expected = { ...each, status: "waiting", limitKey: key };
        assert.deepEqual(await readJob(store, each), expected);
      }
      assert.deepEqual(idsOf(await store.listLimited()), idsOf(lined));
      for (const each of [long, older, theirs]) assert.deepEqual(await readJob(store, each), each);
      assert.deepEqual((await readJob(store, running)).limitKey, null);
      // One that is changed finds them where they are.
      await limits.put(key, { concurrency: 2 });
      assert.deepEqual(idsOf(await store.listLimited()), idsOf(lined));
    }),
  );

  test(
    "one of the tenant leaves the lines of its endpoints alone; one of an endpoint takes over from the tenant's",
    onStore(open, async (store) => {
      const { limits } = store.shard;
      const limited = await limitedTask(store, { concurrency: 1 });
      const { tenantId } = limited.task;
      const [inLine] = await addWaiting(store, limited, [-1_000]);
      const { task, version } = await addTask(store, {
        task: { tenantId },
        version: { request: { ...REQUEST, url: "https://other.example" } },
      });
      const job = plannedJob(task, await dbNow(store), -1_000);
      await addJobs(store, task, [job]);
      const linesOf = async () => {
        const rows = await store.listLimited();
        return [inLine, job].map((each) => rows.find(({ id }) => id === each?.id)?.limitKey);
      };
      const own = tenantKey(tenantId);
      await limits.put(own, { concurrency: 1 });
      assert.deepEqual(await linesOf(), [limited.key, own]);
      const endpoint = keyOf(tenantId, version.request.url);
      await limits.put(endpoint, { maxPerSecond: 1 });
      assert.deepEqual(await linesOf(), [limited.key, endpoint]);
      assert.equal((await readJob(store, job)).limitKey, endpoint);
    }),
  );

  test(
    "thousands are lined up",
    onStore(open, async (store) => {
      const { task, version } = await addTask(store);
      const nowMs = await dbNow(store);
      const jobs = Array.from({ length: 2_345 }, (_, i) => plannedJob(task, nowMs, -1_000 - i));
      for (let at = 0; at < jobs.length; at += 1_000)
        await addJobs(store, task, jobs.slice(at, at + 1_000));
      await store.shard.limits.put(keyOf(task.tenantId, version.request.url), { perSecond: 1 });
      assert.equal((await store.listLimited()).length, jobs.length);
    }),
  );
}

const REQUEST = { method: "GET", headers: {}, body: null, bodyBase64: null };

function releases(open: OpenStore): void {
  test(
    "of a limit that is gone the jobs are pending, so many at a time, where claims find them (19)",
    onStore(open, async (store) => {
      const { limits, jobs } = store.shard;
      const limited = await limitedTask(store, { concurrency: 1 });
      const made = await addWaiting(store, limited, [-HOUR_MS, -2_000, HOUR_MS]);
      assert.equal(await limits.releaseLine(limited.key, 100), 0, "it has a limit");
      await limits.put(limited.key, { concurrency: null });
      const workerId = makeWorker();
      await store.shard.workers.register(workerId, 60_000);
      const taken = await takeLine(store, workerId, limited.key);
      assert.deepEqual(taken.jobs, []);
      const none = { limit: null, slots: 0 };
      assert.deepEqual(taken.lines, [{ key: limited.key, ...none, tenant: none }]);
      const beforeMs = await dbNow(store);
      assert.equal(await limits.releaseLine(limited.key, 2), 2);
      assert.equal(await limits.releaseLine(limited.key, 2), 1);
      assert.equal(await limits.releaseLine(limited.key, 2), 0);
      const afterMs = await dbNow(store);
      for (const job of made) {
        const row = await jobs.find(job.tenantId, job.id);
        assert(row !== null);
        const { dueAtMs } = row;
        assert.deepEqual(row, { ...job, status: "pending", limitKey: null, dueAtMs });
        if (job.runAtMs > afterMs) assert.equal(dueAtMs, job.runAtMs);
        else assert(dueAtMs >= beforeMs && dueAtMs <= afterMs);
      }
      assert.deepEqual(await store.listLimited(), []);
      const branches = [{ queue: 32, limit: 9, head: null }];
      const claim = await jobs.claimDue({ workerId, branches, aheadMs: 0, limit: 9 });
      assert(claim.kind === "claimed");
      assert.deepEqual(idsOf(claim.jobs), idsOf(made.slice(0, 2)));
    }),
  );

  test(
    "where the tenant has a limit they wait in its line",
    onStore(open, async (store) => {
      const { limits } = store.shard;
      const limited = await limitedTask(store, { concurrency: 1 });
      const own = tenantKey(limited.task.tenantId);
      await limits.put(own, { concurrency: 1 });
      const made = await addWaiting(store, limited, [-2_000, HOUR_MS]);
      await limits.put(limited.key, { concurrency: null });
      assert.equal(await limits.releaseLine(limited.key, 100), 2);
      assert.equal(await limits.releaseLine(own, 100), 0);
      const rows = await store.listLimited();
      assert.deepEqual(idsOf(rows), idsOf(made));
      for (const { limitKey, id } of rows) {
        assert.equal(limitKey, own);
        const row = await store.shard.jobs.find(limited.task.tenantId, id);
        assert.deepEqual([row?.status, row?.limitKey], ["waiting", own]);
      }
    }),
  );

  test(
    "a job that ended leaves nothing behind: the archiver takes it, and its line is empty",
    onStore(open, async (store) => {
      const { jobs } = store.shard;
      const limited = await limitedTask(store, { concurrency: 1 });
      const [job] = await addWaiting(store, limited, [-2_000]);
      assert(job !== undefined);
      await jobs.cancel(job.tenantId, job.id, { ...RETENTION, endedMs: -HOUR_MS });
      assert.deepEqual(await store.listLimited(), []);
      const found = await jobs.listArchivable(10, 1_000_000);
      assert.deepEqual(
        found.map(({ id, limitKey }) => [id, limitKey]),
        [[job.id, limited.key]],
      );
      assert.equal(await jobs.deleteArchived(found), 1);
      const poll = { workerId: makeWorker(), queues: [], revocationsWithinMs: 1 };
      assert.equal((await jobs.poll(poll)).waiting, false);
    }),
  );
}
