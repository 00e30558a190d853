/**
 * What becomes of the jobs of executors that are killed: scheduler, executors and reconciler as processes, on a real MySQL. In each
 * part the workers are stopped before the next one begins.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemRandom } from "#adapters/system/random.ts";
import { makeWorkerId, type TenantId, taskIdFromBytes } from "#core/domain/ids.ts";
import type { Shards } from "#core/ports/shards.ts";
import { deleteTask } from "#core/services/tasks/delete-task.ts";
import { pauseTask } from "#core/services/tasks/pause-task.ts";
import { createBulkJobs } from "#test/support/bulk-jobs.ts";
import { createBulkTasks } from "#test/support/bulk-tasks.ts";
import { eventually } from "#test/support/eventually.ts";
import { makeTestDatabases, openProxyOf, type TestDatabases } from "#test/support/mysql.ts";
import { openSink, type Sink, type SinkCall } from "#test/support/sink.ts";
import { startTick, startWorker } from "#test/support/worker-process.ts";

const STARTED_MS = 20_000;
const HELD_MS = 30_000;
const DONE_MS = 60_000;
/** From the kill to the call, for what was due by then. */
const RESCUED_MS = 15_000;
const ON_TIME_MS = 2_000;
const RETENTION = { succeededMs: 3_600_000, endedMs: 86_400_000 };
const IN_FLIGHT = 10;
const MARKED = 4;
/** Each task of a batch is another tenant's: with the five slots beside these for small tenants all those calls are under way. */
const SLOTS = 9;
const QUEUE = 32;

/** Batches of tasks, by what happens to them. */
const FLYING = 0;
const MARKED_FLYING = 1;
const WAITING = 2;
const ONLY_ONCE = 3;
const AHEAD = 4;

let databases: TestDatabases;
let shards: Shards;
let sink: Sink;

before(async () => {
  databases = await makeTestDatabases();
  shards = openShards(databases);
  sink = await openSink();
});
after(async () => {
  await sink.close();
  await shards.close();
  await databases.drop();
});

const ofBatch = (batch: number) =>
  `SUBSTR(HEX(task_id), 1, 12) = '019000000${batch.toString(16).padStart(2, "0")}0'`;

/** Tasks of a batch that run daily, first at `inMs` from now. */
function createTasks(batch: number, count: number, path: string, inMs: number, maxAttempts = 3) {
  const dueMs = Date.now() + inMs;
  const schedule = { type: "every", seconds: 86_400, anchor: new Date(dueMs).toISOString() };
  const { run } = databases;
  const url = `${sink.url}${path}/${batch}`;
  // Critical ones have slots beside those that are full.
  const more = { spreadMs: 10, maxAttempts, priority: 2 };
  return createBulkTasks({ run, count, batch, url, schedule, dueMs, ...more });
}

/** Jobs of a batch by `status/attempt/lost`, each with how many there are. */
async function states(batch: number): Promise<Record<string, number>> {
  const rows = await databases.run(
    `SELECT CONCAT_WS('/', status, attempt, lost) AS state, COUNT(*) AS n FROM jobs WHERE ${ofBatch(batch)} GROUP BY state`,
  );
  return Object.fromEntries(rows.map((row) => [row.state, Number(row.n)]));
}

async function awaitStates(batch: number, expected: Record<string, number>, ms = DONE_MS) {
  await eventually(async () => assert.deepEqual(await states(batch), expected), ms);
}

const callsOf = (batch: number): SinkCall[] =>
  sink.calls().filter(({ path }) => path.endsWith(`/${batch}`));

describe("an executor killed with 10 calls under way and 50 jobs waiting", {
  timeout: 150_000,
}, () => {
  it("all run again: what is due within 15 s, what is not on its time, and what somebody stopped never", async () => {
    await using open = new AsyncDisposableStack();
    const scheduler = open.use(startWorker("scheduler", databases));
    const env = { EXECUTOR_SLOTS: String(SLOTS) };
    const doomed = open.use(startWorker("executor", { ...databases, env }));
    await createTasks(FLYING, IN_FLIGHT, "/hang", 0);
    await createTasks(MARKED_FLYING, MARKED, "/hang", 0);
    await sink.until(() => sink.open === IN_FLIGHT + MARKED, HELD_MS);
    await createTasks(WAITING, 30, "/ok", 0);
    await createTasks(ONLY_ONCE, 10, "/ok", 0, 1);
    await createTasks(AHEAD, 10, "/ok", 28_000);
    await awaitStates(WAITING, { "running/1/0": 30 }, HELD_MS);
    await awaitStates(ONLY_ONCE, { "running/1/0": 10 }, HELD_MS);
    await stopMarked();
    await claimAhead();
    open.use(startTick("reconciler", databases));

    const killedMs = Date.now();
    doomed.signal("SIGKILL");
    await doomed.ended(STARTED_MS);
    open.use(startWorker("executor", databases));
    // They hang again; then their answers count.
    await sink.until(() => callsOf(FLYING).length === 2 * IN_FLIGHT, DONE_MS);
    sink.letGo();
    await awaitStates(FLYING, { "succeeded/2/1": IN_FLIGHT });
    await awaitStates(WAITING, { "succeeded/2/1": 30 });
    await awaitStates(ONLY_ONCE, { "succeeded/2/1": 10 });
    await awaitStates(AHEAD, { "succeeded/2/1": 10 });
    await awaitStates(MARKED_FLYING, { "cancelled/1/1": MARKED });
    scheduler.signal("SIGTERM");

    const late = [...callsOf(FLYING), ...callsOf(WAITING), ...callsOf(ONLY_ONCE)]
      .map(({ arrivedAtMs }) => arrivedAtMs - killedMs)
      .filter((afterMs) => afterMs > 0);
    assert.equal(late.length, IN_FLIGHT + 40);
    assert.ok(Math.max(...late) <= RESCUED_MS, `the last one after ${Math.max(...late)} ms`);
    for (const { arrivedAtMs, scheduledAt } of callsOf(AHEAD)) {
      const lagMs = arrivedAtMs - Date.parse(scheduledAt);
      assert.ok(lagMs >= 0 && lagMs < ON_TIME_MS, `${lagMs} ms after its time`);
    }
    const extra = sink.totals().calls - (IN_FLIGHT + MARKED + 50);
    assert.equal(extra, IN_FLIGHT, "only calls whose answer was lost are made again");
    assert.equal(callsOf(MARKED_FLYING).length, MARKED, "what was stopped is not called again");
    await assertReasons();
  });

  /** Pauses and deletes tasks whose calls are under way. */
  async function stopMarked(): Promise<void> {
    const rows = await databases.run(
      `SELECT id AS task_id, tenant_id FROM tasks WHERE ${ofBatch(MARKED_FLYING).replace("task_id", "id")}`,
    );
    for (const [at, { task_id, tenant_id }] of rows.entries()) {
      const [id, tenantId] = [taskIdFromBytes(task_id), tenant_id as TenantId];
      const deps = { shards, clock: systemClock, random: systemRandom, retention: RETENTION };
      if (at % 2 === 0) assert.equal((await pauseTask(deps, tenantId, id)).kind, "written");
      else assert.equal((await deleteTask(deps, tenantId, id, null)).kind, "written");
    }
  }

  async function assertReasons(): Promise<void> {
    const rows = await databases.run(
      `SELECT reason, COUNT(*) AS n FROM jobs WHERE ${ofBatch(MARKED_FLYING)} GROUP BY reason`,
    );
    const reasons = Object.fromEntries(rows.map(({ reason, n }) => [reason, Number(n)]));
    assert.deepEqual(reasons, { "task paused": MARKED / 2, "task deleted": MARKED / 2 });
  }

  /** An executor that claims long before the time, and is never heard of again. */
  async function claimAhead(): Promise<void> {
    const [shard] = shards.all();
    assert(shard !== undefined);
    const workerId = makeWorkerId(randomBytes(16));
    await awaitStates(AHEAD, { "pending/0/0": 10 }, HELD_MS);
    await shard.workers.register(workerId, 6_000);
    const branches = [{ queue: QUEUE, limit: 10, head: null }];
    const claim = await shard.jobs.claimDue({ workerId, branches, aheadMs: 60_000, limit: 10 });
    assert(claim.kind === "claimed");
    assert.equal(claim.jobs.length, 10);
    await awaitStates(AHEAD, { "running/1/0": 10 });
  }
});

describe("the reconciler beside executors that live", { timeout: 150_000 }, () => {
  it("10,000 jobs that are a minute late: 10,000 calls", async () => {
    const others = await makeTestDatabases();
    await using open = new AsyncDisposableStack();
    open.defer(() => others.drop());
    const late = await openSink();
    open.defer(() => late.close());
    const { run } = others;
    const schedule = { type: "every", seconds: 86_400, anchor: "1970-01-01T00:00:00.000Z" };
    const tasks = { run, count: 1_000, batch: 0, url: `${late.url}/ok`, schedule, spreadMs: 1 };
    await createBulkTasks({ ...tasks, dueMs: Date.now() + 80_000_000 });
    const fromMs = Date.now() - 60_000;
    const jobs = { run, status: "pending", perTask: 10, fromMs, stepMs: 1 } as const;
    await createBulkJobs({ ...jobs, dueInMs: -60_000 });
    open.use(startTick("reconciler", others));
    open.use(startWorker("executor", others));
    open.use(startWorker("executor", others));
    await late.until(() => late.totals().keys === 10_000, DONE_MS);
    const sums = async () => {
      const [row] = await run(
        "SELECT SUM(status = 'succeeded') AS succeeded, SUM(lost) AS lost, SUM(attempt) AS attempts FROM jobs",
      );
      return Object.fromEntries(Object.entries(row ?? {}).map(([name, n]) => [name, Number(n)]));
    };
    await eventually(async () => assert.equal((await sums()).succeeded, 10_000));
    const { lost, attempts = 0 } = await sums();
    assert.equal(lost, 0, "no job was taken from an executor that lives");
    const { calls, keys, duplicates } = late.totals();
    assert.deepEqual({ keys, duplicates }, { keys: 10_000, duplicates: 0 });
    // On a machine that is too busy a connection may fail: that call is made again, and its attempt counted.
    assert.ok(calls <= attempts && attempts < 10_100, `${calls} calls, ${attempts} attempts`);
  });

  it("a database that was away longer than any lease costs no executor its own", async () => {
    const others = await makeTestDatabases();
    await using open = new AsyncDisposableStack();
    open.defer(() => others.drop());
    const proxy = await openProxyOf(others.mysqlUrl);
    open.defer(() => proxy.close());
    const settings = { ...others, mysqlUrl: proxy.mysqlUrl };
    const leases = () => others.run("SELECT HEX(id) AS id, fenced_at FROM workers");
    open.use(startWorker("executor", settings));
    await eventually(async () => assert.equal((await leases()).length, 1));
    const held = await leases();
    const reconciler = open.use(startTick("reconciler", settings));
    await reconciler.line("a run now", STARTED_MS);
    await proxy.refuse(true);
    proxy.resetAll();
    await reconciler.line("what was seen is forgotten", STARTED_MS);
    await setTimeout(8_000);
    await proxy.refuse(false);
    // Long enough for the looks that would have fenced it.
    await setTimeout(8_000);
    assert.deepEqual(await leases(), held);
    assert.equal(held[0]?.fenced_at, null);
  });
});
