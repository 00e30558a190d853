/** Executors on one shard in memory with limits, time moved by hand: how many calls an endpoint sees at once, and how soon. */
import assert from "node:assert/strict";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { endpointKey, type LimitKey } from "#core/domain/call-limit.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { JobId, TenantId } from "#core/domain/ids.ts";
import { DRAIN_TOTAL_MS } from "#core/domain/limits.ts";
import { makeManualJob, makeScheduledJob } from "#core/domain/make-job.ts";
import type { Call, Caller, CallOutcome } from "#core/ports/caller.ts";
import type { Metrics } from "#core/ports/metrics.ts";
import { Executor } from "#core/services/executor/executor.ts";
import { runExecutor } from "#workers/executor/run-executor.ts";
import { buildTask } from "../contract/builders.ts";
import { ManualClock } from "./manual-clock.ts";
import { secretParts } from "./secret-parts.ts";

export const TENANT = "acme" as TenantId;
export const SLOW = "https://slow.example.com";
export const FREE = "https://free.example.com";
const LOGGER = { info: () => {}, warn: () => {}, error: () => {} };
const METRICS = { count: () => {}, observeLagMs: () => {} } as unknown as Metrics;

export function keyOf(url: string, tenantId = TENANT): LimitKey {
  const key = endpointKey(tenantId, url);
  assert(key !== null);
  return key;
}

/** An endpoint per origin that remembers how many calls it had at once, and when each began. */
class Endpoints implements Caller {
  readonly #clock: ManualClock;
  readonly #callMs: (call: Call) => number;
  readonly #statusOf: (call: Call) => number;
  readonly open = new Map<string, number>();
  readonly most = new Map<string, number>();
  readonly starts = new Map<string, number[]>();
  /** That calls could be interrupted by. */
  readonly signals = new Set<AbortSignal>();

  constructor(
    clock: ManualClock,
    callMs: (call: Call) => number,
    statusOf: (call: Call) => number,
  ) {
    this.#clock = clock;
    this.#callMs = callMs;
    this.#statusOf = statusOf;
  }

  async call(call: Call, signal: AbortSignal): Promise<CallOutcome> {
    const { origin } = new URL(call.url);
    this.#count(origin, 1);
    this.signals.add(signal);
    this.starts.set(origin, [...(this.starts.get(origin) ?? []), this.#clock.nowMs()]);
    const durationMs = this.#callMs(call);
    await this.#clock.sleep(durationMs, signal);
    this.#count(origin, -1);
    if (signal.aborted) return { kind: "failed", error: "interrupted", durationMs };
    const answer = {
      statusCode: this.#statusOf(call),
      retryAfterMs: null,
      responseBody: "",
      durationMs,
    };
    return { kind: "answered", ...answer };
  }

  #count(origin: string, by: number): void {
    const open = (this.open.get(origin) ?? 0) + by;
    this.open.set(origin, open);
    this.most.set(origin, Math.max(this.most.get(origin) ?? 0, open));
  }

  async close(): Promise<void> {}
}

interface Settings {
  readonly executors?: number;
  readonly slots?: number;
  readonly callMs?: (call: Call) => number;
  readonly statusOf?: (call: Call) => number;
  /** How long the database takes for what it is asked. */
  readonly verbMs?: (verb: string) => number;
  readonly staggerMs?: number;
  readonly onVerb?: (verb: string) => void;
}

export function openWorld({
  executors = 1,
  slots = 20,
  callMs = () => 100,
  statusOf = () => 200,
  verbMs = () => 0,
  onVerb = () => {},
  staggerMs = 0,
}: Settings = {}) {
  const clock = new ManualClock();
  let broken: string | null = null;
  const verbs = new Set<string>();
  const beforeCommit = async (verb: string) => {
    verbs.add(verb);
    onVerb(verb);
    if (verb === broken) throw new StoreUnavailable("away");
    if (verbMs(verb) > 0) await clock.sleep(verbMs(verb));
  };
  const database = { aheadMs: 0 };
  const databaseClock = { nowMs: () => clock.nowMs() + database.aheadMs };
  const shards = openMemoryShards({ clock: databaseClock, hooks: { beforeCommit } });
  const { tables } = shards;
  const [shard] = shards.all();
  assert(shard !== undefined);
  const endpoints = new Endpoints(clock, callMs, statusOf);
  let next = 0;
  const random = { bytes: (n: number) => new Uint8Array(n).fill(++next), unit: () => 0.5 };
  const parts = secretParts(shards);
  const all = Array.from({ length: executors }, (_, index) => {
    const executor = new Executor({
      ...{ shard, caller: endpoints, ...parts, clock, random },
      ...{ metrics: METRICS, logger: LOGGER, slots },
      retention: { succeededMs: 3_600_000, endedMs: 86_400_000 },
    });
    const stop = new AbortController();
    const ended = (async () => {
      if (index > 0 && staggerMs > 0) await clock.sleep(index * staggerMs);
      return runExecutor(executor, { clock, random, logger: LOGGER }, stop.signal);
    })();
    return { executor, stop, ended };
  });
  return {
    clock,
    database,
    shard,
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

export type World = ReturnType<typeof openWorld>;

let made = 0;
/** A job that is due now, in the line `limitKey`. */
export function addJob(
  { tables }: World,
  url: string,
  limitKey: LimitKey | null,
  changes = {},
  trigger: "schedule" | "manual" = "schedule",
): JobId {
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
  const nowMs = tables.nowMs();
  const job =
    trigger === "manual"
      ? makeManualJob(due, trigger, nowMs, 0, null)
      : makeScheduledJob(due, trigger, nowMs, nowMs);
  tables.insertJobs([job]);
  return job.id;
}

export function jobsWhere({ tables }: World, status: string): number {
  return [...tables.jobs.values()].filter((job) => job.status === status).length;
}
