/** Which jobs of a line a take hands out, and to whom. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkerId } from "#core/domain/ids.ts";
import { BACKSTOP_SLACK_MS } from "#core/domain/limits.ts";
import { addWorker, claimedView, dbNow, HOUR_MS, idsOf, makeWorker, readJob } from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { addWaiting, limitedTask, lineOf, takeLine, takeLines } from "./limited-jobs.ts";

export function limitTakesContract(open: OpenStore): void {
  takes(open);
  fences(open);
}

function takes(open: OpenStore): void {
  test(
    "jobs of a line are running, in the worker's hands, and out of the line (5)",
    onStore(open, async (store) => {
      const limited = await limitedTask(store, { concurrency: 5 });
      const [late, soon] = await addWaiting(store, limited, [-2_000, HOUR_MS]);
      assert(late && soon);
      const workerId = await addWorker(store);
      const taken = await takeLine(store, workerId, limited.key, {
        slotsMax: 3,
        aheadMs: 2 * HOUR_MS,
      });
      const afterMs = await dbNow(store);
      const limit = { concurrency: 5, perSecond: null };
      const tenant = { limit: null, slots: 0 };
      assert.deepEqual(taken.lines, [{ key: limited.key, limit, slots: 3, tenant }]);
      assert(taken.claimedAtMs <= afterMs);
      assert.deepEqual(idsOf(taken.jobs), idsOf([late, soon]));
      for (const job of [late, soon]) {
        const held = taken.jobs.find(({ id }) => id === job.id);
        assert(held !== undefined);
        const dueAtMs =
          Math.max(job.runAtMs, taken.claimedAtMs) + job.timeoutMs + BACKSTOP_SLACK_MS;
        const change = { status: "running", workerId, claimNo: 1, attempt: 1, dueAtMs } as const;
        const row = { ...job, ...change, limitKey: limited.key };
        assert.deepEqual(await readJob(store, job), row);
        assert.deepEqual(held, { ...claimedView(row), startAtMs: null });
      }
      assert.deepEqual(await store.listLimited(), []);
      const adopted = await store.shard.jobs.adopt({ ...taken, workerId });
      assert.deepEqual(idsOf(adopted.jobs), idsOf(taken.jobs));
    }),
  );

  test(
    "the most urgent of each queue that is asked for, at most jobsMax, none due later than aheadMs; slots alone with 0",
    onStore(open, async (store) => {
      const limited = await limitedTask(store, { concurrency: 5 });
      const [b1, b2] = await addWaiting(store, limited, [-3_000, -4_000], 32);
      const [a1, a2] = await addWaiting(store, limited, [-1_000, 60_000], 0);
      const [hidden] = await addWaiting(store, limited, [-9_000], 48);
      assert(a1 && a2 && b1 && b2 && hidden);
      const workerId = await addWorker(store);
      const take = async (jobsMax: number, queues: readonly number[]) => {
        const taken = await takeLine(store, workerId, limited.key, { jobsMax, queues });
        assert.equal(taken.lines[0]?.slots, 5);
        return taken.jobs.map(({ id }) => id);
      };
      assert.deepEqual(await take(0, [0, 32]), []);
      assert.deepEqual(await take(2, [0, 32]), [a1.id, b2.id]);
      assert.deepEqual(await take(2, [0, 32]), [b1.id]);
      assert.deepEqual(await take(2, [0, 32]), []);
      assert.deepEqual(await take(2, [48]), [hidden.id]);
      assert.deepEqual(idsOf(await store.listLimited()), [a2.id]);
    }),
  );

  test(
    "less urgent jobs have their part, the smaller one, also of takes of one job each",
    onStore(open, async (store) => {
      const takes = 100;
      const limited = await limitedTask(store, { concurrency: 5 });
      const dueMs = Array.from({ length: takes }, (_, i) => -1_000 - i);
      await addWaiting(store, limited, dueMs, 16);
      await addWaiting(store, limited, dueMs, 48);
      const workerId = await addWorker(store);
      let low = 0;
      for (let i = 0; i < takes; i++) {
        const { jobs } = await takeLine(store, workerId, limited.key, { jobsMax: 1 });
        assert.equal(jobs.length, 1);
        if (jobs[0]?.queue === 48) low++;
      }
      // A seventh by weight.
      assert(low > 0 && low < takes / 2, `${low} of ${takes}`);
    }),
  );

  test(
    "of a queue whose head was told nothing long before it is looked for, and nothing after it is missed",
    onStore(open, async (store) => {
      const limited = await limitedTask(store, { concurrency: 5 });
      const workerId = await addWorker(store);
      const made = await addWaiting(store, limited, [-HOUR_MS, -2_000, -1_000]);
      const take = async (headMs: number) => {
        const headsMs = new Map([[32, headMs]]);
        const taken = await takeLine(store, workerId, limited.key, { headsMs, jobsMax: 1 });
        return taken.jobs.map(({ id }) => id);
      };
      const [line] = await store.shard.limits.listLines(0, 1, null);
      assert.deepEqual(await take(line?.headMs ?? 0), [made[0]?.id]);
      // A head that is ahead of now: what waits by now may be due before it.
      assert.deepEqual(await take((await dbNow(store)) + HOUR_MS), [made[1]?.id]);
      assert.deepEqual(await take(made[2]?.dueAtMs ?? 0), [made[2]?.id]);
    }),
  );

  test(
    "several lines at once, each by itself",
    onStore(open, async (store) => {
      const tasks = await Promise.all([1, 2, 3].map((n) => limitedTask(store, { concurrency: n })));
      const made = await Promise.all(
        tasks.map((limited) => addWaiting(store, limited, [-1_000, -2_000])),
      );
      const workerId = await addWorker(store);
      const lines = tasks.map(({ key }, at) => lineOf(key, { jobsMax: at }));
      const taken = await takeLines(store, workerId, lines);
      assert.deepEqual(
        taken.lines.map(({ key, slots }) => [key, slots]),
        tasks.map(({ key }, at) => [key, at + 1]),
      );
      assert.equal(taken.jobs.length, 3);
      assert.deepEqual(
        idsOf(taken.jobs),
        idsOf([made[1]?.[1], ...(made[2] ?? [])].flatMap((job) => job ?? [])),
      );
    }),
  );
}

function fences(open: OpenStore): void {
  test(
    "a worker that is fenced or has no row takes nothing; nor does one whose lease is about to end, or has",
    onStore(open, async (store) => {
      const { workers, limits } = store.shard;
      const limited = await limitedTask(store, { concurrency: 5 });
      const [job] = await addWaiting(store, limited, [-1_000]);
      assert(job !== undefined);
      const [fenced, expired, late] = [makeWorker(), makeWorker(), makeWorker()];
      await workers.register(fenced, -5_000);
      await workers.fence(fenced);
      await workers.register(expired, -5_000);
      await workers.register(late, 900);
      const ask = (workerId: WorkerId) =>
        limits.takeLimited({ workerId, aheadMs: 0, lines: [lineOf(limited.key)] });
      assert.deepEqual(await ask(fenced), { kind: "fenced" });
      assert.deepEqual(await ask(makeWorker()), { kind: "fenced" });
      for (const workerId of [expired, late]) {
        const { lines, jobs } = await takeLine(store, workerId, limited.key);
        assert.deepEqual([lines, jobs], [[], []]);
      }
      assert.deepEqual(await readJob(store, job), job);
      await workers.renew(expired, 60_000);
      assert.equal((await takeLine(store, expired, limited.key)).jobs.length, 1);
    }),
  );
}
