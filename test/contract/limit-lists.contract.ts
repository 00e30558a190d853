/** Which lines are listed: what is due of them, in turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#adapters/system/clock.ts";
import { systemRandom } from "#adapters/system/random.ts";
import type { LimitKey } from "#core/domain/call-limit.ts";
import { OperatingError } from "#core/domain/errors.ts";
import { LIMIT_LINES_LISTED_MAX, LIMIT_LINES_MAX } from "#core/domain/limits.ts";
import { QUEUES } from "#core/domain/queue.ts";
import type { LimitedJob } from "#core/ports/limit-store.ts";
import { LimitedTaking } from "#core/services/executor/claim/take-limited.ts";
import { DatabaseClock } from "#core/services/executor/database-clock.ts";
import { HeldJobs } from "#core/services/executor/hold/held-jobs.ts";
import { Lease } from "#core/services/executor/lease.ts";
import { addJobs, addWorker, dbNow, HOUR_MS, plannedJob, RETENTION } from "./builders.ts";
import { type ContractStore, type OpenStore, onStore } from "./contract-store.ts";
import { addWaiting, limitedTask } from "./limited-jobs.ts";

/** Keys, and the queues of each, in which the longest list is full long before its end. */
const KEYS = 130;
const LANES = 9;

export function limitListsContract(open: OpenStore): void {
  test(
    "a poll says whether anything waits; lines that are due come by key, then by queue, from any key on and round",
    onStore(open, async (store) => {
      const { limits, jobs } = store.shard;
      const workerId = await addWorker(store);
      const waits = async () =>
        (await jobs.poll({ workerId, queues: [], revocationsWithinMs: 1 })).waiting;
      assert.equal(await waits(), false);
      assert.deepEqual(await limits.listLines(1_000, 10, null), []);
      const [a, b] = [
        await limitedTask(store, { concurrency: 1 }),
        await limitedTask(store, { concurrency: 1 }),
      ];
      await addWaiting(store, b, [HOUR_MS], 0);
      assert.equal(await waits(), true);
      assert.deepEqual(await limits.listLines(1_000, 10, null), []);
      const [, a32] = await addWaiting(store, a, [-2_000, -3_000]);
      const [b32] = await addWaiting(store, b, [-9_000]);
      const [a0] = await addWaiting(store, a, [-1_000], 1);
      assert(a32 && b32 && a0);
      const ofA = [
        { key: a.key, queue: 1, headMs: a0.dueAtMs },
        { key: a.key, queue: 32, headMs: a32.dueAtMs },
      ];
      const ofB = [{ key: b.key, queue: 32, headMs: b32.dueAtMs }];
      const [first, second] = a.key < b.key ? [ofA, ofB] : [ofB, ofA];
      const [low = a.key] = [a.key, b.key].sort();
      const before = low.slice(0, -1) as LimitKey;
      for (const [after, lines] of [
        [null, [...first, ...second]],
        [before, [...first, ...second]],
        [low, [...second, ...first]],
        [`${low}!` as LimitKey, [...second, ...first]],
        ["~" as LimitKey, [...first, ...second]],
      ] as const) {
        assert.deepEqual(await limits.listLines(0, 10, after), lines);
        assert.deepEqual(await limits.listLines(0, 2, after), lines.slice(0, 2));
      }
      assert.equal((await limits.listLines(2 * HOUR_MS, 10, null)).length, 4);
      await jobs.cancel(b.task.tenantId, b32.id, RETENTION);
      assert.deepEqual(await limits.listLines(0, 10, a.key), ofA);
    }),
  );

  test(
    "a claim of what is pending never takes what waits",
    onStore(open, async (store) => {
      const limited = await limitedTask(store, { concurrency: 1 });
      await addWaiting(store, limited, [-2_000]);
      const workerId = await addWorker(store);
      const branches = [{ queue: 32, limit: 9, head: null }];
      const claim = await store.shard.jobs.claimDue({ workerId, branches, aheadMs: 0, limit: 9 });
      assert(claim.kind === "claimed");
      assert.deepEqual(claim.jobs, []);
    }),
  );

  test(
    "however many lines wait that can have nothing, another is asked within a round",
    onStore(open, async (store) => {
      assert(KEYS * LANES > LIMIT_LINES_LISTED_MAX);
      const nowMs = await dbNow(store);
      const lanes = Array.from({ length: LANES }, (_, lane) => 5 * lane);
      const others = await Promise.all(
        Array.from({ length: KEYS }, async () => {
          const { task, key } = await limitedTask(store, { perSecond: 0.01 });
          const jobs = lanes.map((queue) => ({
            ...plannedJob(task, nowMs, -HOUR_MS - queue),
            queue,
          }));
          await addJobs(store, task, jobs);
          return key;
        }),
      );
      const taking = await openTaking(store);
      const taken = new Map<LimitKey, number>();
      const lists = Math.ceil((KEYS * LANES + 1) / (LIMIT_LINES_LISTED_MAX - QUEUES));
      const round = Math.ceil((KEYS + 1) / LIMIT_LINES_MAX) + lists + 1;
      const lookFor = async (keys: readonly LimitKey[]) => {
        const isMissing = () => keys.some((key) => !taken.has(key));
        for (let looks = 0, failed = 0; looks < round && isMissing(); looks++)
          try {
            for (const { limitKey } of await taking())
              taken.set(limitKey, (taken.get(limitKey) ?? 0) + 1);
          } catch (error) {
            // On a busy machine a take may come to its deadline; its lines then have their turn in the next round.
            if (!(error instanceof OperatingError) || ++failed > 5) throw error;
            looks = -1;
          }
        assert.equal(isMissing(), false);
      };
      await lookFor(others);
      // What has come now is the least urgent of all, and wherever its key is.
      const late = await limitedTask(store, { concurrency: 5 });
      await addWaiting(store, late, [-1_000, -2_000], 63);
      await lookFor([late.key]);
      assert.equal(taken.get(late.key), 2);
    }),
  );
}

/** What an executor takes of lines, look by look; nothing of it is called, and nothing else is claimed. */
async function openTaking({ shard }: ContractStore): Promise<() => Promise<readonly LimitedJob[]>> {
  const clock = systemClock;
  const lease = new Lease({ clock, random: systemRandom, workers: shard.workers });
  const database = new DatabaseClock(clock);
  const held = new HeldJobs(clock, database, 20, () => {});
  const taking = new LimitedTaking({ limits: shard.limits, held, lease, clock, database });
  return async () => {
    await lease.renewOnce();
    const { workerId } = lease;
    assert(workerId !== null);
    const sentMs = clock.monotonicMs();
    const { nowMs } = await shard.jobs.poll({ workerId, queues: [], revocationsWithinMs: 1 });
    database.addSample(sentMs, clock.monotonicMs(), nowMs);
    lease.notePoll(sentMs);
    const situation = { workerId, waiting: true, liveWorkers: 1, aheadMs: 1_200, periodMs: 200 };
    const { result } = await taking.takeOnce(situation);
    if (result === null) return [];
    assert(result.kind === "claimed");
    return result.jobs;
  };
}
