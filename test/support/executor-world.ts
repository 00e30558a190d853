/** A shard in memory, an executor on it, an endpoint, and faults by verb, with time moved by hand. */
import assert from "node:assert/strict";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { MemoryTables } from "#adapters/memory/memory-tables.ts";
import type { JobId, TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { DRAIN_TOTAL_MS } from "#core/domain/limits.ts";
import { makeScheduledJob } from "#core/domain/make-job.ts";
import type { RetryPolicy } from "#core/domain/retry-policy.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import type { Call, Caller, CallOutcome } from "#core/ports/caller.ts";
import type { MasterKey } from "#core/ports/secrets.ts";
import type { Shard } from "#core/ports/shards.ts";
import { Executor, type ExecutorDeps } from "#core/services/executor/executor.ts";
import { runExecutor } from "#workers/executor/run-executor.ts";
import { buildTask } from "../contract/builders.ts";
import { ManualClock } from "./manual-clock.ts";
import { secretParts } from "./secret-parts.ts";

export const RETENTION = { succeededMs: 3_600_000, endedMs: 86_400_000 };
export const TENANT = "acme" as TenantId;

interface Sent extends Call {
  readonly atMs: number;
}

type Endpoint = (call: Call) => {
  status: number;
  afterMs?: number;
  more?: Partial<Extract<CallOutcome, { kind: "answered" }>>;
};

/** A whole world: one shard, one executor, an endpoint, faults by verb, and how far the database's clock is ahead. */
export function openWorld(
  options: { slots?: number; endpoint?: Endpoint; masterKey?: MasterKey } = {},
) {
  const clock = new ManualClock();
  const faults = new Map<string, { when: "before" | "after"; error: () => Error; left: number }>();
  const strike = (when: "before" | "after") => async (verb: string) => {
    const fault = faults.get(verb);
    if (fault?.when !== when || fault.left === 0) return;
    fault.left--;
    throw fault.error();
  };
  const hooks = { beforeCommit: strike("before"), afterCommit: strike("after") };
  const database = { aheadMs: 0 };
  const databaseClock = { nowMs: () => clock.nowMs() + database.aheadMs };
  const shards = openMemoryShards({ clock: databaseClock, hooks });
  const sent: Sent[] = [];
  const counters = new Map<string, number>();
  const metrics = {
    count: (name: string, by: number) => void counters.set(name, (counters.get(name) ?? 0) + by),
    observeLagMs: () => {},
  };
  let next = 0;
  const random = {
    bytes: (length: number) => new Uint8Array(length).fill(++next),
    unit: () => 0.5,
  };
  const [shard] = shards.all();
  assert(shard !== undefined);
  const secrets = secretParts(shards, options.masterKey, clock);
  const stop = new AbortController();
  const around = { clock, shard, secrets, sent, stop };
  const { endpoint = () => ({ status: 200 }), slots = 10 } = options;
  const started = startExecutor(around, { slots, endpoint, random, metrics });
  return { ...around, database, faults, shards, tables: shards.tables, counters, ...started };
}

/** Another executor on the world's shard; ends with it. */
export function addExecutor(
  around: Around,
  { slots, endpoint, seed }: { slots: number; endpoint: Endpoint; seed: number },
) {
  const random = { bytes: (length: number) => new Uint8Array(length).fill(seed), unit: () => 0.5 };
  const metrics = { count: () => {}, observeLagMs: () => {} };
  return startExecutor(around, { slots, endpoint, random, metrics });
}

/** What executors of one world share. */
interface Around {
  readonly clock: ManualClock;
  readonly shard: Shard;
  readonly secrets: ReturnType<typeof secretParts>;
  readonly sent: Sent[];
  readonly stop: AbortController;
}

interface Own extends Pick<ExecutorDeps, "slots" | "random" | "metrics"> {
  readonly endpoint: Endpoint;
}

function startExecutor(
  { clock, shard, secrets, sent, stop }: Around,
  { endpoint, ...own }: Own,
): { executor: Executor; ended: Promise<boolean>; warned: string[] } {
  const warned: string[] = [];
  const logger = {
    info: () => {},
    warn: (line: string) => void warned.push(line),
    error: () => {},
  };
  const caller = scriptedCaller(clock, sent, endpoint);
  const deps = { ...own, ...secrets, shard, caller, clock, logger, retention: RETENTION };
  const executor = new Executor(deps);
  const ended = runExecutor(executor, { clock, random: own.random, logger }, stop.signal);
  return { executor, ended, warned };
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

export const RETRY: RetryPolicy = {
  maxAttempts: 3,
  initialDelaySeconds: 10,
  factor: 3,
  maxDelaySeconds: 600,
  jitter: 0.2,
};

const REQUEST = {
  method: "POST",
  url: "https://example.com/hook",
  headers: { "X-Kind": "a" },
  body: "{}",
  bodyBase64: null,
};

let made = 0;
export function addTask(
  tables: MemoryTables,
  changes: Partial<Task> = {},
  retry: RetryPolicy = RETRY,
): TaskWithVersion {
  const random = new Uint8Array(8);
  new DataView(random.buffer).setUint32(4, ++made);
  const { task, version } = buildTask(tables.nowMs(), {
    random,
    task: { tenantId: TENANT, nextRunAtMs: null, maxAttempts: retry.maxAttempts, ...changes },
    version: { request: REQUEST, retry },
  });
  tables.tasks.set(task.id, task);
  tables.addVersion(version);
  return { task, version };
}

export function addJob(
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

export function jobOf(tables: MemoryTables, id: JobId): Job {
  const job = tables.jobs.get(id);
  assert(job !== undefined);
  return job;
}

export async function endWorld(world: ReturnType<typeof openWorld>): Promise<boolean> {
  world.stop.abort();
  await world.clock.advance(DRAIN_TOTAL_MS);
  return world.ended;
}

export function addFatJob(tables: MemoryTables, body: string): JobId {
  const { task, version } = addTask(tables);
  tables.addVersion({ ...version, request: { ...version.request, body } });
  const job = makeScheduledJob(task, "schedule", tables.nowMs(), tables.nowMs());
  tables.insertJobs([job]);
  return job.id;
}
