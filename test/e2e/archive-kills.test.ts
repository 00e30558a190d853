/** The archiver killed at each of its steps, run twice at once, and overtaken by a retry: no job is lost, and each is archived once. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openHistory } from "#adapters/cassandra/history-store.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemRandom } from "#adapters/system/random.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import { jobIdFromBytes, type TenantId } from "#core/domain/ids.ts";
import { archiveJobs } from "#core/services/archiver/archive-jobs.ts";
import { createBulkJobs } from "#test/support/bulk-jobs.ts";
import { createBulkTasks } from "#test/support/bulk-tasks.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { eventually } from "#test/support/eventually.ts";
import {
  type MysqlProxy,
  makeTestDatabases,
  openProxyOf,
  type TestDatabases,
} from "#test/support/mysql.ts";
import { openSink } from "#test/support/sink.ts";
import { type OwnProcess, startTick, startWorker } from "#test/support/worker-process.ts";

const TASKS = 100;
const JOBS = 4_000;
const DONE_MS = 60_000;
const STOPPED_MS = 10_000;
const SILENT = { info() {}, warn() {}, error() {} };

const keyspace = await makeTestKeyspace();
let databases: TestDatabases;
let proxy: MysqlProxy;

before(async () => {
  databases = await makeTestDatabases();
  proxy = await openProxyOf(databases.mysqlUrl);
  const { run } = databases;
  const schedule = { type: "every", seconds: 86_400, anchor: "1970-01-01T00:00:00.000Z" };
  const tasks = { run, count: TASKS, batch: 0, url: "http://127.0.0.1:9/", schedule, spreadMs: 1 };
  await createBulkTasks({ ...tasks, dueMs: Date.now() + 80_000_000 });
});
after(async () => {
  await proxy.close();
  await databases.drop();
});

async function createJobs(count: number): Promise<Set<string>> {
  const { run } = databases;
  const fromMs = Date.now() - 3_600_000;
  const perTask = count / TASKS;
  await createBulkJobs({ run, status: "succeeded", perTask, fromMs, stepMs: 7, dueInMs: -1 });
  return inMysql();
}

async function inMysql(): Promise<Set<string>> {
  const rows = await databases.run("SELECT id FROM jobs");
  return new Set(rows.map(({ id }) => jobIdFromBytes(id)));
}

/** Partition by partition: one answer holds no more than a page. */
async function inCassandra(): Promise<Set<string>> {
  const table = "{ks}.jobs_by_task";
  const partitions = await keyspace.run(`SELECT DISTINCT tenant_id, task_id, month FROM ${table}`);
  const query = `SELECT job_id FROM ${table} WHERE tenant_id = ? AND task_id = ? AND month = ?`;
  const rows = await Promise.all(
    partitions.map(({ tenant_id, task_id, month }) =>
      keyspace.run(query, [tenant_id, task_id, month]),
    ),
  );
  return new Set(rows.flat().map(({ job_id }) => jobIdFromBytes(job_id as Buffer)));
}

async function assertNoneLost(jobs: ReadonlySet<string>): Promise<void> {
  // In the readers' order: what leaves MySQL is in Cassandra before.
  const hot = await inMysql();
  const archived = await inCassandra();
  for (const id of jobs) assert.ok(hot.has(id) || archived.has(id), `${id} is in a store`);
}

function assertSame(actual: ReadonlySet<string>, expected: ReadonlySet<string>): void {
  assert.equal(actual.size, expected.size);
  for (const id of expected) assert.ok(actual.has(id), `${id} is there`);
}

function startArchiver(mysqlUrl = databases.mysqlUrl): OwnProcess {
  const { databasePrefix } = databases;
  return startTick("archiver", { mysqlUrl, databasePrefix, env: keyspace.env });
}

async function kill(archiver: OwnProcess): Promise<void> {
  archiver.signal("SIGKILL");
  await archiver.ended(STOPPED_MS);
}

describe("the archiver", { timeout: 180_000 }, () => {
  it(`killed at each step with ${JOBS} jobs to move: none lost, each archived once`, async () => {
    const jobs = await createJobs(JOBS);
    const steps = [
      ["before a copy", { at: "SELECT v.task_id" }],
      ["between a copy and the look at what has changed", { at: "SELECT jobs.id", from: 2 }],
      ["before a deletion", { at: "DELETE jobs", from: 2 }],
      ["before a deletion's commit", { at: "COMMIT", inTransactionWith: "DELETE jobs" }],
    ] as const;
    for (const [step, where] of steps) {
      const left = (await inMysql()).size;
      const hold = proxy.addFault({ kind: "hold", ...where });
      await using archiver = startArchiver(proxy.mysqlUrl);
      await Promise.race([hold.happened, archiver.ended(DONE_MS)]);
      assert.equal(hold.struck, 1, `killed ${step}`);
      await kill(archiver);
      await assertNoneLost(jobs);
      assert.ok((await inMysql()).size <= left);
    }
    // In the middle of its writes, as soon as there are new ones.
    const copied = (await inCassandra()).size;
    await using archiver = startArchiver();
    await eventually(async () => assert.ok((await inCassandra()).size > copied), DONE_MS);
    await kill(archiver);
    await assertNoneLost(jobs);

    await using _last = startArchiver();
    await eventually(async () => assert.equal((await inMysql()).size, 0), DONE_MS);
    assertSame(await inCassandra(), jobs);
  });

  it("twice at once: every job archived, none left, no deadlock", async () => {
    const before = await inCassandra();
    const jobs = await createJobs(JOBS);
    await using first = startArchiver();
    await using second = startArchiver();
    await eventually(async () => assert.equal((await inMysql()).size, 0), DONE_MS);
    assertSame(await inCassandra(), new Set([...before, ...jobs]));
    for (const { lines } of [first, second])
      assert.deepEqual(
        lines.filter((line) => /"level":"(warn|error)"/.test(line)),
        [],
      );
  });

  it("overtaken by the retry of a dead job between copy and deletion: the job runs, and its new end is what is archived", async () => {
    await using open = new AsyncDisposableStack();
    const sink = await openSink();
    open.defer(() => sink.close());
    const { run } = databases;
    await run("DELETE FROM tasks");
    const schedule = { type: "every", seconds: 86_400, anchor: "1970-01-01T00:00:00.000Z" };
    const tasks = { run, count: 1, batch: 1, url: `${sink.url}/ok`, schedule, spreadMs: 1 };
    await createBulkTasks({ ...tasks, dueMs: Date.now() + 80_000_000 });
    const fromMs = Date.now() - 3_600_000;
    await createBulkJobs({ run, status: "dead", perTask: 2, fromMs, stepMs: 1, dueInMs: -1 });
    const [row] = await run("SELECT id, tenant_id FROM jobs ORDER BY id LIMIT 1");
    assert(row !== undefined);
    const [jobId, tenantId] = [jobIdFromBytes(row.id), row.tenant_id as TenantId];

    const shards = openShards(databases);
    open.defer(() => shards.close());
    const history = openHistory(keyspace);
    open.defer(() => history.close());
    const [shard] = shards.all();
    assert(shard !== undefined);
    const write = async (entries: readonly HistoryEntry[]) => {
      await history.write(entries);
      const outcomes = await shard.jobs.retryDead(tenantId, [{ id: jobId, delayMs: 0 }]);
      assert.equal(outcomes.get(jobId), "moved");
    };
    const deps = { shard, history: { write }, clock: systemClock, random: systemRandom };
    const more = { logger: SILENT, sha256: () => "0".repeat(64) };
    const { moved, kept } = await archiveJobs({ ...deps, ...more }, performance.now() + DONE_MS);
    assert.deepEqual({ moved, kept }, { moved: 1, kept: 1 });
    assert.equal((await history.find(tenantId, jobId))?.job.status, "dead", "the copy is there");

    const env = { ARCHIVE_SUCCEEDED_AFTER_SECONDS: "1" };
    open.use(startWorker("executor", { ...databases, env }));
    await sink.until(() => sink.calls().some(({ key }) => key === jobId), DONE_MS);
    assert.equal(sink.calls().at(-1)?.attempt, 2);
    const due = "SELECT 1 FROM jobs WHERE status = 'succeeded' AND due_at < UTC_TIMESTAMP(3)";
    await eventually(async () => assert.equal((await run(due)).length, 1));
    open.use(startArchiver());
    await eventually(async () => assert.equal((await inMysql()).size, 0), DONE_MS);
    const entry = await history.find(tenantId, jobId);
    assert.deepEqual([entry?.job.status, entry?.job.claimNo], ["succeeded", 2]);
  });
});
