/** An archiver on stores in memory. */
import assert from "node:assert/strict";
import { openMemoryHistory } from "#adapters/memory/history-store.ts";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import type { JobId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import type { Clock } from "#core/ports/clock.ts";
import { buildTask, plannedJob } from "#test/contract/builders.ts";
import { ManualClock } from "./manual-clock.ts";

/** Tells bodies apart, which is all that these tests ask of it. */
const sha256 = (bytes: Uint8Array) => bytes.length.toString(16).padStart(64, "0");

/** As processes have it that nobody has told otherwise. */
export const RETENTION = { succeededMs: 3_600_000, endedMs: 14 * 86_400_000 };

type Step = (verb: string) => void;

export function openWorld(options: { before?: Step; after?: Step } = {}) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const hooks = {
    beforeCommit: async (verb: string) => {
      asked.push(verb);
      options.before?.(verb);
    },
    afterCommit: async (verb: string) => options.after?.(verb),
  };
  const shards = openMemoryShards({ clock, hooks });
  const { tables } = shards;
  const [shard] = shards.all();
  assert(shard !== undefined);
  const store = openMemoryHistory();
  const written: HistoryEntry[][] = [];
  const history = {
    ...store,
    async write(...args: Parameters<typeof store.write>) {
      const [entries] = args;
      options.before?.("history");
      await store.write(...args);
      written.push([...entries]);
      options.after?.("history");
    },
  };
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const logger = { info: say, warn: say, error: say };
  const random = { bytes: (length: number) => new Uint8Array(length), unit: () => 0 };
  const deps = { shard, history, clock, random, logger, sha256, retention: RETENTION };
  const body = "b".repeat(1_000);
  const { task, version } = buildTask(clock.nowMs(), {
    version: {
      request: { method: "POST", url: "https://a.example/x", headers: {}, body, bodyBase64: null },
    },
  });
  tables.tasks.set(task.id, task);
  tables.addVersion(version);
  let made = 0;
  const add = (count: number, changes: Partial<Job> = {}): JobId[] =>
    Array.from({ length: count }, () => {
      const nowMs = clock.nowMs();
      const job: Job = {
        ...plannedJob(task, nowMs, -made++ - 1),
        status: "succeeded",
        claimNo: 1,
        attempt: 1,
        finishedAtMs: nowMs,
        dueAtMs: nowMs,
        ...changes,
      };
      tables.jobs.set(job.id, job);
      return job.id;
    });
  const archived = (id: JobId) => store.find(task.tenantId, id);
  const nothingLost = async (ids: readonly JobId[]) => {
    for (const id of ids)
      assert.ok(tables.jobs.has(id) || (await archived(id)) !== null, "a job is in a store");
  };
  return { clock, tables, shard, deps, task, asked, written, said, add, archived, nothingLost };
}

/** The same time of day, and a monotonic clock of its own. */
export function withMonotonic(clock: Clock, monotonicMs: () => number): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs,
    setTimer: (delayMs, fire) => clock.setTimer(delayMs, fire),
    sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
  };
}
