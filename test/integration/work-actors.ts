/** What schedulers, executors and the API do to tasks and jobs, over and over, beside everybody else: steps of the contention test. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { randomRun, type WorkerId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import type { Task } from "#core/domain/task.ts";
import type { ClaimedJob, JobResult } from "#core/ports/job-store.ts";
import type { Shard } from "#core/ports/shards.ts";
import type { JobsEffect } from "#core/ports/task-store.ts";
import { materializeDueTasks } from "#core/services/scheduler/materialize-due-tasks.ts";
import { HOUR_MS, makeWorker } from "#test/contract/builders.ts";
import { takeFromLines } from "./limit-actors.ts";
import { shuffled } from "./upkeep-actors.ts";

/** One tick; how many jobs it has made. */
export async function tick({ tasks }: Shard, retention: Retention): Promise<number> {
  const metrics = { count() {}, observeLagMs() {} };
  const done = await materializeDueTasks({ tasks, metrics, retention });
  if (done === null) await new Promise((wake) => setImmediate(wake));
  return done?.made ?? 0;
}

/** What executors have done together. */
export class ExecutorCounts {
  claimed = 0;
  taken = 0;
  recorded = 0;
  lostRaces = 0;
  /** Jobs with claim numbers. */
  readonly claims = new Set<string>();
}

/** An executor that claims, takes from lines, and records or gives back; calls end as soon as they are claimed. */
export class ExecutorActor {
  readonly #shard: Shard;
  readonly #worker = makeWorker();
  readonly #queues: readonly number[];
  readonly #retention: Retention;
  readonly #counts: ExecutorCounts;
  readonly #writing = new Set<Promise<void>>();

  constructor(
    shard: Shard,
    queues: readonly number[],
    retention: Retention,
    counts: ExecutorCounts,
  ) {
    this.#shard = shard;
    this.#queues = queues;
    this.#retention = retention;
    this.#counts = counts;
  }

  async begin(): Promise<void> {
    await this.#shard.workers.register(this.#worker, HOUR_MS);
  }

  async claimOnce(): Promise<void> {
    const jobs = await this.#claim();
    for (const job of jobs) {
      const key = `${job.id} ${job.claimNo}`;
      assert.ok(!this.#counts.claims.has(key), `claimed twice: ${key}`);
      this.#counts.claims.add(key);
    }
    // Results are written while the next claim is under way, as the executor does.
    const write = this.#record(jobs).finally(() => this.#writing.delete(write));
    this.#writing.add(write);
    await this.#shard.workers.renew(this.#worker, HOUR_MS);
    if (this.#writing.size > 2) await this.end();
  }

  /** Waits for its writes. */
  async end(): Promise<void> {
    await Promise.all(this.#writing);
  }

  async #claim(): Promise<readonly ClaimedJob[]> {
    const { jobs } = this.#shard;
    const queues = this.#queues.map((queue) => ({ queue, floorMs: null }));
    const workerId = this.#worker;
    const { heads } = await jobs.poll({ workerId, queues, revocationsWithinMs: 1_000 });
    const branches = [...heads].map(([queue, head]) => ({ queue, limit: 40, head }));
    const result = await jobs.claimDue({ workerId, branches, aheadMs: 1_000, limit: 200 });
    assert.ok(result.kind !== "fenced");
    // On a machine that is busy a COMMIT may outlast the claim's deadline: then it is asked what came of it.
    const claimed = result.kind === "unknown" ? await jobs.adopt(result.claim) : result;
    const fromLines = await takeFromLines(this.#shard, workerId);
    this.#counts.claimed += claimed.jobs.length;
    this.#counts.taken += fromLines.length;
    return [...claimed.jobs, ...fromLines];
  }

  async #record(jobs: readonly ClaimedJob[]): Promise<void> {
    const worker = this.#worker;
    const back = jobs.filter((_, index) => index % 7 === 0);
    const ended = jobs.filter((_, index) => index % 7 !== 0);
    const results = ended.map((job, index) => resultOf(job, worker, index));
    const held = back.map((job) => ({ ...job, workerId: worker }));
    for (const done of await Promise.all([
      this.#shard.jobs.recordResults(shuffled(results), this.#retention),
      this.#shard.jobs.giveBack(shuffled(held), this.#retention),
    ])) {
      this.#counts.recorded += done.written;
      this.#counts.lostRaces += done.lostRaces;
    }
  }
}

function resultOf(job: ClaimedJob, workerId: WorkerId, index: number): JobResult {
  const record = {
    attempt: job.attempt,
    startedAtMs: job.runAtMs,
    lagMs: 0,
    durationMs: 1,
    statusCode: 500,
    error: null,
    responseBody: "no",
  };
  const key = { id: job.id, workerId, claimNo: job.claimNo, limitKey: job.limitKey };
  if (index % 3 !== 0) return { ...key, record, kind: "succeed" };
  const { queue, runAtMs } = job;
  const fail = {
    ...key,
    record,
    kind: "fail" as const,
    retryAtMs: runAtMs + 500,
    retryQueue: queue,
  };
  return index % 2 === 0
    ? { ...fail, finalReason: "gone", maybeDead: true }
    : { ...fail, finalReason: null, maybeDead: true };
}

/** A run by hand. */
export async function runByHand({ tasks }: Shard, { tenantId, id }: Task): Promise<void> {
  const run = randomRun(randomBytes(2));
  const done = await tasks.runNow(tenantId, id, (current, nowMs) =>
    makeManualJob(current, "manual", nowMs, run, null),
  );
  assert.equal(done.kind, "made");
}

/** Pause, resume, edits of the schedule and no-ops, in turn by chance. */
export async function edit(
  { tasks }: Shard,
  { tenantId, id }: Task,
  retention: Retention,
): Promise<void> {
  const result = await tasks.edit<never>(
    tenantId,
    id,
    ({ task, nowMs, plannedFromMs }) => {
      const next = Math.ceil(nowMs / 1_000) * 1_000;
      const write = (changes: Partial<Task>, jobsEffect: JobsEffect) => ({
        kind: "write" as const,
        task: { ...task, version: task.version + 1, ...changes },
        newVersion: null,
        jobsEffect,
        makeJobs: [],
      });
      if (task.status === "paused") {
        return write(
          { status: "active", nextRunAtMs: next, madeUntilMs: nowMs },
          { kind: "resume" },
        );
      }
      if (Math.random() < 0.5) {
        return write({ status: "paused" }, { kind: "cancel", reason: "task paused" });
      }
      const from = plannedFromMs ?? task.nextRunAtMs;
      return write({ nextRunAtMs: from }, { kind: "remove-planned" });
    },
    retention,
  );
  assert.equal(result.kind, "written");
}
