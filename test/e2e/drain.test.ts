/** How a worker process starts and ends: SIGTERM with jobs in hand, a database that is away, configuration that cannot work. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createBulkTasks } from "#test/support/bulk-tasks.ts";
import { eventually } from "#test/support/eventually.ts";
import { makeTestDatabases, openProxyOf, type TestDatabases } from "#test/support/mysql.ts";
import { openSink, type Sink } from "#test/support/sink.ts";
import { openTcpProxy } from "#test/support/tcp-proxy.ts";
import { type OwnProcess, startWorker } from "#test/support/worker-process.ts";

const STARTED_MS = 20_000;
const DONE_MS = 30_000;
const STOPPED_MS = 20_000;
const SLOTS = 10;
/** Each task is another tenant's: they take the slots for small tenants too. */
const IN_FLIGHT = SLOTS * 1.5;
const WAITING = 50;

let databases: TestDatabases;
let sink: Sink;

before(async () => {
  databases = await makeTestDatabases();
  sink = await openSink();
});
after(async () => {
  await sink.close();
  await databases.drop();
});

async function endsWith(worker: OwnProcess, code: number): Promise<void> {
  assert.deepEqual(await worker.ended(STOPPED_MS), { code, signal: null }, worker.lines.join("\n"));
}

describe("executor on SIGTERM", { timeout: 120_000 }, () => {
  const createTasks = (batch: number, count: number, path: string, inMs: number) => {
    const { run } = databases;
    const dueMs = Date.now() + inMs;
    const schedule = { type: "at", at: new Date(dueMs).toISOString() };
    const url = `${sink.url}${path}`;
    // Not critical: those have slots of their own.
    return createBulkTasks({ run, count, batch, url, schedule, dueMs, spreadMs: 100, priority: 2 });
  };
  /** `status/attempt/claim_no/held` of the jobs of a batch, each with how many there are. */
  const states = async (batch: number): Promise<Record<string, number>> => {
    const hex = batch.toString(16).padStart(2, "0");
    const rows = await databases.run(
      `SELECT CONCAT_WS('/', status, attempt, claim_no, IF(worker_id IS NULL, 'free', 'held')) AS state, COUNT(*) AS n
       FROM jobs WHERE SUBSTR(HEX(task_id), 1, 12) = '019000000${hex}0' GROUP BY state`,
    );
    return Object.fromEntries(rows.map((row) => [row.state, Number(row.n)]));
  };

  it("gives 50 waiting jobs back within 2 s, ends 15 calls in flight, exits 0; none lost, none twice", async () => {
    await using open = new AsyncDisposableStack();
    const env = { EXECUTOR_SLOTS: String(SLOTS) };
    const scheduler = open.use(startWorker("scheduler", databases));
    const executor = open.use(startWorker("executor", { ...databases, env }));
    await createTasks(0, IN_FLIGHT, "/hang/in-flight", 0);
    await sink.until(() => sink.open === IN_FLIGHT, DONE_MS);
    // Half of them are due and wait for a slot, half are held ahead of their time.
    await createTasks(1, WAITING / 2, "/ok/due", 0);
    await eventually(async () =>
      assert.deepEqual(await states(1), { "running/1/1/held": WAITING / 2 }),
    );
    // As soon as they are in hand, long before they are due: the executor claims a good second ahead.
    await createTasks(2, WAITING / 2, "/ok/ahead", 2_500);
    await eventually(async () =>
      assert.deepEqual(await states(2), { "running/1/1/held": WAITING / 2 }),
    );
    scheduler.signal("SIGTERM");
    executor.signal("SIGTERM");
    const backMs = performance.now();
    await eventually(async () => {
      assert.deepEqual(await states(1), { "pending/0/1/free": WAITING / 2 });
      assert.deepEqual(await states(2), { "pending/0/1/free": WAITING / 2 });
    }, 2_000);
    assert.ok(performance.now() - backMs < 2_000, "back within 2 s");
    assert.deepEqual(await states(0), { "running/1/1/held": IN_FLIGHT }, "calls go on");
    assert.equal(sink.totals().calls, IN_FLIGHT);
    sink.letGo();
    await endsWith(executor, 0);
    await endsWith(scheduler, 0);
    assert.deepEqual(await states(0), { "succeeded/1/1/free": IN_FLIGHT });
    assert.deepEqual(await databases.run("SELECT id FROM workers"), [], "its row is gone");

    const next = open.use(startWorker("executor", databases));
    const all = IN_FLIGHT + WAITING;
    await sink.until(() => sink.totals().keys === all, DONE_MS);
    await eventually(async () => {
      assert.deepEqual(await states(1), { "succeeded/1/2/free": WAITING / 2 });
      assert.deepEqual(await states(2), { "succeeded/1/2/free": WAITING / 2 });
    });
    next.signal("SIGTERM");
    await endsWith(next, 0);
    assert.deepEqual(sink.totals(), { calls: all, keys: all, duplicates: 0, withoutKey: 0 });
    assert.deepEqual(new Set(sink.calls().map(({ attempt }) => attempt)), new Set([1]));
  });

  it("exits 0 at once when it holds nothing, also twice signalled", async () => {
    await using executor = startWorker("executor", databases);
    await eventually(async () =>
      assert.equal((await databases.run("SELECT id FROM workers")).length, 1),
    );
    executor.signal("SIGTERM");
    executor.signal("SIGINT");
    await endsWith(executor, 0);
    assert.deepEqual(await databases.run("SELECT id FROM workers"), []);
  });
});

describe("worker without its database", { timeout: 120_000 }, () => {
  it("waits with backoff and says so, and goes on when it appears", async () => {
    await using open = new AsyncDisposableStack();
    const proxy = await openProxyOf(databases.mysqlUrl);
    open.defer(() => proxy.close());
    await proxy.refuse(true);
    const settings = { ...databases, mysqlUrl: proxy.mysqlUrl };
    const workers = [
      open.use(startWorker("scheduler", settings)),
      open.use(startWorker("executor", settings)),
    ];
    for (const worker of workers) await worker.line("database away or busy", STARTED_MS);
    await proxy.refuse(false);
    for (const worker of workers) await worker.line("working again", STARTED_MS);
    const calls = sink.totals().calls;
    const { run } = databases;
    const schedule = { type: "every", seconds: 3_600, anchor: "1970-01-01T00:00:00.000Z" };
    const tasks = { run, count: 5, batch: 9, url: `${sink.url}/ok`, schedule, spreadMs: 10 };
    await createBulkTasks({ ...tasks, dueMs: Date.now() });
    await sink.until(() => sink.totals().calls === calls + 5, DONE_MS);
    for (const worker of workers) worker.signal("SIGTERM");
    for (const worker of workers) await endsWith(worker, 0);
  });

  it("ends on SIGTERM while it waits", async () => {
    const proxy = await openTcpProxy({ targetPort: 9 });
    const { port } = proxy;
    await proxy.close();
    const settings = { mysqlUrl: `mysql://root@127.0.0.1:${port}`, databasePrefix: "absent_" };
    for (const kind of ["scheduler", "executor"] as const) {
      await using worker = startWorker(kind, settings);
      await worker.line("database away or busy", STARTED_MS);
      worker.signal("SIGTERM");
      await endsWith(worker, 0);
    }
  });
});

describe("configuration that cannot work", { timeout: 120_000 }, () => {
  const refusals: readonly (readonly [string, "scheduler" | "executor", object, RegExp])[] = [
    ["no MYSQL_URL", "scheduler", { MYSQL_URL: "" }, /^scheduler: .*MYSQL_URL is not set/],
    ["another kind of URL", "executor", { MYSQL_URL: "http://x" }, /MYSQL_URL must be a URL/],
    ["an unknown setting", "executor", { EXECUTOR_SLOT: "5" }, /EXECUTOR_SLOT is not known/],
    ["an unknown setting", "scheduler", { SCHEDULER_X: "5" }, /SCHEDULER_X is not known/],
    ["slots that are no number", "executor", { EXECUTOR_SLOTS: "many" }, /EXECUTOR_SLOTS must be/],
    ["an unknown log level", "scheduler", { LOG_LEVEL: "loud" }, /LOG_LEVEL must be one of/],
    ["a shard that is not there", "executor", { SHARD: "7" }, /SHARD 7 does not exist, only 0/],
    ["no prefix for a database", "scheduler", { DATABASE_PREFIX: "a-b" }, /DATABASE_PREFIX has/],
  ];
  for (const [name, kind, env, said] of refusals)
    it(`${name}: ${kind} exits 2 with one line`, async () => {
      const settings = { ...databases, env: env as Record<string, string> };
      await using worker = startWorker(kind, settings);
      await endsWith(worker, 2);
      assert.equal(worker.lines.length, 1, worker.lines.join("\n"));
      assert.match(worker.lines[0] ?? "", said);
    });
});
