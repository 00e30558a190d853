/** When calls of a rate may start, whoever takes them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantKey } from "#core/domain/call-limit.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import { LIMIT_START_AHEAD_MS } from "#core/domain/limits.ts";
import { addWorker, heldKey, RETENTION } from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { addWaiting, limitedTask, lineOf, takeLine, takeLines } from "./limited-jobs.ts";

export function limitRatesContract(open: OpenStore): void {
  test(
    "calls of a rate start evenly spaced, whoever takes them; none is taken long before it may start",
    onStore(open, async (store) => {
      const limited = await limitedTask(store, { perSecond: 30 });
      const { key } = limited;
      await addWaiting(
        store,
        limited,
        Array.from({ length: 80 }, (_, i) => -1_000 - i),
      );
      const workers = [await addWorker(store), await addWorker(store)];
      const starts: number[] = [];
      for (let round = 0; round < 8; round++) {
        const workerId = workers[round % 2] as WorkerId;
        const taken = await takeLine(store, workerId, key, { jobsMax: 11, slotsMax: 4 });
        assert.equal(taken.lines[0]?.slots, 4, "calls at once are not limited");
        for (const { startAtMs } of taken.jobs) {
          assert(startAtMs !== null && Number.isInteger(startAtMs));
          assert(startAtMs >= taken.claimedAtMs);
          assert(startAtMs <= taken.claimedAtMs + LIMIT_START_AHEAD_MS + 1);
          starts.push(startAtMs);
        }
      }
      // A second's worth, and what became due meanwhile.
      assert(starts.length >= 31 && starts.length < 80, `${starts.length} taken`);
      for (const [at, startAtMs] of starts.entries()) {
        const exactMs = (starts[0] ?? 0) + (at * 1_000) / 30;
        assert(startAtMs >= exactMs - 1, `call ${at} starts ${exactMs - startAtMs} ms early`);
        if (at > 0) assert(startAtMs > (starts[at - 1] ?? 0));
      }
      assert.equal((await store.listLimited()).length, 80 - starts.length);
    }),
  );

  test(
    "instants for jobs that are in hand come from the same rate, as far as that allows; without a rate there are none",
    onStore(open, async (store) => {
      const limited = await limitedTask(store, { perSecond: 10 });
      const { key } = limited;
      await addWaiting(store, limited, [-3_000, -2_000, -1_000]);
      const workerId = await addWorker(store);
      const first = await takeLine(store, workerId, key, { startsMax: 3, jobsMax: 2 });
      const starts = first.lines[0]?.startsAtMs ?? [];
      const all = [...starts, ...first.jobs.map(({ startAtMs }) => startAtMs ?? 0)];
      assert.deepEqual([starts.length, all.length], [3, 5]);
      for (const [at, startAtMs] of all.entries()) {
        const exactMs = (all[0] ?? 0) + at * 100;
        assert(Math.abs(startAtMs - exactMs) <= 1, `instant ${at}: ${startAtMs - exactMs} ms off`);
      }
      const more = await takeLine(store, workerId, key, { startsMax: 1_000, jobsMax: 0 });
      const startsAtMs = more.lines[0]?.startsAtMs ?? [];
      assert(startsAtMs.length > 0 && startsAtMs.length < 12, `${startsAtMs.length} more`);
      assert((startsAtMs[0] ?? 0) >= (all[4] ?? 0) + 99);
      const free = await limitedTask(store, { concurrency: 1 });
      const none = await takeLine(store, workerId, free.key, { startsMax: 5, jobsMax: 0 });
      assert(none.lines[0] !== undefined && !("startsAtMs" in none.lines[0]));
    }),
  );

  test(
    "a rate below one a second holds across takes; one of the tenant holds for all of its lines",
    onStore(open, async (store) => {
      const slow = await limitedTask(store, { perSecond: 0.01 });
      await addWaiting(store, slow, [-2_000, -1_000]);
      const workerId = await addWorker(store);
      assert.equal((await takeLine(store, workerId, slow.key)).jobs.length, 1);
      assert.equal((await takeLine(store, workerId, slow.key)).jobs.length, 0);
      const one = await limitedTask(store, { concurrency: 5, perSecond: 100 });
      const own = tenantKey(one.task.tenantId);
      await store.shard.limits.put(own, { perSecond: 2 });
      await addWaiting(store, one, [-3_000, -2_000, -1_000, -900, -800]);
      const other = { task: { ...one.task, limitKey: own }, key: own };
      await addWaiting(store, other, [-2_500, -1_500, -500]);
      const taken = await takeLines(store, workerId, [lineOf(one.key), lineOf(own)]);
      const starts = taken.jobs.map(({ startAtMs }) => (startAtMs ?? 0) - taken.claimedAtMs);
      assert.deepEqual(starts, [0, 500, 1_000]);
      const lines = taken.jobs.map(({ limitKey }) => limitKey);
      assert.deepEqual(lines, [one.key, own, one.key]);
      const held = taken.jobs.map((job) => heldKey(job, workerId));
      assert.equal((await store.shard.jobs.giveBack(held, RETENTION)).written, 3);
      assert.equal((await store.listLimited()).length, 9);
    }),
  );

  test(
    "a rate that is raised holds from now on, however late the slower one's next call was",
    onStore(open, async (store) => {
      const limited = await limitedTask(store, { perSecond: 0.01 });
      const { key } = limited;
      await addWaiting(store, limited, [-5_000, -4_000, -3_000, -2_000]);
      const workerId = await addWorker(store);
      const first = await takeLine(store, workerId, key);
      assert.equal(first.jobs.length, 1);
      await store.shard.limits.put(key, { perSecond: 1_000 });
      const more = await takeLine(store, workerId, key);
      assert((more.jobs[0]?.startAtMs ?? 0) > (first.jobs[0]?.startAtMs ?? 0));
    }),
  );
}
