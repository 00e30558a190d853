/** The stores where an answer is lost: what the callers are told, and that repeating is safe. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createConnection } from "mysql2/promise";
import { adoptClaim } from "#adapters/mysql/claim-due.ts";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { claimJobsSql } from "#adapters/mysql/statements/claim-jobs.ts";
import { openDatabase } from "#adapters/mysql/transaction.ts";
import { endpointKey } from "#core/domain/call-limit.ts";
import { OutcomeUnknown, StoreUnavailable } from "#core/domain/errors.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import { makeManualJob, makeScheduledJob } from "#core/domain/make-job.ts";
import type { Task } from "#core/domain/task.ts";
import type { ClaimedJob, ClaimResult, JobResult } from "#core/ports/job-store.ts";
import type { TakeLimitedResult } from "#core/ports/limit-store.ts";
import type { Shard } from "#core/ports/shards.ts";
import { buildTask, HOUR_MS, makeWorker, RETENTION, TICK_BOUNDS } from "#test/contract/builders.ts";
import { openProxiedShard, type ProxiedShard, type TestDatabases } from "#test/support/mysql.ts";
import type { TcpProxy } from "#test/support/tcp-proxy.ts";
import { untilWaiting } from "./until-waiting.ts";

describe("stores whose answers are lost", () => {
  let open: ProxiedShard;
  let databases: TestDatabases;
  let proxy: TcpProxy;
  let shard: Shard;
  let worker: WorkerId;

  before(async () => {
    open = await openProxiedShard();
    ({ databases, proxy, shard } = open);
  });
  after(() => open.close());
  beforeEach(async () => {
    for (const table of ["tasks", "task_versions", "jobs", "limit_slots", "limited"]) {
      await databases.run(`DELETE FROM ${table}`);
    }
    worker = makeWorker();
    await shard.workers.register(worker, HOUR_MS);
  });

  async function addTaskWithJobs(jobs: number): Promise<Task> {
    const built = buildTask(Date.now());
    const { task } = built;
    await shard.tasks.create(built);
    for (let run = 1; run <= jobs; run++) {
      await shard.tasks.runNow(task.tenantId, task.id, (current, nowMs) =>
        makeManualJob(current, "manual", nowMs, run, null),
      );
    }
    return task;
  }

  function claim(): Promise<ClaimResult> {
    const branches = [0, 16, 32, 48].map((queue) => ({ queue, limit: 100, head: null }));
    return shard.jobs.claimDue({ workerId: worker, branches, aheadMs: 1_000, limit: 100 });
  }

  async function claimAll(): Promise<readonly ClaimedJob[]> {
    const result = await claim();
    assert.ok(result.kind === "claimed");
    return result.jobs;
  }

  async function rows(columns: string): Promise<unknown[]> {
    return (await databases.run(`SELECT ${columns} FROM jobs ORDER BY id`)).map((row) => ({
      ...row,
    }));
  }

  test("a claim whose COMMIT happened unheard is unknown, and adopted as it is", async () => {
    await addTaskWithJobs(5);
    proxy.addFault({ kind: "cut-answer", at: "COMMIT" });
    const result = await claim();
    assert.ok(result.kind === "unknown");
    assert.equal(result.claim.jobs.length, 5);
    const adopted = await shard.jobs.adopt(result.claim);
    assert.deepEqual(adopted.jobs, result.claim.jobs);
    assert.equal(adopted.marked.size, 0);
    for (const job of adopted.jobs) {
      const row = await shard.jobs.find(job.tenantId, job.id);
      assert.equal(row?.status, "running");
      assert.deepEqual([row?.dueAtMs, row?.claimNo], [job.dueAtMs, job.claimNo]);
    }
  });

  test("a claim whose COMMIT never arrived is unknown too, and nothing of it is ours", async () => {
    await addTaskWithJobs(5);
    proxy.addFault({ kind: "cut-before", at: "COMMIT" });
    const result = await claim();
    assert.ok(result.kind === "unknown");
    assert.deepEqual((await shard.jobs.adopt(result.claim)).jobs, []);
    assert.equal((await claimAll()).length, 5);
  });

  test("a claim that stands still before its COMMIT is unknown after its deadline, and holds nothing", async () => {
    await addTaskWithJobs(3);
    // Held by the proxy: the server's session keeps the claim's locks until its client is gone.
    const fault = proxy.addFault({ kind: "hold", at: "COMMIT" });
    const result = await claim();
    assert.equal(fault.struck, 1);
    assert.ok(result.kind === "unknown", "the claim's deadline has destroyed the connection");
    assert.deepEqual((await shard.jobs.adopt(result.claim)).jobs, []);
    assert.equal((await claimAll()).length, 3);
  });

  /** What comes of `late` while a COMMIT stands still; "waits" where nothing has after so long as a statement without locks never takes. */
  async function whileCommitStands(early: () => Promise<unknown>, late: () => Promise<unknown>) {
    const fault = proxy.addFault({ kind: "hold", at: "COMMIT" });
    const ended = early().catch(() => {});
    await fault.happened;
    const answered = late().then(
      () => "answered",
      () => "refused",
    );
    const first = await Promise.race([answered, sleep(500, "waits")]);
    await Promise.all([ended, answered]);
    return first;
  }

  test("a fence waits for the claim that is under way: it never has a job of a worker that is fenced", async () => {
    await addTaskWithJobs(3);
    const fence = () => shard.workers.fence(worker);
    await databases.run("UPDATE workers SET lease_until = UTC_TIMESTAMP(3) - INTERVAL 5 SECOND");
    assert.equal(await whileCommitStands(claim, fence), "waits");
  });

  test("adoption waits for a COMMIT that is still under way, and has what that brings", async () => {
    await addTaskWithJobs(3);
    proxy.addFault({ kind: "cut-before", at: "COMMIT" });
    const result = await claim();
    assert.ok(result.kind === "unknown");
    const { claim: unknown } = result;
    const database = shardDatabase("0", databases.databasePrefix);
    const connect = () => createConnection({ uri: databases.mysqlUrl, database });
    const [claiming, watcher] = await Promise.all([connect(), connect()]);
    const opened = openDatabase({ ...databases, database, poolSize: 1, logger: null });
    try {
      // The claim's session, whose COMMIT is late: it has written what the claim wrote.
      await claiming.query("BEGIN");
      await claiming.query(claimJobsSql(unknown.jobs, worker, unknown.claimedAtMs));
      const [[connectionId] = []] = await opened.select("SELECT CONNECTION_ID()");
      const adopting = adoptClaim(opened, unknown);
      adopting.catch(() => {});
      await untilWaiting(Number(connectionId), watcher);
      await claiming.query("COMMIT");
      const again = (error: unknown) => {
        // On a machine that is busy it may have been cut before.
        if (!(error instanceof StoreUnavailable)) throw error;
        return adoptClaim(opened, unknown);
      };
      const adopted = await adopting.catch(again);
      assert.deepEqual(adopted.jobs, unknown.jobs);
      assert.equal(adopted.jobs.length, 3);
    } finally {
      for (const connection of [claiming, watcher]) connection.destroy();
      await opened.close();
    }
  });

  test("an adoption is cut after a second where the rows stay locked, and asked again", async () => {
    await addTaskWithJobs(3);
    proxy.addFault({ kind: "cut-answer", at: "COMMIT" });
    const result = await claim();
    assert.ok(result.kind === "unknown");
    await databases.run("BEGIN");
    await databases.run("SELECT id FROM jobs FOR UPDATE");
    const fromMs = performance.now();
    await assert.rejects(shard.jobs.adopt(result.claim), StoreUnavailable);
    assert.ok(performance.now() - fromMs < 5_000);
    await databases.run("ROLLBACK");
    assert.equal((await shard.jobs.adopt(result.claim)).jobs.length, 3);
  });

  /** Puts a limit on the endpoint of tasks to come, and asks for its slots and jobs. */
  async function limitTasks(): Promise<() => Promise<TakeLimitedResult>> {
    const { task, version } = buildTask(Date.now());
    const key = endpointKey(task.tenantId, version.request.url);
    assert.ok(key !== null);
    await shard.limits.put(key, { concurrency: 5 });
    const built = buildTask(Date.now(), { task: { tenantId: task.tenantId } });
    await shard.tasks.create(built);
    for (let run = 1; run <= 3; run++) {
      await shard.tasks.runNow(task.tenantId, built.task.id, (current, nowMs) =>
        makeManualJob(current, "manual", nowMs, run, null),
      );
    }
    const queues = [0, 16, 32, 48];
    const line = { key, queues, slotsMax: 5, tenantSlotsMax: 0, jobsMax: 10 };
    return () => shard.limits.takeLimited({ workerId: worker, aheadMs: 1_000, lines: [line] });
  }

  test("a fence waits for the take with slots that is under way", async () => {
    const take = await limitTasks();
    const fence = () => shard.workers.fence(worker);
    await databases.run("UPDATE workers SET lease_until = UTC_TIMESTAMP(3) - INTERVAL 5 SECOND");
    assert.equal(await whileCommitStands(take, fence), "waits");
  });

  async function placesInLine(): Promise<number> {
    const [row] = await databases.run("SELECT COUNT(*) AS places FROM limited");
    return Number(row?.places);
  }

  test("a take whose COMMIT happened unheard is unknown, and its jobs are adopted", async () => {
    const take = await limitTasks();
    proxy.addFault({ kind: "cut-answer", at: "COMMIT" });
    const result = await take();
    assert.ok(result.kind === "unknown");
    assert.equal(result.claim.lines[0]?.slots, 5);
    const { jobs } = await shard.jobs.adopt(result.claim);
    assert.deepEqual(jobs, result.claim.jobs);
    assert.deepEqual([jobs.length, await placesInLine()], [3, 0]);
  });

  test("a take whose COMMIT never arrived is unknown too: no job and no slot of it is ours", async () => {
    const take = await limitTasks();
    proxy.addFault({ kind: "cut-before", at: "COMMIT" });
    const result = await take();
    assert.ok(result.kind === "unknown");
    assert.deepEqual((await shard.jobs.adopt(result.claim)).jobs, []);
    assert.deepEqual([...(await databases.run("SELECT * FROM limit_slots"))], []);
    assert.equal(await placesInLine(), 3);
    const again = await take();
    assert.ok(again.kind === "claimed");
    assert.equal(again.jobs.length, 3);
  });

  test("jobs of a limit whose give-back was not answered stand in line once", async () => {
    for (const kind of ["cut-answer", "cut-before"] as const) {
      await databases.run("DELETE FROM limited");
      await databases.run("DELETE FROM jobs");
      const taken = await (await limitTasks())();
      assert.ok(taken.kind === "claimed" && taken.jobs.length === 3);
      const held = taken.jobs.map((job) => ({ ...job, workerId: worker }));
      proxy.addFault({ kind, at: "COMMIT" });
      await assert.rejects(shard.jobs.giveBack(held, RETENTION), OutcomeUnknown);
      const written = kind === "cut-before" ? 3 : 0;
      const again = await shard.jobs.giveBack(held, RETENTION);
      assert.deepEqual(again, { written, lostRaces: 3 - written });
      assert.equal(await placesInLine(), 3);
      const back = { status: "waiting", attempt: 0, claim_no: 1 };
      assert.deepEqual(await rows("status, attempt, claim_no"), [back, back, back]);
    }
  });

  test("results whose answer was lost are written once, and repeating them changes nothing", async () => {
    await addTaskWithJobs(4);
    const jobs = await claimAll();
    const results = jobs.map((job, index): JobResult => {
      const record = {
        attempt: 1,
        startedAtMs: job.runAtMs,
        lagMs: 0,
        durationMs: 1,
        statusCode: 500,
        error: null,
        responseBody: null,
      };
      const { id, claimNo, limitKey } = job;
      const base = { id, claimNo, limitKey, workerId: worker, record };
      if (index % 2 === 0) return { ...base, kind: "succeed" };
      return {
        ...base,
        kind: "fail",
        retryAtMs: 0,
        retryQueue: 33,
        finalReason: null,
        maybeDead: false,
      };
    });
    proxy.addFault({ kind: "cut-answer", at: "UPDATE" });
    await assert.rejects(shard.jobs.recordResults(results, RETENTION), OutcomeUnknown);
    const written = await rows("*");
    assert.deepEqual(await shard.jobs.recordResults(results, RETENTION), {
      written: 0,
      lostRaces: 4,
    });
    assert.deepEqual(await rows("*"), written);
  });

  test("jobs whose give-back was not answered are back once", async () => {
    await addTaskWithJobs(2);
    const held = (await claimAll()).map(({ id, claimNo, limitKey }) => {
      return { id, claimNo, limitKey, workerId: worker };
    });
    proxy.addFault({ kind: "cut-answer", at: "UPDATE" });
    await assert.rejects(shard.jobs.giveBack(held, RETENTION), OutcomeUnknown);
    assert.deepEqual(await shard.jobs.giveBack(held, RETENTION), { written: 0, lostRaces: 2 });
    assert.deepEqual(await rows("status, attempt, claim_no"), [
      { status: "pending", attempt: 0, claim_no: 1 },
      { status: "pending", attempt: 0, claim_no: 1 },
    ]);
  });

  test("a tick whose COMMIT happened unheard has made its jobs; the next one makes none twice", async () => {
    const { task } = buildTask(Date.now());
    const dueAtMs = Math.floor(Date.now() / 1_000) * 1_000;
    const built = buildTask(Date.now(), { task: { ...task, nextRunAtMs: dueAtMs } });
    await shard.tasks.create({
      task: { ...built.task, id: task.id },
      version: { ...built.version, taskId: task.id },
    });
    const tick = () =>
      shard.tasks.materialize(TICK_BOUNDS, ({ nowMs, due }) => ({
        jobs: due.map((one) => makeScheduledJob(one, "schedule", dueAtMs, nowMs)),
        advances: due.map((one) => ({
          taskId: one.id,
          nextRunAtMs: nowMs + HOUR_MS,
          madeUntilMs: dueAtMs,
          error: null,
        })),
      }));
    proxy.addFault({ kind: "cut-before", at: "UPDATE", inTransactionWith: "INSERT INTO jobs" });
    await assert.rejects(tick(), { code: "store-unavailable" });
    assert.deepEqual(await rows("1"), [], "the INSERT went with its transaction");
    proxy.addFault({ kind: "cut-answer", at: "COMMIT", inTransactionWith: "INSERT INTO jobs" });
    await assert.rejects(tick(), OutcomeUnknown);
    assert.equal((await rows("1")).length, 1);
    assert.equal(await tick(), null);
    assert.equal((await rows("1")).length, 1);
  });

  test("a create and a pause whose COMMIT was not answered are unknown", async () => {
    const task = await addTaskWithJobs(1);
    proxy.addFault({ kind: "cut-answer", at: "COMMIT" });
    await assert.rejects(shard.tasks.create(buildTask(Date.now())), OutcomeUnknown);
    proxy.addFault({ kind: "cut-answer", at: "COMMIT" });
    const pause = shard.tasks.edit<never>(
      task.tenantId,
      task.id,
      (locked) => ({
        kind: "write",
        task: { ...locked.task, status: "paused" },
        newVersion: null,
        jobsEffect: { kind: "cancel", reason: "task paused" },
        makeJobs: [],
      }),
      RETENTION,
    );
    await assert.rejects(pause, OutcomeUnknown);
    assert.deepEqual(await rows("status, reason"), [
      { status: "cancelled", reason: "task paused" },
    ]);
  });

  test("a heartbeat gets through while every other connection is busy", async () => {
    const task = await addTaskWithJobs(0);
    const holder = databases.run(
      `SELECT SLEEP(1) FROM tasks WHERE tenant_id = '${task.tenantId}' FOR UPDATE`,
    );
    const waiting = Array.from({ length: 4 }, () =>
      shard.tasks.runNow(task.tenantId, task.id, (current, nowMs) =>
        makeManualJob(current, "manual", nowMs, 1 + Math.floor(Math.random() * 65_000), null),
      ),
    );
    const from = performance.now();
    assert.deepEqual(await shard.workers.renew(worker, HOUR_MS), { kind: "renewed" });
    assert.ok(performance.now() - from < 900);
    await Promise.all([holder, ...waiting]);
  });
});
