/** Rescue, archive, retry and keyed requests where an answer is lost or a lock is held: repeating is safe, and waits end. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { bytes } from "#adapters/mysql/literals.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { insertJobsSql } from "#adapters/mysql/statements/insert-jobs.ts";
import { OutcomeUnknown } from "#core/domain/errors.ts";
import { type JobId, jobIdToBytes, partitionOfTenant } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { makeManualJob, makeScheduledJob } from "#core/domain/make-job.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import type { Idempotency } from "#core/ports/idempotency.ts";
import type { Shard } from "#core/ports/shards.ts";
import type { MadeRun } from "#core/ports/task-store.ts";
import {
  buildTask,
  createMany,
  makeTenant,
  makeWorker,
  RETENTION,
} from "#test/contract/builders.ts";
import {
  makeTestDatabases,
  openProxiedShard,
  type ProxiedShard,
  type TestDatabases,
} from "#test/support/mysql.ts";
import type { TcpProxy } from "#test/support/tcp-proxy.ts";

describe("upkeep whose answers are lost", () => {
  let open: ProxiedShard;
  let databases: TestDatabases;
  let proxy: TcpProxy;
  let shard: Shard;

  before(async () => {
    open = await openProxiedShard();
    ({ databases, proxy, shard } = open);
  });
  after(() => open.close());
  beforeEach(async () => {
    for (const table of ["tasks", "task_versions", "jobs", "dead_letters"]) {
      await databases.run(`DELETE FROM ${table}`);
    }
  });

  async function addTask(): Promise<Task> {
    const built = buildTask(Date.now());
    assert.deepEqual(await shard.tasks.create(built), { kind: "created" });
    return built.task;
  }

  async function addJobs(task: Task, changes: readonly Partial<Job>[]): Promise<Job[]> {
    const nowMs = Date.now();
    const jobs = changes.map((change, n): Job => {
      const job = makeScheduledJob(task, "schedule", nowMs - 60_000 - n, nowMs);
      return { ...job, claimNo: 1, attempt: 1, ...change };
    });
    await databases.run(insertJobsSql(jobs));
    return jobs;
  }

  async function rows(columns: string, table = "jobs"): Promise<unknown[]> {
    return (await databases.run(`SELECT ${columns} FROM ${table}`)).map((row) => ({ ...row }));
  }

  test("a rescue that is cut at any of its statements is finished by repeating it, and counts each loss once", async () => {
    const cuts = [0, 1, 2, 3];
    for (const cut of cuts) {
      await databases.run("DELETE FROM jobs");
      const status = "running";
      const workerId = makeWorker();
      const jobs = await addJobs(await addTask(), [
        { status, workerId },
        { status, workerId, lost: 4 },
        { status, workerId, cancelReason: "task paused" },
      ]);
      const at = cut === 0 ? "INSERT INTO dead_letters" : "UPDATE";
      proxy.addFault({ kind: "cut-answer", at, from: Math.max(1, cut) });
      await assert.rejects(shard.jobs.rescue(jobs, RETENTION), OutcomeUnknown);
      const { pending, dead, cancelled } = await shard.jobs.rescue(jobs, RETENTION);
      assert.equal(pending + dead + cancelled, jobs.length - cut);
      const found = await databases.run("SELECT status, lost FROM jobs ORDER BY id DESC");
      assert.deepEqual(
        found.map((row) => [row.status, row.lost]),
        [
          ["pending", 1],
          ["dead", 5],
          ["cancelled", 1],
        ],
      );
      assert.equal((await rows("1", "dead_letters")).length, 1);
      await databases.run("DELETE FROM dead_letters");
    }
  });

  test("an archiver whose COMMIT was not answered has deleted jobs and dead letters together, or neither", async () => {
    for (const kind of ["cut-answer", "cut-before"] as const) {
      const dueAtMs = Date.now() - 1_000;
      const jobs = await addJobs(await addTask(), [
        { status: "dead", dueAtMs, finishedAtMs: dueAtMs },
        { status: "succeeded", dueAtMs, finishedAtMs: dueAtMs },
      ]);
      await databases.run(
        "INSERT INTO dead_letters SELECT tenant_id, id, part, task_id, due_at FROM jobs WHERE status = 'dead'",
      );
      proxy.addFault({ kind, at: "COMMIT", inTransactionWith: "DELETE jobs" });
      await assert.rejects(shard.jobs.deleteArchived(jobs), OutcomeUnknown);
      const left = kind === "cut-before" ? [2, 1] : [0, 0];
      const counted = [(await rows("1")).length, (await rows("1", "dead_letters")).length];
      assert.deepEqual(counted, left);
      assert.equal(await shard.jobs.deleteArchived(jobs), left[0]);
      assert.deepEqual(await rows("1", "dead_letters"), []);
    }
  });

  test("the archiver passes over what others hold", async () => {
    const dueAtMs = Date.now() - 1_000;
    const task = await addTask();
    const jobs = await addJobs(task, [
      { status: "dead", dueAtMs },
      { status: "dead", dueAtMs },
    ]);
    await databases.run("BEGIN");
    const held = bytes(jobIdToBytes(jobs[0]?.id as JobId));
    const at = `part = ${partitionOfTenant(task.tenantId)} AND id = ${held}`;
    await databases.run(`SELECT 1 FROM jobs WHERE ${at} FOR UPDATE`);
    const from = performance.now();
    assert.equal(await shard.jobs.deleteArchived(jobs), 1);
    assert.ok(performance.now() - from < 2_000, "it does not wait");
    await databases.run("ROLLBACK");
    assert.equal(await shard.jobs.deleteArchived(jobs), 1);
  });

  test("a create, a run and a retry whose COMMIT was not answered are answered by repeating them", async () => {
    const tenantId = makeTenant();
    const build = () => buildTask(Date.now(), { task: { tenantId, name: "digest" } });
    const created = keyOf<TaskWithVersion>("create", ({ task }) => task.id);
    const first = build();
    proxy.addFault({ kind: "cut-answer", at: "COMMIT" });
    await assert.rejects(shard.tasks.create(first, created), OutcomeUnknown);
    const replay = { kind: "replayed", answer: first.task.id };
    assert.deepEqual(await shard.tasks.create(build(), created), replay);

    const ran = keyOf<MadeRun>("run", ({ job }) => job.id);
    let runs = 0;
    const run = () =>
      shard.tasks.runNow(
        tenantId,
        first.task.id,
        (task, nowMs) => makeManualJob(task, "manual", nowMs, ++runs, null),
        ran,
      );
    proxy.addFault({ kind: "cut-before", at: "COMMIT" });
    await assert.rejects(run(), OutcomeUnknown);
    assert.deepEqual(await rows("1"), [], "neither the job nor its key was written");
    proxy.addFault({ kind: "cut-answer", at: "COMMIT" });
    await assert.rejects(run(), OutcomeUnknown);
    assert.equal((await run()).kind, "replayed");
    assert.equal((await rows("1")).length, 1);

    const [job] = await addJobs(first.task, [{ status: "dead" }]);
    assert.ok(job);
    const retried = keyOf<Job>("retry", ({ id, status }) => `${id} ${status}`);
    proxy.addFault({ kind: "cut-answer", at: "COMMIT" });
    await assert.rejects(shard.jobs.retryOne(tenantId, job.id, retried), OutcomeUnknown);
    assert.deepEqual(await shard.jobs.retryOne(tenantId, job.id, retried), {
      kind: "replayed",
      answer: `${job.id} pending`,
    });
  });

  test("a group of tasks whose COMMIT was not answered may be sent again", async () => {
    const tenantId = makeTenant();
    const group = Array.from({ length: 3 }, () => buildTask(Date.now(), { task: { tenantId } }));
    proxy.addFault({ kind: "cut-answer", at: "COMMIT" });
    await assert.rejects(createMany(shard.tasks, group, { tasksMax: 3 }), OutcomeUnknown);
    const results = await createMany(shard.tasks, group, { tasksMax: 3 });
    assert.deepEqual(
      results,
      group.map(() => ({ kind: "created" })),
    );
    assert.equal((await rows("1", "tasks")).length, 3);
    assert.equal((await rows("1", "task_versions")).length, 3);
  });

  test("a request whose key is held longer than the lock wait is told so, and its key works after", async () => {
    const built = buildTask(Date.now());
    const key = keyOf<TaskWithVersion>("held", ({ task }) => task.id);
    const { tenantId } = built.task;
    const other = buildTask(Date.now(), { task: { tenantId } });
    await shard.tasks.create(other, key);
    await databases.run("DELETE FROM idempotency_keys");
    await databases.run("BEGIN");
    await databases.run(
      `INSERT INTO idempotency_keys (part, tenant_id, route, \`key\`, body_hash, expires_at) VALUES (${part(built)}, '${tenantId}', '${key.route}', '${key.key}', x'${key.bodyHash}', '2999-01-01')`,
    );
    const from = performance.now();
    assert.deepEqual(await shard.tasks.create(built, key), { kind: "key-in-work" });
    assert.ok(performance.now() - from < 4_500, "one lock wait, not run again");
    await databases.run("ROLLBACK");
    assert.deepEqual(await shard.tasks.create(built, key), { kind: "created" });
  });
});

function keyOf<Made>(key: string, answerOf: (made: Made) => string): Idempotency<Made> {
  return { route: "POST /v1/x", key, bodyHash: "ab".repeat(32), expiresInMs: 60_000, answerOf };
}

function part({ task }: TaskWithVersion): number {
  return partitionOfTenant(task.tenantId);
}

test("leases are not looked at where they could not have been renewed", async () => {
  const databases = await makeTestDatabases();
  const user = `reader_${databases.databasePrefix.replaceAll("_", "")}`;
  const url = new URL(databases.mysqlUrl);
  url.username = user;
  await databases.run(`CREATE USER ${user}@'%'`);
  await databases.run(`GRANT SELECT ON *.* TO ${user}@'%'`);
  const { databasePrefix } = databases;
  const reading = openShards({ mysqlUrl: url.href, databasePrefix });
  const writing = openShards(databases);
  try {
    const [[reader], [writer]] = [reading.all(), writing.all()];
    assert.ok(reader && writer);
    const workerId = makeWorker();
    await writer.workers.register(workerId, 0);
    assert.deepEqual(await reader.workers.listFenced(10), [], "it can be read");
    await assert.rejects(reader.workers.listExpired(10));
    assert.deepEqual(await writer.workers.listExpired(10), [workerId]);
  } finally {
    await Promise.all([reading.close(), writing.close()]);
    await databases.run(`DROP USER ${user}@'%'`);
    await databases.drop();
  }
});
