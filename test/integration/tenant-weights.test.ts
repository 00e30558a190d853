/** A tenant's weight, from the operator's command to the lanes of the jobs that are made, on a real MySQL. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { openControlStore } from "#adapters/mysql/control-store.ts";
import { controlDatabase } from "#adapters/mysql/database-names.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemRandom } from "#adapters/system/random.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { LANE_SHARE_JOBS } from "#core/domain/limits.ts";
import { LANES } from "#core/domain/queue.ts";
import { TenantLanes } from "#core/domain/tenant-lanes.ts";
import type { Shards } from "#core/ports/shards.ts";
import { TenantWeights } from "#core/services/access/tenant-weights.ts";
import { Scheduler } from "#core/services/scheduler/scheduler.ts";
import { runTask } from "#core/services/tasks/run-task.ts";
import { buildTask, createMany, HOUR_MS, RETENTION } from "#test/contract/builders.ts";
import { eventually } from "#test/support/eventually.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { startWorker } from "#test/support/worker-process.ts";
import { type CountingProxy, openCountingProxy } from "./counting-proxy.ts";

const ADMIN = resolve(import.meta.dirname, "../../local/admin.ts");
const [ACME, GLOBEX] = ["acme" as TenantId, "globex" as TenantId];
const metrics = { count() {}, observeLagMs() {} };

let databases: TestDatabases;
let proxy: CountingProxy;
let shards: Shards;
let control: ReturnType<typeof openControlStore>;

before(async () => {
  databases = await makeTestDatabases();
  const { mysqlUrl, databasePrefix } = databases;
  proxy = await openCountingProxy(mysqlUrl);
  shards = openShards({ mysqlUrl: proxy.url, databasePrefix });
  control = openControlStore({ mysqlUrl: proxy.url, databasePrefix });
  for (const id of [ACME, GLOBEX]) await control.createTenant(id, id);
});
after(async () => {
  await shards.close();
  await control.close();
  await proxy.close();
  await databases.drop();
});

async function admin(...args: readonly string[]): Promise<string> {
  const env = {
    ...process.env,
    MYSQL_URL: databases.mysqlUrl,
    DATABASE_PREFIX: databases.databasePrefix,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [ADMIN, ...args], { env });
  return stdout;
}

/** Adds tasks that are due once, in this second. */
async function addTasks(tenantId: TenantId, count: number): Promise<void> {
  const [shard] = shards.all();
  assert.ok(shard);
  const atMs = Math.floor(Date.now() / 1_000) * 1_000;
  const schedule = { type: "at" as const, at: new Date(atMs).toISOString() };
  const task = { tenantId, schedule, nextRunAtMs: atMs };
  for (let left = count; left > 0; left -= 200)
    await createMany(
      shard.tasks,
      Array.from({ length: Math.min(200, left) }, () => buildTask(Date.now(), { task })),
    );
}

async function lanesOf(tenantId: TenantId): Promise<number[]> {
  const rows = await databases.run(
    `SELECT queue, COUNT(*) AS count FROM jobs WHERE tenant_id = '${tenantId}' GROUP BY queue ORDER BY queue`,
  );
  const counts = [0, 0, 0];
  for (const { queue, count } of rows) counts[queue % LANES] = count;
  return counts;
}

test("the operator gives a tenant weight three: three times as many of its jobs are made in the first lane, and a tick asks nothing more for that", async () => {
  assert.match(await admin("tenant", "weight", ACME), /^weight +1 \(default\)$/m);
  assert.match(await admin("tenant", "weight", ACME, "--weight", "3"), /^weight +3$/m);
  assert.match(await admin("tenant", "list"), /^acme +active .* 3 +acme$/m);
  const weights = new TenantWeights(control);
  await weights.readOnce();
  await addTasks(ACME, 500);
  await addTasks(GLOBEX, 500);
  const [shard] = shards.all();
  assert.ok(shard);
  const { weightOf } = weights;
  const deps = { tasks: shard.tasks, metrics, clock: systemClock, retention: RETENTION };
  const scheduler = new Scheduler({ ...deps, weightOf });
  proxy.take();
  assert.equal(await scheduler.tickOnce(), 0);
  const verbs = proxy.take().map((sql) => /[A-Z]+/.exec(sql)?.[0]);
  assert.deepEqual(verbs, ["BEGIN", "SELECT", "SELECT", "INSERT", "UPDATE", "COMMIT"]);
  const share = LANE_SHARE_JOBS;
  assert.deepEqual(await lanesOf(ACME), [3 * share, 200, 0]);
  assert.deepEqual(await lanesOf(GLOBEX), [share, 3 * share, share]);
});

test("a run by hand counts by the weight that comes with its caller", async () => {
  const [shard] = shards.all();
  assert.ok(shard);
  const hash = "ab".repeat(32);
  await control.createKey(hash, ACME, ["write"]);
  await admin("tenant", "weight", ACME, "--weight", "0.25");
  const built = buildTask(Date.now(), {
    task: { tenantId: ACME, nextRunAtMs: Date.now() + HOUR_MS },
  });
  await shard.tasks.create(built);
  const deps = { shards, random: systemRandom, lanes: new TenantLanes() };
  const queues: number[] = [];
  const quotas = (await control.findPrincipalByKeyHash(hash))?.quotas ?? null;
  assert.equal(quotas?.weight, 0.25);
  for (let i = 0; i < 26; i++) {
    const run = await runTask(deps, ACME, built.task.id, null, { quotas });
    assert.ok(run.kind === "made");
    queues.push(run.job.queue % LANES);
  }
  assert.deepEqual(queues, [...Array(25).fill(0), 1]);
});

test("the operator's command refuses what is no weight", async () => {
  for (const weight of ["0.2", "9", "x", "-1", "1e1", ""])
    await assert.rejects(
      admin("tenant", "weight", ACME, `--weight=${weight}`),
      /--weight has to be/,
    );
  await assert.rejects(admin("tenant", "weight", "nobody", "--weight", "2"), /no tenant 'nobody'/);
  assert.match(await admin("tenant", "weight", ACME, "--weight", "default"), /1 \(default\)/);
  assert.equal((await control.listWeights(9)).size, 0);
});

test("a worker on a schema that has no weights yet says so and works", async () => {
  const { mysqlUrl, databasePrefix } = databases;
  const table = `${controlDatabase(databasePrefix)}.tenants`;
  await databases.run(`ALTER TABLE ${table} DROP INDEX weighted, DROP COLUMN weight`);
  await using scheduler = startWorker("scheduler", { mysqlUrl, databasePrefix });
  await scheduler.line("tenants' weights not read: the last known hold, or none", 20_000);
  const [shard] = shards.all();
  const nextRunAtMs = Date.now();
  const built = buildTask(nextRunAtMs, { task: { tenantId: GLOBEX, nextRunAtMs } });
  await shard?.tasks.create(built);
  await eventually(async () =>
    assert.ok(((await shard?.tasks.find(GLOBEX, built.task.id))?.task.madeUntilMs ?? 0) > 0),
  );
  scheduler.signal("SIGTERM");
  assert.equal((await scheduler.ended(20_000)).code, 0);
});
