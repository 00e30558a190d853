/** Round trips per batch, counted on the wire with BEGIN and COMMIT: they must not grow with the batch. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { openShards } from "#adapters/mysql/shards.ts";
import { makeWorkerId } from "#core/domain/ids.ts";
import { makeScheduledJob } from "#core/domain/make-job.ts";
import type { DueTask } from "#core/domain/task.ts";
import type { ClaimedJob, JobResult } from "#core/ports/job-store.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";
import type { DueTasks, MaterializePlan } from "#core/ports/task-store.ts";
import { type CountingProxy, openCountingProxy } from "./counting-proxy.ts";
import { makeTestDatabases, type TestDatabases } from "./databases.ts";
import { seedRows } from "./seed-rows.ts";

const RETENTION = { succeededMs: 3_600_000, endedMs: 1_209_600_000 };
const WORKER = makeWorkerId(new Uint8Array(16).fill(3));
const BOUNDS = { horizonMs: 30_000, missedAfterMs: 60_000, missedTasksMax: 200, tasksMax: 1_000 };

/** A job for each task, and an hour until the next. */
function planOne({ nowMs, missed, due }: DueTasks): MaterializePlan {
  const tasks: DueTask[] = [...missed, ...due];
  return {
    jobs: tasks.map((task) => makeScheduledJob(task, "schedule", task.nextRunAtMs ?? nowMs, nowMs)),
    advances: tasks.map((task) => ({
      taskId: task.id,
      nextRunAtMs: nowMs + 3_600_000,
      madeUntilMs: task.nextRunAtMs,
      error: null,
    })),
  };
}

describe("statements on the wire", () => {
  let databases: TestDatabases;
  let proxy: CountingProxy;
  let shards: Shards;
  let shard: Shard;

  before(async () => {
    databases = await makeTestDatabases();
    await seedRows(databases, { tasks: 2_000, jobs: 2_000 });
    proxy = await openCountingProxy(databases.mysqlUrl);
    const { databasePrefix } = databases;
    shards = openShards({ mysqlUrl: proxy.url, databasePrefix });
    const [only] = shards.all();
    assert.ok(only);
    shard = only;
    await shard.workers.register(WORKER, 60_000);
  });
  after(async () => {
    await shards.close();
    await proxy.close();
    await databases.drop();
  });
  beforeEach(() => proxy.take());

  async function claim(limit: number): Promise<readonly ClaimedJob[]> {
    const branches = [0, 16, 32, 48].map((queue) => ({ queue, limit, floorMs: null }));
    const request = { workerId: WORKER, branches, aheadMs: 200_000, limit };
    const result = await shard.jobs.claimDue(request);
    assert.equal(result.kind, "claimed");
    return result.kind === "claimed" ? result.jobs : [];
  }

  test("a tick of a thousand tasks, missed ones among them, takes six", async () => {
    const done = await shard.tasks.materialize(BOUNDS, planOne);
    assert.equal(done?.tasks, 1_000);
    assert.equal(done?.made, 1_000);
    assert.deepEqual(verbs(proxy.take()), [
      "BEGIN",
      "SELECT",
      "SELECT",
      "INSERT",
      "UPDATE",
      "COMMIT",
    ]);
  });

  test("a tick that finds nothing takes four", async () => {
    while ((await shard.tasks.materialize(BOUNDS, planOne)) !== null);
    proxy.take();
    assert.equal(await shard.tasks.materialize(BOUNDS, planOne), null);
    assert.deepEqual(verbs(proxy.take()), ["BEGIN", "SELECT", "SELECT", "COMMIT"]);
  });

  test("a claim of five hundred with its versions takes six, its results one, or two when some may die", async () => {
    const jobs = await claim(500);
    assert.equal(jobs.length, 500);
    const keys = jobs.map((job) => ({ taskId: job.taskId, requestVersion: job.taskVersion }));
    assert.equal((await shard.tasks.loadVersions(keys)).length, 500);
    assert.deepEqual(verbs(proxy.take()), [
      "BEGIN",
      "SELECT",
      "SELECT",
      "UPDATE",
      "COMMIT",
      "SELECT",
    ]);

    const results = jobs.map((job, index): JobResult => {
      const { id, claimNo } = job;
      const base = { id, claimNo, workerId: WORKER, record: recordOf(job) };
      if (index % 2 === 0) return { ...base, kind: "succeed" };
      return {
        ...base,
        kind: "fail",
        retryAtMs: 0,
        retryQueue: 1,
        finalReason: null,
        maybeDead: false,
      };
    });
    const recorded = await shard.jobs.recordResults(results, RETENTION);
    assert.deepEqual(recorded, { written: 500, lostRaces: 0 });
    assert.deepEqual(verbs(proxy.take()), ["UPDATE"]);

    const again = await claim(500);
    proxy.take();
    const deaths = again.map((job): JobResult => {
      const { id, claimNo } = job;
      const base = { id, claimNo, workerId: WORKER, record: recordOf(job) };
      return {
        ...base,
        kind: "fail",
        retryAtMs: 0,
        retryQueue: 1,
        finalReason: "gone",
        maybeDead: true,
      };
    });
    const dead = await shard.jobs.recordResults(deaths, RETENTION);
    assert.deepEqual(dead, { written: again.length, lostRaces: 0 });
    assert.deepEqual(verbs(proxy.take()), ["INSERT", "UPDATE"]);
  });

  test("a poll takes one, a renewal one", async () => {
    const queues = Array.from({ length: 16 }, (_, queue) => ({ queue: queue * 4, floorMs: null }));
    await shard.jobs.poll({ workerId: WORKER, queues, revocationsWithinMs: 30_000 });
    await shard.workers.renew(WORKER, 60_000);
    assert.deepEqual(verbs(proxy.take()), ["SELECT", "UPDATE"]);
  });
});

function verbs(statements: readonly string[]): string[] {
  return statements.map((sql) => /[A-Z]+/.exec(sql)?.[0] ?? sql);
}

function recordOf(job: ClaimedJob) {
  return {
    attempt: job.attempt,
    startedAtMs: job.runAtMs,
    lagMs: 1,
    durationMs: 2,
    statusCode: 500,
    error: null,
    responseBody: "no",
  };
}
