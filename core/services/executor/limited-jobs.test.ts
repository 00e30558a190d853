/** Executors on one shard in memory with limits, time moved by hand: how many calls an endpoint sees at once, and how soon. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { endpointKey, type LimitKey, tenantKey } from "#core/domain/call-limit.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { JobId, TenantId } from "#core/domain/ids.ts";
import { DRAIN_TOTAL_MS } from "#core/domain/limits.ts";
import { makeScheduledJob } from "#core/domain/make-job.ts";
import type { Call, Caller, CallOutcome } from "#core/ports/caller.ts";
import type { Metrics } from "#core/ports/metrics.ts";
import { buildTask } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { secretParts } from "#test/support/secret-parts.ts";
import { runExecutor } from "#workers/executor/run-executor.ts";
import { Executor } from "./executor.ts";

const TENANT = "acme" as TenantId;
const SLOW = "https://slow.example.com";
const FREE = "https://free.example.com";
const LOGGER = { info: () => {}, warn: () => {}, error: () => {} };
const METRICS = { count: () => {}, observeLagMs: () => {} } as unknown as Metrics;

function keyOf(url: string): LimitKey {
  const key = endpointKey(TENANT, url);
  assert(key !== null);
  return key;
}

/** An endpoint per origin that remembers how many calls it had at once, and when each began. */
class Endpoints implements Caller {
  readonly #clock: ManualClock;
  readonly #callMs: () => number;
  readonly open = new Map<string, number>();
  readonly most = new Map<string, number>();
  readonly starts = new Map<string, number[]>();
  /** That calls could be interrupted by. */
  readonly signals = new Set<AbortSignal>();

  constructor(clock: ManualClock, callMs: () => number) {
    this.#clock = clock;
    this.#callMs = callMs;
  }

  async call(call: Call, signal: AbortSignal): Promise<CallOutcome> {
    const { origin } = new URL(call.url);
    this.#count(origin, 1);
    this.signals.add(signal);
    this.starts.set(origin, [...(this.starts.get(origin) ?? []), this.#clock.nowMs()]);
    const durationMs = this.#callMs();
    await this.#clock.sleep(durationMs, signal);
    this.#count(origin, -1);
    if (signal.aborted) return { kind: "failed", error: "interrupted", durationMs };
    const answer = { statusCode: 200, retryAfterMs: null, responseBody: "", durationMs };
    return { kind: "answered", ...answer };
  }

  #count(origin: string, by: number): void {
    const open = (this.open.get(origin) ?? 0) + by;
    this.open.set(origin, open);
    this.most.set(origin, Math.max(this.most.get(origin) ?? 0, open));
  }

  async close(): Promise<void> {}
}

function openWorld({ executors = 1, callMs = (): number => 100 } = {}) {
  const clock = new ManualClock();
  let broken: string | null = null;
  const verbs = new Set<string>();
  const beforeCommit = async (verb: string) => {
    verbs.add(verb);
    if (verb === broken) throw new StoreUnavailable("away");
  };
  const shards = openMemoryShards({ clock, hooks: { beforeCommit } });
  const { tables } = shards;
  const [shard] = shards.all();
  assert(shard !== undefined);
  const endpoints = new Endpoints(clock, callMs);
  let next = 0;
  const random = { bytes: (n: number) => new Uint8Array(n).fill(++next), unit: () => 0.5 };
  const parts = secretParts(shards);
  const all = Array.from({ length: executors }, () => {
    const executor = new Executor({
      ...{ shard, caller: endpoints, ...parts, clock, random },
      ...{ metrics: METRICS, logger: LOGGER, slots: 20 },
      retention: { succeededMs: 3_600_000, endedMs: 86_400_000 },
    });
    const stop = new AbortController();
    const ended = runExecutor(executor, { clock, random, logger: LOGGER }, stop.signal);
    return { executor, stop, ended };
  });
  return {
    clock,
    tables,
    endpoints,
    limits: shard.limits,
    /** What stores were asked for so far. */
    verbs,
    executors: all,
    break: (verb: string | null) => {
      broken = verb;
    },
    async end(): Promise<void> {
      for (const { stop } of all) stop.abort();
      await clock.advance(DRAIN_TOTAL_MS);
      for (const { ended } of all) assert.equal(await ended, true);
    },
  };
}

type World = ReturnType<typeof openWorld>;

let made = 0;
/** A job that is due now, in the line `limitKey`. */
function addJob({ tables }: World, url: string, limitKey: LimitKey | null, changes = {}): JobId {
  const random = new Uint8Array(8);
  new DataView(random.buffer).setUint32(4, ++made);
  const request = { method: "POST", url: `${url}/hook`, headers: {}, body: null, bodyBase64: null };
  const { task, version } = buildTask(tables.nowMs(), {
    random,
    task: { tenantId: TENANT, nextRunAtMs: null, ...changes },
    version: { request },
  });
  tables.tasks.set(task.id, task);
  tables.addVersion(version);
  const due = limitKey === null ? task : { ...task, limitKey };
  const job = makeScheduledJob(due, "schedule", tables.nowMs(), tables.nowMs());
  tables.insertJobs([job]);
  return job.id;
}

function jobsWhere({ tables }: World, status: string): number {
  return [...tables.jobs.values()].filter((job) => job.status === status).length;
}

test("a limit of five over three executors: never six at once, all five nearly all the time, others not held up", async () => {
  const world = openWorld({ executors: 3 });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { concurrency: 5 });
  await clock.advance(1_000);
  for (let i = 0; i < 500; i++) addJob(world, SLOW, keyOf(SLOW));
  for (let i = 0; i < 20; i++) addJob(world, FREE, null);
  await clock.advance(1_000);
  assert.equal(endpoints.starts.get(FREE)?.length, 20, "all others have gone");
  await clock.advance(11_500);
  assert.equal(endpoints.most.get(SLOW), 5);
  assert.equal(jobsWhere(world, "succeeded"), 520, "500 calls of 100 ms by fives are 10 s");
  for (const job of world.tables.jobs.values()) assert.deepEqual([job.attempt, job.lost], [1, 0]);
  await clock.advance(4_000);
  const held = [...world.tables.limitSlots.values()].flatMap((of) => [...of.values()]);
  assert.deepEqual(held, [], "idle slots have gone back");
  await world.end();
});

test("where nobody waits under a limit, nothing is asked for it", async () => {
  const world = openWorld();
  const { clock, limits, verbs } = world;
  await limits.put(keyOf(SLOW), { concurrency: 5 });
  await clock.advance(1_000);
  for (let i = 0; i < 20; i++) addJob(world, FREE, null);
  verbs.clear();
  await clock.advance(10_000);
  assert.equal(jobsWhere(world, "succeeded"), 20);
  assert.ok(verbs.has("poll") && verbs.has("claimDue"));
  for (const verb of ["listLines", "takeLimited", "keepSlots", "releaseLine"])
    assert.ok(!verbs.has(verb), verb);
  await world.end();
});

test("a tenant's limit holds beside those of its endpoints", async () => {
  const world = openWorld({ executors: 2 });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { concurrency: 3 });
  await limits.put(tenantKey(TENANT), { concurrency: 4 });
  await clock.advance(1_000);
  for (let i = 0; i < 40; i++) {
    addJob(world, SLOW, keyOf(SLOW));
    addJob(world, FREE, tenantKey(TENANT));
  }
  let most = 0;
  for (let i = 0; i < 400; i++) {
    await clock.advance(10);
    const open = [...endpoints.open.values()].reduce((sum, count) => sum + count, 0);
    most = Math.max(most, open);
  }
  assert.equal(most, 4);
  assert.equal(endpoints.most.get(SLOW), 3);
  assert.equal(jobsWhere(world, "succeeded"), 80);
  await world.end();
});

test("a rate: evenly spaced starts, as many as it allows", async () => {
  const world = openWorld({ executors: 3, callMs: () => 5 });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { perSecond: 20 });
  await clock.advance(1_000);
  for (let i = 0; i < 200; i++) addJob(world, SLOW, keyOf(SLOW));
  await clock.advance(11_000);
  const starts = [...(endpoints.starts.get(SLOW) ?? [])].sort((a, b) => a - b);
  assert.equal(starts.length, 200);
  for (const from of starts)
    assert.ok(starts.filter((atMs) => atMs >= from && atMs < from + 1_000).length <= 20);
  await world.end();
});

test("a limit that is raised, lowered or taken away holds for what starts then", async () => {
  const world = openWorld({ executors: 2 });
  const { clock, limits, endpoints } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 2 });
  await clock.advance(1_000);
  for (let i = 0; i < 1_000; i++) addJob(world, SLOW, key);
  const openAfter = async (ms: number) => {
    await clock.advance(ms);
    return endpoints.open.get(SLOW);
  };
  assert.equal(await openAfter(3_050), 2);
  await limits.put(key, { concurrency: 6 });
  assert.equal(await openAfter(4_000), 6);
  await limits.put(key, { concurrency: 1 });
  assert.equal(await openAfter(4_000), 1);
  await limits.put(key, { concurrency: null });
  await clock.advance(8_000);
  assert.equal(jobsWhere(world, "succeeded"), 1_000, "without a limit they all went");
  await world.end();
});

test("a drain gives back what waits, without an attempt, and its slots as its calls end", async () => {
  const world = openWorld({ executors: 2, callMs: () => 3_000 });
  const { clock, limits, tables } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 4 });
  await clock.advance(1_000);
  for (let i = 0; i < 10; i++) addJob(world, SLOW, key);
  await clock.advance(1_000);
  const [first] = world.executors;
  first?.stop.abort();
  await clock.advance(500);
  assert.equal(first?.executor.load.held, first?.executor.load.sending);
  await clock.advance(30_000);
  assert.equal(await first?.ended, true);
  assert.equal(jobsWhere(world, "succeeded"), 10);
  for (const job of tables.jobs.values()) assert.deepEqual([job.attempt, job.lost], [1, 0]);
  await world.end();
});

test("a lease that cannot be renewed: limited calls end before others may have their slots, others go on", async () => {
  const world = openWorld({ executors: 1, callMs: () => 20_000 });
  const { clock, limits, endpoints, tables } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 2 });
  await clock.advance(1_000);
  for (let i = 0; i < 4; i++) addJob(world, SLOW, key);
  const free = addJob(world, FREE, null);
  await clock.advance(1_000);
  assert.deepEqual([endpoints.open.get(SLOW), endpoints.open.get(FREE)], [2, 1]);
  world.break("renew");
  await clock.advance(5_200);
  assert.deepEqual([endpoints.open.get(SLOW), endpoints.open.get(FREE)], [0, 1]);
  assert.equal(endpoints.most.get(SLOW), 2);
  world.break(null);
  await clock.advance(3_000);
  assert.equal(endpoints.open.get(SLOW), 2, "renewed, it takes slots anew");
  await clock.advance(60_000);
  assert.equal(endpoints.most.get(SLOW), 2);
  assert.equal(tables.jobs.get(free)?.attempt, 1);
  assert.equal(jobsWhere(world, "succeeded"), 5);
  for (const job of tables.jobs.values()) assert.equal(Object.keys(job.attempts).length <= 2, true);
  await world.end();
});

test("jobs that wait long in hand are given back, not lost", async () => {
  const world = openWorld({ executors: 1, callMs: () => 29_000 });
  const { clock, limits, tables } = world;
  const key = keyOf(SLOW);
  await limits.put(key, { concurrency: 1 });
  await clock.advance(1_000);
  for (let i = 0; i < 6; i++) addJob(world, SLOW, key);
  await clock.advance(190_000);
  assert.equal(jobsWhere(world, "succeeded"), 6);
  for (const job of tables.jobs.values()) assert.deepEqual([job.attempt, job.lost], [1, 0]);
  await world.end();
});

test("however many limited calls there were, one signal is theirs and one the others', and a drain that is over ends both", async () => {
  let callMs = 5;
  const world = openWorld({ callMs: () => callMs });
  const { clock, limits, endpoints } = world;
  await limits.put(keyOf(SLOW), { concurrency: 5 });
  await clock.advance(1_000);
  for (let i = 0; i < 200; i++) addJob(world, SLOW, keyOf(SLOW));
  for (let i = 0; i < 20; i++) addJob(world, FREE, null);
  await clock.advance(5_000);
  assert.equal(jobsWhere(world, "succeeded"), 220);
  // A signal of its own for each call, made of these, would never be let go.
  assert.equal(endpoints.signals.size, 2);
  callMs = 900_000;
  addJob(world, SLOW, keyOf(SLOW));
  addJob(world, FREE, null);
  await clock.advance(1_000);
  assert.deepEqual([endpoints.open.get(SLOW), endpoints.open.get(FREE)], [1, 1]);
  await world.end();
  assert.deepEqual([endpoints.open.get(SLOW), endpoints.open.get(FREE)], [0, 0]);
  assert.equal(jobsWhere(world, "pending") + jobsWhere(world, "waiting"), 2, "interrupted");
});
