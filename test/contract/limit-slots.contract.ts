/** Slots and rates: never more than a limit allows, whoever takes, and whoever dies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantKey } from "#core/domain/call-limit.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import { BACKSTOP_SLACK_MS, LIMIT_START_AHEAD_MS } from "#core/domain/limits.ts";
import {
  addWorker,
  dbNow,
  HOUR_MS,
  heldKey,
  idsOf,
  makeWorker,
  RETENTION,
  readJob,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { addWaiting, limitedTask, lineOf, takeLine, takeLines } from "./limited-jobs.ts";

export function limitSlotsContract(open: OpenStore): void {
  takes(open);
  fences(open);
  slots(open);
  holders(open);
  both(open);
  rates(open);
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
        assert.deepEqual(held, {
          id: job.id,
          taskId: job.taskId,
          tenantId: job.tenantId,
          taskVersion: job.taskVersion,
          trigger: job.trigger,
          queue: job.queue,
          scheduledAtMs: job.scheduledAtMs,
          runAtMs: job.runAtMs,
          dueAtMs,
          claimNo: 1,
          attempt: 1,
          lost: 0,
          maxAttempts: job.maxAttempts,
          timeoutMs: job.timeoutMs,
          limitKey: limited.key,
          startAtMs: null,
        });
        const change = { status: "running", workerId, claimNo: 1, attempt: 1, dueAtMs };
        assert.deepEqual(await readJob(store, job), { ...job, ...change });
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
      const [line] = await store.shard.limits.listLines(0, 1);
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

function rates(open: OpenStore): void {
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
}
