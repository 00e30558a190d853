/** Round trips per batch, counted on the wire with BEGIN and COMMIT: they must not grow with the batch. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { openShards } from "#adapters/mysql/shards.ts";
import { insertJobsSql } from "#adapters/mysql/statements/insert-jobs.ts";
import { makeWorkerId, type TenantId } from "#core/domain/ids.ts";
import { makeManualJob, makeScheduledJob } from "#core/domain/make-job.ts";
import type { DueTask, Task } from "#core/domain/task.ts";
import type { ClaimedJob, JobResult } from "#core/ports/job-store.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";
import type { DueTasks, MaterializePlan } from "#core/ports/task-store.ts";
import { buildTask, createMany, TICK_BOUNDS } from "#test/contract/builders.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { type CountingProxy, openCountingProxy } from "./counting-proxy.ts";
import { seedRows } from "./seed-rows.ts";

const RETENTION = { succeededMs: 3_600_000, endedMs: 1_209_600_000 };
const WORKER = makeWorkerId(new Uint8Array(16).fill(3));

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
    await seedRows(databases, { tasks: 2_400, jobs: 2_000 });
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
    const branches = [0, 16, 32, 48].map((queue) => ({ queue, limit, head: null }));
    const request = { workerId: WORKER, branches, aheadMs: 200_000, limit };
    const result = await shard.jobs.claimDue(request);
    assert.equal(result.kind, "claimed");
    return result.kind === "claimed" ? result.jobs : [];
  }

  test("a tick of a thousand tasks, missed ones among them, takes six", async () => {
    const done = await shard.tasks.materialize(TICK_BOUNDS, planOne);
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
    while ((await shard.tasks.materialize(TICK_BOUNDS, planOne)) !== null);
    proxy.take();
    assert.equal(await shard.tasks.materialize(TICK_BOUNDS, planOne), null);
    assert.deepEqual(verbs(proxy.take()), ["BEGIN", "SELECT", "SELECT", "COMMIT"]);
  });

  test("a claim of five hundred with all that its calls need takes six, its results one, or two when some may die", async () => {
    const jobs = await claim(500);
    assert.equal(jobs.length, 500);
    const parts = await shard.tasks.loadCallParts({
      versions: jobs.map((job) => ({ taskId: job.taskId, requestVersion: job.taskVersion })),
      secretsOf: jobs.map(({ taskId }) => taskId),
      signingOf: [...new Set(jobs.map(({ tenantId }) => tenantId))],
    });
    assert.equal(parts.versions.length, 500);
    assert.deepEqual(verbs(proxy.take()), [
      "BEGIN",
      "SELECT",
      "UPDATE",
      "SELECT",
      "COMMIT",
      "SELECT",
    ]);

    const results = jobs.map((job, index): JobResult => {
      const { id, claimNo, limitKey } = job;
      const base = { id, claimNo, limitKey, workerId: WORKER, record: recordOf(job) };
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
      const { id, claimNo, limitKey } = job;
      const base = { id, claimNo, limitKey, workerId: WORKER, record: recordOf(job) };
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

  /** Gives `count` of the jobs that are pending to a worker of their own, which then dies. */
  async function lose(count: number) {
    const lost = makeWorkerId(new Uint8Array(16).fill(4));
    await databases.run(
      `UPDATE jobs SET status = 'running', worker_id = x'${lost}', claim_no = claim_no + 1, attempt = attempt + 1 WHERE status = 'pending' LIMIT ${count}`,
    );
    return shard.jobs.listHeldBy([lost], 1_000);
  }

  test("a rescue takes four, whatever the group; finding what was lost one", async () => {
    for (const count of [1, 300]) {
      const held = await lose(count);
      assert.deepEqual(verbs(proxy.take()), ["SELECT"]);
      const rescued = await shard.jobs.rescue(held, RETENTION);
      assert.equal(rescued.pending, count);
      assert.deepEqual(verbs(proxy.take()), ["INSERT", "UPDATE", "UPDATE", "UPDATE"]);
    }
  });

  test("an archiver's round takes seven, whatever the group; a look that finds nothing one", async () => {
    for (const count of [1, 300]) {
      await databases.run(
        `UPDATE jobs SET status = 'dead', due_at = UTC_TIMESTAMP(3) WHERE status = 'pending' LIMIT ${count}`,
      );
      for (;;) {
        const found = await shard.jobs.listArchivable(count, 1_000_000);
        if (found.length === 0) break;
        assert.deepEqual(verbs(proxy.take()), ["SELECT", "SELECT", "SELECT"]);
        assert.equal(await shard.jobs.deleteArchived(found), found.length);
        assert.deepEqual(verbs(proxy.take()), ["BEGIN", "SELECT", "DELETE", "COMMIT"]);
      }
      assert.deepEqual(verbs(proxy.take()), ["SELECT"]);
    }
  });

  test("tasks at once take five, with a quota six, whatever the group; one with key and quota seven; caps of any number of endpoints six more", async () => {
    const { task } = buildTask(Date.now());
    const { tenantId } = task;
    const groupOf = (count: number) =>
      Array.from({ length: count }, () => buildTask(Date.now(), { task: { tenantId } }));
    for (const count of [1, 200]) {
      await createMany(shard.tasks, groupOf(count));
      assert.deepEqual(verbs(proxy.take()), ["BEGIN", "SELECT", "INSERT", "INSERT", "COMMIT"]);
      await createMany(shard.tasks, groupOf(count), { tasksMax: 1_000_000 });
      const counted = ["BEGIN", "SELECT", "SELECT", "INSERT", "INSERT", "COMMIT"];
      assert.deepEqual(verbs(proxy.take()), counted);
    }
    const capped = {
      tasksMax: 1_000_000,
      endpointLimit: { concurrency: 5, perSecond: null },
    };
    const apart = groupOf(200).map(({ task, version }, n) => {
      const request = { ...version.request, url: `https://h${n}.example.com/` };
      return { task, version: { ...version, request } };
    });
    await createMany(shard.tasks, apart, capped);
    const group = ["BEGIN", "SELECT", "SELECT", "INSERT", "INSERT", "SELECT", "INSERT", "COMMIT"];
    // Then one walk for all that are new: tasks that name no endpoint; the clock, the tasks, their jobs.
    assert.deepEqual(verbs(proxy.take()), [...group, "SELECT", "SELECT", "SELECT", "SELECT"]);
    const key = { route: "r", key: "k", bodyHash: "00".repeat(32), expiresInMs: 60_000 };
    const [built] = groupOf(1);
    assert.ok(built);
    const keyed = { ...key, answerOf: () => "{}" };
    await shard.tasks.create(built, keyed, { tasksMax: 1_000_000 });
    const made = ["BEGIN", "INSERT", "SELECT", "INSERT", "INSERT", "UPDATE", "COMMIT"];
    assert.deepEqual(verbs(proxy.take()), made);
    await shard.tasks.create(built, keyed, { tasksMax: 1_000_000 });
    assert.deepEqual(verbs(proxy.take()), ["BEGIN", "INSERT", "SELECT", "COMMIT"]);
  });

  test("a retry takes seven, whatever the group; a cancel five, or six where the job runs", async () => {
    const built = buildTask(Date.now());
    const { task } = built;
    await shard.tasks.create(built);
    const jobs = Array.from({ length: 300 }, (_, n) =>
      makeScheduledJob(task, "schedule", Date.now() + n, Date.now()),
    );
    await databases.run(insertJobsSql(jobs));
    await databases.run(`UPDATE jobs SET status = 'dead' WHERE tenant_id = '${task.tenantId}'`);
    proxy.take();
    const [first, ...rest] = jobs.map(({ id }) => ({ id, delayMs: 0 }));
    assert.ok(first);
    for (const group of [[first], rest]) {
      const outcomes = await shard.jobs.retryDead(task.tenantId, group);
      assert.equal([...outcomes.values()].filter((one) => one === "moved").length, group.length);
      const taken = ["BEGIN", "SELECT", "SELECT", "SELECT", "UPDATE", "DELETE", "COMMIT"];
      assert.deepEqual(verbs(proxy.take()), taken);
    }
    await shard.jobs.cancel(task.tenantId, first.id, RETENTION);
    assert.deepEqual(verbs(proxy.take()), ["BEGIN", "SELECT", "SELECT", "UPDATE", "COMMIT"]);
    await databases.run(`UPDATE jobs SET status = 'running' WHERE tenant_id = '${task.tenantId}'`);
    await shard.jobs.cancel(task.tenantId, first.id, RETENTION);
    const marked = ["BEGIN", "SELECT", "SELECT", "UPDATE", "INSERT", "COMMIT"];
    assert.deepEqual(verbs(proxy.take()), marked);
  });

  test("a test call takes eight, a refused one four", async () => {
    const built = buildTask(Date.now());
    const { tenantId, id } = built.task;
    await shard.tasks.create(built);
    proxy.take();
    const make = (task: Task, nowMs: number) => makeManualJob(task, "test", nowMs, 1, null);
    const limit = { callsMax: 1, windowMs: 60_000 };
    await shard.tasks.runTest(tenantId, id, make, limit);
    const made = ["BEGIN", "INSERT", "SELECT", "SELECT", "SELECT", "INSERT", "UPDATE", "COMMIT"];
    assert.deepEqual(verbs(proxy.take()), made);
    await shard.tasks.runTest(tenantId, id, make, limit);
    assert.deepEqual(verbs(proxy.take()), ["BEGIN", "INSERT", "SELECT", "COMMIT"]);
  });

  test("the data keys that the first calls of many tenants ask for at once take one for two hundred", async () => {
    const names = Array.from({ length: 201 }, (_, i) => {
      return { tenantId: `keys-${i}` as TenantId, purpose: "seal" as const, id: "0".repeat(32) };
    });
    await Promise.all(names.map((name) => shard.secrets.findDataKey(name, name.id)));
    assert.deepEqual(verbs(proxy.take()), ["SELECT", "SELECT"]);
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
