/** Several schedulers and executors as the processes they are, on one database: nothing is lost, nothing comes twice. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemRandom } from "#adapters/system/random.ts";
import type { LogFields } from "#core/ports/logger.ts";
import { createBulkTasks } from "#test/support/bulk-tasks.ts";
import { eventually } from "#test/support/eventually.ts";
import {
  type MysqlProxy,
  makeTestDatabases,
  openProxyOf,
  type TestDatabases,
} from "#test/support/mysql.ts";
import { writeAtRandom } from "#test/support/random-writers.ts";
import { openSink, type Sink } from "#test/support/sink.ts";
import { assertFewFailed, FAILED_SHARE_MAX } from "#test/support/spent-attempts.ts";
import { type OwnProcess, startWorker } from "#test/support/worker-process.ts";

const JOBS = 10_000;
const STARTED_MS = 20_000;
const DONE_MS = 90_000;
const STOPPED_MS = 20_000;
/** RACES_MIXED_SECONDS=30 lengthens it. */
const MIXED_MS = Number(process.env.RACES_MIXED_SECONDS ?? 10) * 1_000;
const RETENTION = { succeededMs: 3_600_000, endedMs: 14 * 86_400_000 };

describe("10,000 tasks due in one second, two schedulers, two executors", {
  timeout: 240_000,
}, () => {
  let databases: TestDatabases;
  let sink: Sink;
  let proxy: MysqlProxy;

  before(async () => {
    databases = await makeTestDatabases();
    sink = await openSink();
    proxy = await openProxyOf(databases.mysqlUrl);
  });
  after(async () => {
    await proxy.close();
    await sink.close();
    await databases.drop();
  });

  const throughProxy = () => ({ ...databases, mysqlUrl: proxy.mysqlUrl });
  const createTasks = (batch: number, inMs: number, { count = JOBS, spreadMs = 1_000 } = {}) => {
    const dueMs = Math.ceil(Date.now() / 1_000) * 1_000 + inMs;
    const schedule = { type: "at", at: new Date(dueMs).toISOString() };
    const { run } = databases;
    const url = `${sink.url}/ok/${batch}`;
    return createBulkTasks({ run, count, batch, url, schedule, dueMs, spreadMs });
  };
  const count = async (where: string): Promise<number> => {
    const [row] = await databases.run(`SELECT COUNT(*) AS n FROM jobs WHERE ${where}`);
    return Number(row?.n);
  };
  /** Once each call has come and its result is written: so many jobs, calls and successes, none twice. */
  const checkAll = async (jobs: number) => {
    await sink.until(() => sink.totals().keys >= jobs, DONE_MS);
    await eventually(async () => assert.equal(await count("status = 'succeeded'"), jobs));
    assert.equal(await count("TRUE"), jobs, "one job of each task");
    assert.equal(await count("lost <> 0 OR worker_id IS NOT NULL"), 0);
    await assertFewFailed(databases);
    const { calls, ...totals } = sink.totals();
    assert.deepEqual(totals, { keys: jobs, duplicates: 0, withoutKey: 0 });
    assert.ok(calls >= jobs && calls <= jobs * (1 + FAILED_SHARE_MAX), `${calls} calls`);
    for (const call of sink.calls())
      assert.ok(call.arrivedAtMs >= Date.parse(call.scheduledAt), "no call before its time");
  };

  it("without faults", async () => {
    const earlier = sink.totals().keys;
    await createTasks(0, 4_000);
    await using workers = new AsyncDisposableStack();
    const all = [
      ...twice(() => workers.use(startWorker("scheduler", databases))),
      ...twice(() => workers.use(startWorker("executor", databases))),
    ];
    await checkAll(earlier + JOBS);
    await stopAll(all);
    assert.equal((await databases.run("SELECT id FROM workers")).length, 0, "clean exits");
  });

  it("with a scheduler killed between INSERT and UPDATE, and connections cut after COMMIT", async () => {
    const earlier = sink.totals().keys;
    const hold = proxy.addFault({
      kind: "hold",
      at: "UPDATE (VALUES",
      inTransactionWith: "INSERT INTO jobs",
    });
    const claims = { at: "COMMIT", inTransactionWith: "FOR UPDATE SKIP LOCKED" };
    const results = { at: "UPDATE (VALUES", alone: true };
    await createTasks(1, 5_000);
    await using workers = new AsyncDisposableStack();
    const doomed = workers.use(startWorker("scheduler", throughProxy()));
    await Promise.race([hold.happened, doomed.ended(STARTED_MS)]);
    const schedulers = twice(() => workers.use(startWorker("scheduler", databases)));
    for (const scheduler of schedulers) await scheduler.line('"started"', STARTED_MS);
    doomed.signal("SIGKILL");
    await doomed.ended(STOPPED_MS);
    const faults = [
      proxy.addFault({ kind: "cut-answer", ...claims, from: 2, times: 3 }),
      proxy.addFault({ kind: "cut-before", ...claims, from: 8, times: 2 }),
      proxy.addFault({ kind: "cut-answer", ...results, from: 3, times: 3 }),
      proxy.addFault({ kind: "cut-before", ...results, from: 9, times: 2 }),
    ];
    const executors = twice(() => workers.use(startWorker("executor", throughProxy())));
    await checkAll(earlier + JOBS);
    assert.equal(hold.struck, 1);
    assert.deepEqual(
      faults.map(({ struck }) => struck),
      [3, 2, 3, 2],
      "every fault has struck",
    );
    await stopAll([...schedulers, ...executors]);
    const unknown = executors.reduce((sum, one) => sum + counter(one, "ClaimsUnknown"), 0);
    // A machine that is slow makes more of them: a claim has a second altogether.
    assert.ok(unknown >= 5, `${unknown} claims whose COMMIT was not answered`);
  });

  it("with the database out of reach for a while, then connections reset again and again", async () => {
    const earlier = sink.totals().keys;
    const fewer = 2_000;
    const settings = throughProxy();
    await createTasks(2, 3_000, { count: fewer, spreadMs: 8_000 });
    await using workers = new AsyncDisposableStack();
    const all = [
      ...twice(() => workers.use(startWorker("scheduler", settings))),
      ...twice(() => workers.use(startWorker("executor", settings))),
    ];
    await sink.until(() => sink.totals().keys > earlier + 100, DONE_MS);
    proxy.pause();
    await setTimeout(6_000);
    proxy.resume();
    await sink.until(() => sink.totals().keys > earlier + fewer / 2, DONE_MS);
    await proxy.refuse(true);
    proxy.resetAll();
    await setTimeout(2_000);
    await proxy.refuse(false);
    for (let i = 0; i < 8; i++) {
      await setTimeout(300);
      proxy.resetAll();
    }
    await checkAll(earlier + fewer);
    for (const worker of all) await worker.line("working again", STARTED_MS);
    await stopAll(all);
  });
});

describe("scheduler, executors and the API at once", { timeout: 240_000 }, () => {
  it(`${MIXED_MS / 1_000} s of edits, pauses and runs by hand: no deadlock, no call twice`, async () => {
    await using open = new AsyncDisposableStack();
    const databases = await makeTestDatabases();
    open.defer(() => databases.drop());
    const sink = await openSink();
    open.defer(() => sink.close());
    const warnings: string[] = [];
    const logger = { info: () => {}, warn: note, error: note };
    function note(message: string, fields: LogFields = {}) {
      warnings.push(`${message} ${JSON.stringify(fields)}`);
    }
    const shards = openShards({ ...databases, logger });
    open.defer(() => shards.close());
    const deadlocksBefore = await deadlocks(databases);
    const workers = [
      ...twice(() => open.use(startWorker("scheduler", databases))),
      ...twice(() => open.use(startWorker("executor", databases))),
    ];
    const deps = { shards, clock: systemClock, random: systemRandom, retention: RETENTION };
    const done = await writeAtRandom(deps, sink.url, MIXED_MS, () =>
      sink.until(() => sink.totals().calls > 0, DONE_MS),
    );
    await stopAll(workers);
    assert.equal(Object.keys(done).length, 5, `every verb was done: ${JSON.stringify(done)}`);
    assert.ok(sink.totals().keys > 50, `${sink.totals().keys} jobs were called`);
    assert.equal(sink.totals().duplicates, 0);
    const gaveWay = [...warnings, ...workers.flatMap(({ lines }) => lines)].filter((line) =>
      /gave way|"level":"error"/.test(line),
    );
    assert.deepEqual(gaveWay, []);
    assert.equal(
      (await deadlocks(databases)) - deadlocksBefore,
      0,
      "deadlocks by the server's count",
    );
    const [left] = await databases.run(
      "SELECT COUNT(*) AS n FROM jobs WHERE status = 'running' OR (status = 'succeeded' AND lost <> 0)",
    );
    assert.equal(Number(left?.n), 0, "whatever was held has been written or given back");
    await assertFewFailed(databases);
  });
});

async function deadlocks({ run }: TestDatabases): Promise<number> {
  const [row] = await run(
    "SELECT COUNT AS n FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'",
  );
  return Number(row?.n);
}

/** What the process has counted since its start, from the metrics in its log. */
function counter(worker: OwnProcess, name: string): number {
  return worker.lines.reduce((sum, line) => {
    const said = line.includes('"_aws"') ? JSON.parse(line) : {};
    return sum + (said[name] ?? 0);
  }, 0);
}

function twice<T>(make: () => T): T[] {
  return [make(), make()];
}

async function stopAll(processes: readonly OwnProcess[]): Promise<void> {
  for (const one of processes) one.signal("SIGTERM");
  for (const one of processes) {
    assert.deepEqual(await one.ended(STOPPED_MS), { code: 0, signal: null }, one.lines.join("\n"));
    const failures = one.lines.filter((line) => line.includes('"level":"error"'));
    assert.deepEqual(failures, []);
  }
}
