/** Retries by hand are counted beside runs by hand: nobody gets more than a tenant's share with them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryHistory } from "#adapters/memory/history-store.ts";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { historyEntryOf } from "#core/domain/history.ts";
import type { JobId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import {
  RETRY_AHEAD_MS_MAX,
  RETRY_GROUP_MAX,
  LANE_SHARE_CRITICAL_JOBS as SHARE,
} from "#core/domain/limits.ts";
import { TenantLanes } from "#core/domain/tenant-lanes.ts";
import { buildTask, plannedJob } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { runTask } from "../tasks/run-task.ts";
import { retryDeadLetters } from "./retry-dead-letters.ts";
import { retryJob } from "./retry-job.ts";

const QUOTAS = { tasksMax: 1_000, bodyBytesMax: 1_000_000, minIntervalSeconds: 1 };
/** Where a failed critical job was before it died. */
const QUEUE_OF_DEAD = 2;

/** A critical task of a tenant of this weight, with `count` dead jobs. */
function openWorld(count: number, weight = 1) {
  const clock = new ManualClock();
  const shards = openMemoryShards({ clock });
  const history = openMemoryHistory();
  const { task, version } = buildTask(clock.nowMs(), { task: { priority: "critical" } });
  shards.tables.tasks.set(task.id, task);
  shards.tables.addVersion(version);
  const dead = Array.from({ length: count }, (_, n): Job => {
    const job = plannedJob(task, clock.nowMs(), -1_000 - n);
    const ended = { status: "dead", claimNo: 3, finishedAtMs: clock.nowMs() } as const;
    return { ...job, ...ended, queue: QUEUE_OF_DEAD };
  });
  for (const job of dead) shards.tables.jobs.set(job.id, job);
  let run = 0;
  const random = { unit: () => 0.5, bytes: () => Uint8Array.of(++run >> 8, run & 255) };
  const logger = { info() {}, warn() {}, error() {} };
  const deps = { shards, history, clock, random, logger, lanes: new TenantLanes() };
  const quotas = { ...QUOTAS, weight };
  return {
    dead,
    archive: async (job: Job) => {
      await history.write([historyEntryOf(job, null, () => "0".repeat(64))]);
      shards.tables.jobs.delete(job.id);
    },
    run: async () => {
      const ran = await runTask(deps, task.tenantId, task.id, null, { quotas });
      assert(ran.kind === "made");
      return ran.job.queue;
    },
    retry: async (id: JobId) => {
      const retried = await retryJob(deps, task.tenantId, id, null, weight);
      assert(retried.kind === "moved");
      return retried.job.queue;
    },
    retryAll: async (limit: number, perSecond: number) => {
      const filter = { taskId: null, fromMs: null, toMs: null };
      await retryDeadLetters(deps, task.tenantId, filter, { limit, perSecond, weight });
      return dead.map(({ id }) => shards.tables.jobs.get(id)?.queue);
    },
  };
}

async function times<T>(count: number, ask: (n: number) => Promise<T>): Promise<T[]> {
  const answers: T[] = [];
  for (let n = 0; n < count; n++) answers.push(await ask(n));
  return answers;
}

const of = (queue: number, count: number) => Array<number>(count).fill(queue);

test("one dead job that is archived, retried over and over, has its tenant's share of the first lane and no more", async () => {
  const { dead, archive, run, retry } = openWorld(1);
  const [job] = dead;
  assert(job !== undefined);
  await archive(job);
  assert.deepEqual(await times(10, run), of(0, 10));
  assert.deepEqual(await times(SHARE - 10, () => retry(job.id)), of(0, SHARE - 10));
  assert.deepEqual(await times(3 * SHARE, () => retry(job.id)), of(1, 3 * SHARE));
  assert.equal(await retry(job.id), 2);
  assert.equal(await run(), 2, "a run is behind them");
});

test("dead jobs that are retried one by one are counted too, by the tenant's weight", async () => {
  const { dead, retry } = openWorld(2 * SHARE + 1, 2);
  const queues = await times(dead.length, (n) => retry(dead[n]?.id as JobId));
  assert.deepEqual(queues, [...of(0, 2 * SHARE), 1]);
});

test("a job that is not dead, or gone, is not counted", async () => {
  const { dead, retry } = openWorld(2);
  const [first, second] = dead.map(({ id }) => id);
  assert(first !== undefined && second !== undefined);
  await retry(first);
  await times(SHARE, () => assert.rejects(retry(first)));
  assert.equal(await retry(second), 0);
});

test("a retry of all: what is due at once is counted together, what is spaced is no burst", async () => {
  const { retryAll } = openWorld(SHARE + 5);
  const atOnce = await retryAll(1_000, 1_000);
  assert.deepEqual(atOnce.toSorted(), [...of(0, SHARE), ...of(1, 5)]);
  const spaced = await openWorld(SHARE + 5).retryAll(1_000, 1);
  assert.deepEqual(spaced, of(0, SHARE + 5));
  const light = await openWorld(SHARE + 5, 0.25).retryAll(1_000, 1_000);
  assert.equal(light.filter((queue) => queue === 0).length, SHARE / 4);
  const some = await openWorld(5).retryAll(3, 1_000);
  assert.deepEqual(some.toSorted(), [...of(0, 3), ...of(QUEUE_OF_DEAD, 2)]);
});

test("a retry of all as slow as can be forgets nothing of what is counted for now, of no tenant", async () => {
  const { retryAll, run } = openWorld(2 * SHARE);
  assert.deepEqual(await times(SHARE, run), of(0, SHARE));
  await retryAll(2 * SHARE, (RETRY_GROUP_MAX * 1_000) / RETRY_AHEAD_MS_MAX);
  assert.equal(await run(), 1);
});
