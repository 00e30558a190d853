/** A reconciler's shard in memory, with time moved by hand, verbs of the store that fail, and jobs in workers' hands. */
import assert from "node:assert/strict";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { type StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import { type JobId, makeWorkerId, type WorkerId } from "#core/domain/ids.ts";
import { type Job, REASON_PAUSED } from "#core/domain/job.ts";
import { PASS_PERIOD_MS } from "#core/domain/limits.ts";
import type { Reconciler } from "#core/services/reconciler/reconcile-pass.ts";
import { buildTask, plannedJob } from "#test/contract/builders.ts";
import { ManualClock } from "./manual-clock.ts";

const RETENTION = { succeededMs: 3_600_000, endedMs: 86_400_000 };
export const A = makeWorkerId(new Uint8Array(16).fill(1));
export const B = makeWorkerId(new Uint8Array(16).fill(2));

export function openWorld(
  fault: typeof StoreUnavailable | typeof StoreRefused = StoreUnavailable,
  jobsAtOnce = Number.POSITIVE_INFINITY,
  groupMs = 0,
) {
  const clock = new ManualClock();
  const failing = new Set<string>();
  const asked: string[] = [];
  const hooks = {
    beforeCommit: async (verb: string) => {
      asked.push(verb);
      if (verb === "goOnWithJobs") await clock.advance(groupMs);
      if (failing.has(verb)) throw new fault("MySQL is away");
    },
  };
  const shards = openMemoryShards({ clock, hooks, jobsAtOnce });
  const { tables } = shards;
  const [shard] = shards.all();
  assert(shard !== undefined);
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const logger = { info: say, warn: say, error: say };
  const deps = { shard, clock, logger, retention: RETENTION };
  const { task, version } = buildTask(clock.nowMs());
  tables.tasks.set(task.id, task);
  tables.addVersion(version);
  let made = 0;
  /** A job in a worker's hands, due at `offsetMs` from now. */
  const addHeld = (workerId: WorkerId, changes: Partial<Job> = {}, offsetMs = 0): JobId => {
    const nowMs = clock.nowMs();
    const job: Job = {
      ...plannedJob(task, nowMs, offsetMs + made++),
      status: "running",
      workerId,
      claimNo: 1,
      attempt: 1,
      dueAtMs: nowMs + Math.max(0, offsetMs) + 60_000,
      ...changes,
    };
    tables.jobs.set(job.id, job);
    return job.id;
  };
  const job = (id: JobId): Job => {
    const found = tables.jobs.get(id);
    assert(found !== undefined, "no job is lost");
    return found;
  };
  const passes = async (reconciler: Reconciler, count: number) => {
    const done = [];
    for (let n = 0; n < count; n++) {
      if (n > 0) await clock.advance(PASS_PERIOD_MS);
      done.push(await reconciler.passOnce());
    }
    return done;
  };
  /** As a pause does that gives up after its first transaction. */
  const beginPause = () =>
    shard.tasks.edit<never>(
      task.tenantId,
      task.id,
      (locked) => ({
        kind: "write",
        task: { ...locked.task, status: "paused" },
        newVersion: null,
        jobsEffect: { kind: "cancel", reason: REASON_PAUSED },
        makeJobs: [],
      }),
      RETENTION,
    );
  const goOn = () => shard.tasks.goOnWithJobs(task.tenantId, task.id, "paused", RETENTION);
  return {
    ...{ clock, tables, shard, deps, failing, asked, said },
    ...{ addHeld, job, passes, beginPause, goOn },
  };
}
