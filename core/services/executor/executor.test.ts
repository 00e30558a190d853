/** The executor on a shard in memory, with time moved by hand: what it sends, when, and what it leaves in the rows. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { masterKeyOf } from "#adapters/crypto/key-file.ts";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { MemoryTables } from "#adapters/memory/memory-tables.ts";
import { OutcomeUnknown, StoreUnavailable } from "#core/domain/errors.ts";
import type { JobId, TenantId, WorkerId } from "#core/domain/ids.ts";
import { makeTaskId, makeWorkerId, partitionOfTenant } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import {
  CARRIED_BYTES_MAX,
  DRAIN_CALLS_MS,
  DRAIN_TOTAL_MS,
  SECRETS_AGAIN_MS,
  START_WINDOW_MS,
} from "#core/domain/limits.ts";
import { makeManualJob, makeScheduledJob } from "#core/domain/make-job.ts";
import type { RetryPolicy } from "#core/domain/retry-policy.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import type { Call, Caller, CallOutcome } from "#core/ports/caller.ts";
import { type MasterKey, SecretsUnavailable } from "#core/ports/secrets.ts";
import { ManualClock, settle } from "#test/support/manual-clock.ts";
import { secretParts } from "#test/support/secret-parts.ts";
import { runExecutor } from "#workers/executor/run-executor.ts";
import { pauseTask } from "../tasks/pause-task.ts";
import { Executor } from "./executor.ts";

const RETENTION = { succeededMs: 3_600_000, endedMs: 86_400_000 };
const TENANT = "acme" as TenantId;

interface Sent extends Call {
  readonly atMs: number;
}

type Endpoint = (call: Call) => {
  status: number;
  afterMs?: number;
  more?: Partial<Extract<CallOutcome, { kind: "answered" }>>;
};

/** A whole world: one shard, one executor, an endpoint, and faults by verb. */
function openWorld(options: { slots?: number; endpoint?: Endpoint; masterKey?: MasterKey } = {}) {
  const clock = new ManualClock();
  const faults = new Map<string, { when: "before" | "after"; error: () => Error; left: number }>();
  const strike = (when: "before" | "after") => async (verb: string) => {
    const fault = faults.get(verb);
    if (fault?.when !== when || fault.left === 0) return;
    fault.left--;
    throw fault.error();
  };
  const hooks = { beforeCommit: strike("before"), afterCommit: strike("after") };
  const shards = openMemoryShards({ clock, hooks });
  const sent: Sent[] = [];
  const caller = scriptedCaller(clock, sent, options.endpoint ?? (() => ({ status: 200 })));
  const counters = new Map<string, number>();
  const metrics = {
    count: (name: string, by: number) => void counters.set(name, (counters.get(name) ?? 0) + by),
    observeLagMs: () => {},
  };
  const logger = { info: () => {}, warn: () => {}, error: () => {} };
  let next = 0;
  const random = {
    bytes: (length: number) => new Uint8Array(length).fill(++next),
    unit: () => 0.5,
  };
  const [shard] = shards.all();
  assert(shard !== undefined);
  const executor = new Executor({
    shard,
    caller,
    ...secretParts(shards, options.masterKey),
    clock,
    random,
    metrics,
    logger,
    retention: RETENTION,
    slots: options.slots ?? 10,
  });
  const stop = new AbortController();
  const ended = runExecutor(executor, { clock, random, logger }, stop.signal);
  return {
    clock,
    faults,
    shards,
    tables: shards.tables,
    shard,
    sent,
    counters,
    executor,
    stop,
    ended,
  };
}

function scriptedCaller(clock: ManualClock, sent: Sent[], endpoint: Endpoint): Caller {
  return {
    call: async (call, signal): Promise<CallOutcome> => {
      sent.push({ ...call, atMs: clock.nowMs() });
      const { status, afterMs = 0, more = {} } = endpoint(call);
      if (afterMs > 0) await clock.sleep(afterMs, signal);
      if (signal.aborted) return { kind: "failed", error: "interrupted", durationMs: afterMs };
      return {
        kind: "answered",
        statusCode: status,
        retryAfterMs: null,
        responseBody: "body",
        durationMs: afterMs,
        ...more,
      };
    },
    close: async () => {},
  };
}

const RETRY: RetryPolicy = {
  maxAttempts: 3,
  initialDelaySeconds: 10,
  factor: 3,
  maxDelaySeconds: 600,
  jitter: 0.2,
};

let made = 0;
function addTask(
  tables: MemoryTables,
  changes: Partial<Task> = {},
  retry: RetryPolicy = RETRY,
): TaskWithVersion {
  const random = new Uint8Array(8);
  new DataView(random.buffer).setUint32(4, ++made);
  const id = makeTaskId(tables.nowMs(), partitionOfTenant(TENANT), random);
  const version = {
    taskId: id,
    requestVersion: 1,
    request: {
      method: "POST",
      url: "https://example.com/hook",
      headers: { "X-Kind": "a" },
      body: "{}",
      bodyBase64: null,
    },
    timeoutMs: 30_000,
    retry,
  };
  const task: Task = {
    id,
    tenantId: TENANT,
    name: id,
    description: null,
    tags: [],
    status: "active",
    schedule: { type: "every", seconds: 3_600, anchor: "1970-01-01T00:00:00.000Z" },
    priority: "normal",
    catchUp: "all",
    startAtMs: null,
    endAtMs: null,
    nextRunAtMs: null,
    madeUntilMs: null,
    version: 1,
    requestVersion: 1,
    timeoutMs: version.timeoutMs,
    maxAttempts: retry.maxAttempts,
    error: null,
    createdAtMs: tables.nowMs(),
    updatedAtMs: tables.nowMs(),
    ...changes,
  };
  tables.tasks.set(id, task);
  tables.addVersion(version);
  return { task, version };
}

function addJob(
  tables: MemoryTables,
  inMs: number,
  changes: Partial<Task> = {},
  retry: RetryPolicy = RETRY,
): JobId {
  const { task } = addTask(tables, changes, retry);
  const job = makeScheduledJob(task, "schedule", tables.nowMs() + inMs, tables.nowMs());
  tables.insertJobs([job]);
  return job.id;
}

function jobOf(tables: MemoryTables, id: JobId): Job {
  const job = tables.jobs.get(id);
  assert(job !== undefined);
  return job;
}

async function endWorld(world: ReturnType<typeof openWorld>): Promise<boolean> {
  world.stop.abort();
  await world.clock.advance(DRAIN_TOTAL_MS);
  return world.ended;
}

test("a job is claimed ahead and sent at its second, once, signed, with our headers; its success is recorded", async () => {
  const timings = { dnsMs: 0.04, connectMs: 12.349, tlsMs: null, firstByteMs: 60, totalMs: 80.97 };
  const world = openWorld({ endpoint: () => ({ status: 200, more: { timings } }) });
  const { clock, tables, sent } = world;
  await clock.advance(500);
  const id = addJob(tables, 5_250);
  const dueMs = tables.nowMs() + 5_250;
  await clock.advance(5_200);
  assert.equal(sent.length, 0);
  assert.equal(jobOf(tables, id).status, "running");
  const heldAtMs = tables.nowMs();
  await clock.advance(300);
  assert.equal(sent.length, 1);
  assert.equal(sent[0]?.atMs, dueMs);
  const { "webhook-signature": signature, ...headers } = sent[0]?.headers ?? {};
  assert.match(signature ?? "", /^v1,[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(headers, {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(dueMs / 1_000)),
    "user-agent": "at-and-cron/1",
    "X-Kind": "a",
    "idempotency-key": id,
    "x-scheduled-at": new Date(dueMs).toISOString(),
    "x-attempt": "1",
  });
  const job = jobOf(tables, id);
  assert.equal(job.status, "succeeded");
  assert.equal(job.workerId, null);
  const { claimedAtMs = 0, ...record } = job.attempts["1"] ?? {};
  assert.ok(claimedAtMs > heldAtMs - 2_000 && claimedAtMs <= heldAtMs, `${claimedAtMs - dueMs}`);
  assert.deepEqual(record, {
    attempt: 1,
    startedAtMs: dueMs,
    lagMs: 0,
    durationMs: 0,
    statusCode: 200,
    error: null,
    responseBody: "body",
    timings: [0, 12.3, null, 60, 81],
  });
  assert.equal(await endWorld(world), true);
  assert.equal(tables.workers.size, 0, "a clean exit leaves no worker behind");
});

for (const [what, endpoint, retry, reason] of [
  ["410", { status: 410 }, RETRY, "endpoint answered 410 Gone"],
  [
    "Webhook-Stop",
    { status: 503, more: { stop: true } },
    RETRY,
    "endpoint answered 503 with Webhook-Stop",
  ],
  [
    "a failure that retryOn does not name",
    { status: 404 },
    { ...RETRY, retryOn: ["network", "timeout", "5xx", "429"] },
    "not retried: retryOn has no 404",
  ],
] as const)
  test(`${what} ends the job at its first call, with the reason`, async () => {
    const world = openWorld({ endpoint: () => endpoint });
    const { clock, tables, sent } = world;
    const id = addJob(tables, 1_000, {}, retry);
    await clock.advance(60_000);
    assert.equal(sent.length, 1);
    assert.partialDeepStrictEqual(jobOf(tables, id), { status: "dead", reason, attempt: 1 });
    await endWorld(world);
  });

test("Retry-After: the longer of backoff and header, up to the policy's maximum", async () => {
  const asked = [25_000, 1_000, null, 900_000];
  const world = openWorld({
    endpoint: ({ headers }) => ({
      status: 429,
      more: { retryAfterMs: asked[Number(headers["x-attempt"]) - 1] ?? null },
    }),
  });
  const { clock, tables, sent } = world;
  const retry = { ...RETRY, maxAttempts: 5, jitter: 0, maxDelaySeconds: 120 };
  addJob(tables, 1_000, { maxAttempts: 5 }, retry);
  await clock.advance(300_000);
  const waits = sent.slice(1).map(({ atMs }, at) => atMs - (sent[at]?.atMs ?? 0));
  for (const [at, wantedMs] of [25_000, 30_000, 90_000, 120_000].entries())
    assert.ok(Math.abs((waits[at] ?? 0) - wantedMs) < 50, `${waits}`);
  assert.equal(waits.length, 4);
  await endWorld(world);
});

test("failures are retried with growing waits, numbered, and end dead when used up", async () => {
  const world = openWorld({ endpoint: () => ({ status: 500 }) });
  const { clock, tables, sent } = world;
  const id = addJob(tables, 1_000);
  await clock.advance(60_000);
  assert.deepEqual(
    sent.map(({ headers }) => headers["x-attempt"]),
    ["1", "2", "3"],
  );
  const waits = sent.slice(1).map(({ atMs }, i) => atMs - (sent[i]?.atMs ?? 0));
  assert.ok(
    Math.abs((waits[0] ?? 0) - 10_000) < 50 && Math.abs((waits[1] ?? 0) - 30_000) < 50,
    `${waits}`,
  );
  assert.partialDeepStrictEqual(jobOf(tables, id), {
    status: "dead",
    reason: "attempts used up",
    attempt: 3,
    claimNo: 3,
  });
  await endWorld(world);
});

test("more urgent jobs get the free slots first, critical ones one more for every eight, and never more", async () => {
  let atOnce = 0;
  let most = 0;
  const world = openWorld({
    slots: 8,
    endpoint: () => {
      most = Math.max(most, ++atOnce);
      world.clock.setTimer(100, () => atOnce--);
      return { status: 200, afterMs: 100 };
    },
  });
  const { clock, tables, sent } = world;
  await clock.advance(100);
  const add = (priority: Task["priority"]) =>
    Array.from({ length: 18 }, () => addJob(tables, 2_000, { priority }));
  const low = add("low");
  await clock.advance(4_000);
  assert.equal(most, 8);
  assert.deepEqual(new Set(sent.map(({ headers }) => headers["idempotency-key"])), new Set(low));
  sent.length = 0;
  add("low");
  const critical = add("critical");
  await clock.advance(4_000);
  const order = sent.map(({ headers }) => headers["idempotency-key"] as JobId);
  assert.deepEqual(new Set(order.slice(0, 18)), new Set(critical));
  assert.equal(sent.length, 36);
  assert.equal(most, 9);
  await endWorld(world);
});

test("every slot hangs and memory is full: a critical job is claimed and sent at the next poll all the same", async () => {
  const slots = 64;
  const world = openWorld({
    slots,
    endpoint: ({ headers }) => ({
      status: 200,
      afterMs: urgent.has(String(headers["idempotency-key"])) ? 10 : 25_000,
    }),
  });
  const urgent = new Set<string>();
  const { clock, tables, sent, executor } = world;
  for (let i = 0; i < 500; i++) addJob(tables, 0);
  await clock.advance(3_000);
  assert.equal(executor.load.sending, slots);
  const { held } = executor.load;
  assert.ok(held >= 2 * slots && held <= 4 * slots, `memory is full, and no more: ${held}`);
  for (let i = 0; i < 40; i++) {
    const id = addJob(tables, 0, { priority: "critical" });
    urgent.add(id);
    const fromMs = clock.nowMs();
    await clock.advance(300);
    const call = sent.find(({ headers }) => headers["idempotency-key"] === id);
    assert.ok(call !== undefined && call.atMs - fromMs <= 250, `${call?.atMs} after ${fromMs}`);
  }
  assert.equal(sent.length, slots + urgent.size);
  await endWorld(world);
});

test("critical tasks that no scheduler makes are made and sent by executors: each occurrence once, at its time", async () => {
  const world = openWorld({ slots: 64 });
  const { clock, tables, sent } = world;
  await clock.advance(100);
  const atMs = clock.nowMs() + 500;
  const at = new Date(atMs).toISOString();
  const once = { schedule: { type: "at" as const, at }, nextRunAtMs: atMs };
  const { task } = addTask(tables, { ...once, priority: "critical" });
  const normal = addTask(tables, { ...once, priority: "normal" });
  const startMs = clock.nowMs() + 1_000;
  const anchor = new Date(startMs).toISOString();
  const each = addTask(tables, {
    schedule: { type: "every", seconds: 1, anchor },
    nextRunAtMs: startMs,
    priority: "critical",
  });
  await clock.advance(5_000);
  const callsOf = (id: string) =>
    [...tables.jobs.values()]
      .filter(({ taskId }) => taskId === id)
      .map((job) => sent.filter(({ headers }) => headers["idempotency-key"] === job.id))
      .filter((calls) => calls.length > 0);
  const [calls, ...others] = callsOf(task.id);
  assert.deepEqual([calls?.length, others.length], [1, 0]);
  const lagMs = (calls?.[0]?.atMs ?? 0) - atMs;
  assert.ok(lagMs >= 0 && lagMs <= 10, `${lagMs} ms`);
  assert.equal(tables.tasks.get(task.id)?.status, "completed");
  assert.equal(tables.tasks.get(normal.task.id)?.nextRunAtMs, atMs, "left to the scheduler");
  const ticks = callsOf(each.task.id);
  assert.ok(ticks.length >= 4 && ticks.every(({ length }) => length === 1));
  await endWorld(world);
});

const NEIGHBOUR = "neighbour" as TenantId;

test("a tenant's calls hang on all slots: others' jobs start at their second in slots beside them, and a slot that is free goes to others first", async () => {
  const world = openWorld({ slots: 8, endpoint: () => ({ status: 200, afterMs: 5_000 }) });
  const { clock, tables, sent, executor } = world;
  await clock.advance(100);
  for (let i = 0; i < 40; i++) addJob(tables, 1_900);
  await clock.advance(2_500);
  assert.equal(executor.load.sending, 8, "alone it has all slots, and no more");
  const dueMs = tables.nowMs() + 1_500;
  const others = Array.from({ length: 5 }, (_, i) =>
    addJob(tables, 1_500, { tenantId: `neighbour-${i}` as TenantId }),
  );
  await clock.advance(6_000);
  const callsOf = (atMs: number) => sent.filter((call) => call.atMs === atMs);
  assert.equal(callsOf(dueMs).length, 4, "half as many as the slots for anyone");
  const waited = others.find((id) =>
    callsOf(dueMs).every(({ headers }) => headers["idempotency-key"] !== id),
  );
  const next = sent.find(({ atMs }) => atMs > dueMs);
  assert.equal(next?.headers["idempotency-key"], waited, "before those that are due for longer");
  assert.equal(callsOf(next?.atMs ?? 0).length, 8, "then the hanging ones go on");
  await endWorld(world);
});

test("a tenant has far more calls that hang than memory may hold: another's job is claimed and sent at the next poll, and no attempt is spent", async () => {
  const slots = 16;
  const world = openWorld({
    slots,
    endpoint: ({ headers }) => ({
      status: 200,
      afterMs: quick.has(String(headers["idempotency-key"])) ? 10 : 25_000,
    }),
  });
  const quick = new Set<string>();
  const { clock, tables, sent, executor } = world;
  const hanging = Array.from({ length: 3_000 }, () => addJob(tables, 0));
  // Where its tenant's jobs beyond its share go.
  for (const id of hanging) {
    const job = jobOf(tables, id);
    tables.jobs.set(id, { ...job, queue: job.queue + 1 });
  }
  await clock.advance(5_000);
  for (let i = 0; i < 30; i++) {
    const id = addJob(tables, 0, { tenantId: NEIGHBOUR });
    quick.add(id);
    const fromMs = clock.nowMs();
    await clock.advance(800);
    const call = sent.find(({ headers }) => headers["idempotency-key"] === id);
    assert.ok(call !== undefined && call.atMs - fromMs <= 700, `${call?.atMs} after ${fromMs}`);
    assert.equal(executor.load.sending, slots);
    assert.ok(executor.load.held <= 400, `${executor.load.held} in memory`);
  }
  const jobs = hanging.map((id) => jobOf(tables, id));
  assert.equal(jobs.filter(({ status }) => status === "succeeded").length, slots);
  assert.ok(jobs.some(({ claimNo, status }) => claimNo > 0 && status === "pending"));
  for (const { status, attempt } of jobs)
    if (status === "pending") assert.equal(attempt, 0, "no attempt is spent");
  await endWorld(world);
});

test("cut off from the database, no call starts later than the window after the last good poll", async () => {
  const world = openWorld();
  const { clock, tables, sent, faults } = world;
  await clock.advance(1_000);
  // Claimed while all is well; due inside and beyond the window.
  const soon = addJob(tables, 1_100);
  await clock.advance(200);
  const cutMs = clock.nowMs();
  const away = { when: "before", error: () => new StoreUnavailable("away"), left: 10_000 } as const;
  for (const verb of ["poll", "renew", "recordResults", "claimDue"]) faults.set(verb, { ...away });
  const held = jobOf(tables, soon);
  assert.equal(held.status, "running");
  await clock.advance(30_000);
  assert.equal(sent.length, 1);
  assert.ok((sent[0]?.atMs ?? 0) <= cutMs + START_WINDOW_MS);
  assert.equal(jobOf(tables, soon).status, "running", "the result waits in memory");
  faults.clear();
  await clock.advance(2_500);
  assert.equal(jobOf(tables, soon).status, "succeeded");
  assert.equal(sent.length, 1);
  await endWorld(world);
});

test("a job that waited in memory while the lease ran out is not sent before the lease is good again", async () => {
  const world = openWorld({ slots: 1, endpoint: () => ({ status: 200, afterMs: 8_000 }) });
  const { clock, tables, sent, faults } = world;
  await clock.advance(1_000);
  addJob(tables, 0);
  await clock.advance(300);
  addJob(tables, 0);
  await clock.advance(300);
  assert.equal(sent.length, 1);
  const away = { when: "before", error: () => new StoreUnavailable("away"), left: 10_000 } as const;
  for (const verb of ["poll", "renew"]) faults.set(verb, { ...away });
  await clock.advance(9_000);
  assert.equal(sent.length, 1, "the slot is free, but nothing may start");
  faults.clear();
  const backMs = clock.nowMs();
  await clock.advance(3_000);
  assert.equal(sent.length, 2);
  assert.ok((sent[1]?.atMs ?? 0) >= backMs);
  await endWorld(world);
});

test("fenced: unsent jobs are dropped, the call under way is still recorded under the old id, work goes on under a new one", async () => {
  const world = openWorld({ endpoint: () => ({ status: 200, afterMs: 3_000 }) });
  const { clock, tables, sent, faults, shard } = world;
  await clock.advance(1_000);
  const underWay = addJob(tables, 0);
  await clock.advance(300);
  const away = { when: "before", error: () => new StoreUnavailable("away"), left: 10_000 } as const;
  const unsent = addJob(tables, 1_150);
  await clock.advance(300);
  assert.equal(jobOf(tables, unsent).status, "running");
  const [old] = tables.workers.keys();
  assert(old !== undefined);
  tables.workers.set(old, { leaseUntilMs: clock.nowMs() - 1, fencedAtMs: clock.nowMs() });
  faults.set("poll", { ...away });
  await clock.advance(2_100);
  faults.clear();
  assert.equal(sent.length, 1, "the unsent job was dropped when the renewal found the fence");
  await clock.advance(3_000);
  assert.equal(jobOf(tables, underWay).status, "succeeded");
  assert.equal(jobOf(tables, unsent).status, "running", "it is the reconciler's to give back");
  const later = addJob(tables, 100);
  await clock.advance(4_000);
  assert.equal(jobOf(tables, later).status, "succeeded");
  const ids = [...tables.workers.keys()] as WorkerId[];
  assert.equal(ids.length, 2);
  assert.equal((await shard.workers.renew(old, 1)).kind, "fenced");
  await endWorld(world);
});

for (const when of ["before", "after"] as const)
  test(`a claim whose COMMIT was lost ${when} it happened: every job is sent once`, async () => {
    const world = openWorld();
    const { clock, tables, sent, faults, counters } = world;
    await clock.advance(1_000);
    faults.set("claimDue", { when, error: () => new OutcomeUnknown("cut"), left: 1 });
    faults.set("adopt", { when: "before", error: () => new StoreUnavailable("away"), left: 3 });
    const ids = Array.from({ length: 20 }, () => addJob(tables, 500));
    await clock.advance(10_000);
    assert.equal(sent.length, 20);
    assert.ok(ids.every((id) => jobOf(tables, id).status === "succeeded"));
    assert.equal(counters.get("claims_unknown"), 1);
    await endWorld(world);
  });

for (const when of ["before", "after"] as const)
  test(`results whose write was lost ${when} it happened are repeated, and nothing is sent again`, async () => {
    const world = openWorld();
    const { clock, tables, sent, faults } = world;
    await clock.advance(1_000);
    faults.set("recordResults", { when, error: () => new OutcomeUnknown("cut"), left: 5 });
    const ids = Array.from({ length: 20 }, () => addJob(tables, 500));
    await clock.advance(10_000);
    assert.equal(sent.length, 20);
    assert.ok(ids.every((id) => jobOf(tables, id).status === "succeeded"));
    await endWorld(world);
  });

test("a revocation takes an unsent job out of its timer: it ends cancelled, and no call is made", async () => {
  const world = openWorld();
  const { clock, tables, sent, shard } = world;
  await clock.advance(1_000);
  const id = addJob(tables, 1_150);
  await clock.advance(300);
  assert.equal(jobOf(tables, id).status, "running");
  const { taskId } = jobOf(tables, id);
  const paused = await shard.tasks.edit<never>(
    TENANT,
    taskId,
    ({ task }) => ({
      kind: "write",
      task: { ...task, status: "paused" },
      newVersion: null,
      jobsEffect: { kind: "cancel", reason: "task paused" },
      makeJobs: [],
    }),
    RETENTION,
  );
  assert.equal(paused.kind, "written");
  await clock.advance(5_000);
  assert.equal(sent.length, 0);
  assert.partialDeepStrictEqual(jobOf(tables, id), {
    status: "cancelled",
    reason: "task paused",
    attempt: 0,
    claimNo: 1,
  });
  await endWorld(world);
});

test("a job that could not end before its backstop is given back and sent later, on the same attempt number", async () => {
  const world = openWorld({ slots: 1, endpoint: () => ({ status: 200, afterMs: 29_000 }) });
  const { clock, tables, sent } = world;
  await clock.advance(1_000);
  const first = addJob(tables, 0);
  await clock.advance(300);
  const second = addJob(tables, 0);
  await clock.advance(70_000);
  assert.deepEqual(
    sent.map(({ headers }) => [headers["idempotency-key"], headers["x-attempt"]]),
    [
      [first, "1"],
      [second, "1"],
    ],
  );
  assert.partialDeepStrictEqual(jobOf(tables, second), {
    status: "succeeded",
    attempt: 1,
    claimNo: 2,
  });
  await endWorld(world);
});

test("a job whose request is gone ends dead with the reason, and holds up nobody", async () => {
  const world = openWorld();
  const { clock, tables, sent } = world;
  await clock.advance(1_000);
  const id = addJob(tables, 0);
  tables.versions.clear();
  const fine = addJob(tables, 0);
  await clock.advance(2_000);
  assert.partialDeepStrictEqual(jobOf(tables, id), {
    status: "dead",
    reason: "its request version does not exist",
  });
  assert.equal(jobOf(tables, fine).status, "succeeded");
  assert.equal(sent.length, 1);
  await endWorld(world);
});

test("a manual run's payload is laid over the request, header by header", async () => {
  const world = openWorld();
  const { clock, tables, sent } = world;
  const { task } = addTask(tables);
  const payload = { headers: { "x-KIND": "b", "x-new": "c" }, body: "other" };
  tables.insertJobs([makeManualJob(task, "manual", tables.nowMs(), 7, payload)]);
  await clock.advance(2_000);
  assert.equal(sent.length, 1);
  assert.partialDeepStrictEqual(sent[0], {
    body: "other",
    headers: { "x-KIND": "b", "x-new": "c" },
  });
  assert.ok(!("X-Kind" in (sent[0]?.headers ?? {})), "replaced, not doubled");
  await endWorld(world);
});

test("drain: 50 waiting jobs go back at once as they were, 10 calls under way are finished, and the exit is clean", async () => {
  const world = openWorld({ slots: 10, endpoint: () => ({ status: 200, afterMs: 20_000 }) });
  const { clock, tables, sent, executor } = world;
  await clock.advance(1_000);
  const ids = Array.from({ length: 60 }, () => addJob(tables, 0));
  await clock.advance(2_000);
  assert.deepEqual(executor.load, { held: 60, sending: 10, waiting: 0 });
  world.stop.abort();
  await clock.advance(100);
  const back = ids.map((id) => jobOf(tables, id)).filter(({ status }) => status === "pending");
  assert.equal(back.length, 50);
  assert.ok(
    back.every(
      ({ attempt, claimNo, workerId }) => attempt === 0 && claimNo === 1 && workerId === null,
    ),
  );
  await clock.advance(25_000);
  assert.equal(await world.ended, true);
  assert.equal(ids.filter((id) => jobOf(tables, id).status === "succeeded").length, 10);
  assert.equal(sent.length, 10);
  assert.equal(tables.workers.size, 0);
});

test("drain: a call that outlasts the bound ends as interrupted and costs no attempt", async () => {
  const world = openWorld({ endpoint: () => ({ status: 200, afterMs: 500_000 }) });
  const { clock, tables } = world;
  const { task } = addTask(tables, { timeoutMs: 900_000 });
  const job = makeScheduledJob(task, "schedule", tables.nowMs(), tables.nowMs());
  tables.insertJobs([job]);
  await clock.advance(2_000);
  world.stop.abort();
  await clock.advance(DRAIN_CALLS_MS - 1_000);
  assert.equal(jobOf(tables, job.id).status, "running");
  await clock.advance(3_000);
  assert.equal(await world.ended, true);
  assert.partialDeepStrictEqual(jobOf(tables, job.id), {
    status: "pending",
    attempt: 1,
    lost: 1,
    workerId: null,
  });
  assert.equal(jobOf(tables, job.id).attempts["1"]?.error, "interrupted");
});

test("drain with the database away: gives up before the deadline and says that it was not clean", async () => {
  const world = openWorld();
  const { clock, tables, faults } = world;
  await clock.advance(1_000);
  addJob(tables, 0);
  faults.set("recordResults", {
    when: "before",
    error: () => new StoreUnavailable("away"),
    left: 100_000,
  });
  await clock.advance(1_000);
  world.stop.abort();
  await clock.advance(112_000);
  assert.equal(await world.ended, false);
});

test("two executors on one shard share 1,000 jobs: each is sent once", async () => {
  const world = openWorld();
  const { clock, tables, sent, shard } = world;
  const caller = scriptedCaller(clock, sent, () => ({ status: 200, afterMs: 5 }));
  const logger = { info: () => {}, warn: () => {}, error: () => {} };
  const metrics = { count: () => {}, observeLagMs: () => {} };
  const random = { bytes: (n: number) => new Uint8Array(n).fill(200), unit: () => 0.5 };
  assert.notEqual(makeWorkerId(random.bytes(16)), [...tables.workers.keys()][0]);
  const other = new Executor({
    shard,
    caller,
    ...secretParts(world.shards),
    clock,
    random,
    metrics,
    logger,
    retention: RETENTION,
    slots: 10,
  });
  const otherEnded = runExecutor(other, { clock, random, logger }, world.stop.signal);
  await clock.advance(1_000);
  const ids = Array.from({ length: 1_000 }, () => addJob(tables, 2_000));
  await clock.advance(20_000);
  assert.equal(sent.length, 1_000);
  assert.equal(new Set(sent.map(({ headers }) => headers["idempotency-key"])).size, 1_000);
  assert.ok(ids.every((id) => jobOf(tables, id).status === "succeeded"));
  await settle();
  assert.equal(await endWorld(world), true);
  assert.equal(await otherEnded, true);
});

test("large bodies are read when their call has a slot; while the database does not say, that is no attempt", async () => {
  const world = openWorld();
  const { clock, tables, faults, sent } = world;
  await clock.advance(1_000);
  const body = "b".repeat(CARRIED_BYTES_MAX);
  const scheduled = addFatJob(tables, body);
  const { task } = addTask(tables);
  const manual = makeManualJob(task, "manual", tables.nowMs(), 7, { body: `${body}!` });
  tables.insertJobs([manual]);
  const away = { when: "before", error: () => new StoreUnavailable("away"), left: 2 } as const;
  faults.set("loadVersions", { ...away });
  faults.set("find", { ...away });
  await clock.advance(5_000);
  assert.deepEqual(new Set(sent.map((call) => call.body)), new Set([body, `${body}!`]));
  assert.equal(sent.length, 2);
  for (const id of [scheduled, manual.id])
    assert.partialDeepStrictEqual(jobOf(tables, id), { status: "succeeded", attempt: 1, lost: 0 });
  await endWorld(world);
});

test("a pause that is answered while a call is being prepared is in time: nothing is called", async () => {
  const world = openWorld();
  const { clock, tables, shard, shards, sent } = world;
  await clock.advance(1_000);
  const { loadVersions } = shard.tasks;
  shard.tasks.loadVersions = async (keys) => {
    await clock.sleep(4_000);
    return loadVersions.call(shard.tasks, keys);
  };
  const id = addFatJob(tables, "b".repeat(CARRIED_BYTES_MAX));
  await clock.advance(1_000);
  assert.equal(world.executor.load.sending, 1);
  const deps = { shards, random: { bytes: () => new Uint8Array(2) }, retention: RETENTION };
  const { taskId } = jobOf(tables, id);
  assert.equal((await pauseTask(deps, TENANT, taskId)).kind, "written");
  await clock.advance(10_000);
  assert.equal(sent.length, 0);
  assert.equal(world.executor.load.held, 0);
  assert.partialDeepStrictEqual(jobOf(tables, id), {
    status: "cancelled",
    reason: "task paused",
    attempt: 0,
  });
  await endWorld(world);
});

test("while the master key is away, jobs wait without an attempt spent, not asking all the time; then they are sent", async () => {
  const real = masterKeyOf([randomBytes(32)]);
  let asked = 0;
  let isAway = true;
  const masterKey: MasterKey = {
    unwrap: (wrapped, context) => real.unwrap(wrapped, context),
    generate: async (context) => {
      asked++;
      if (isAway) throw new SecretsUnavailable("away");
      return real.generate(context);
    },
  };
  const world = openWorld({ masterKey });
  const { clock, tables, sent, counters } = world;
  const id = addJob(tables, 1_000, { maxAttempts: 1 }, { ...RETRY, maxAttempts: 1 });
  await clock.advance(60_000);
  assert.equal(sent.length, 0);
  assert.deepEqual(jobOf(tables, id).attempts, {});
  assert.ok(asked >= 5 && asked <= 20, `${asked} times in a minute`);
  assert.equal(counters.get("results_secrets"), counters.get("given_back"));
  isAway = false;
  await clock.advance(3 * SECRETS_AGAIN_MS);
  assert.partialDeepStrictEqual(jobOf(tables, id), { status: "succeeded", attempt: 1 });
  await endWorld(world);
});

function addFatJob(tables: MemoryTables, body: string): JobId {
  const { task, version } = addTask(tables);
  tables.addVersion({ ...version, request: { ...version.request, body } });
  const job = makeScheduledJob(task, "schedule", tables.nowMs(), tables.nowMs());
  tables.insertJobs([job]);
  return job.id;
}
