/** Tasks whose rows an older release wrote, without their endpoint or with that of a version before: limits of endpoints hold for them too. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { fillEndpointsSql } from "#adapters/mysql/statements/fill-endpoints.ts";
import { type Database, openDatabase } from "#adapters/mysql/transaction.ts";
import { endpointKey, type LimitKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import {
  addJobs,
  addTask,
  buildTask,
  HOUR_MS,
  makeTenant,
  plannedJob,
} from "../contract/builders.ts";
import type { ContractStore } from "../contract/contract-store.ts";
import { seedRows } from "./seed-rows.ts";

const SEEDED = 450;

describe("endpoints of tasks", () => {
  let databases: TestDatabases;
  let shards: Shards;
  let shard: Shard;
  let database: Database;

  before(async () => {
    databases = await makeTestDatabases();
    shards = openShards(databases);
    const [one] = shards.all();
    assert.ok(one);
    shard = one;
    const name = shardDatabase("0", databases.databasePrefix);
    database = openDatabase({ ...databases, database: name, poolSize: 1, logger: null });
  });
  after(async () => {
    await database.close();
    await shards.close();
    await databases.drop();
  });

  async function addTaskWithJob(tenantId = makeTenant()) {
    const store = { shard } as ContractStore;
    const made = await addTask(store, { task: { tenantId } });
    const job = plannedJob(made.task, Date.now(), HOUR_MS);
    await addJobs(store, made.task, [job]);
    const key = keyOf(made);
    const statusOf = async () => (await shard.jobs.find(tenantId, job.id))?.status;
    return { ...made, key, statusOf };
  }

  function keyOf({ task, version }: TaskWithVersion): LimitKey {
    return endpointKey(task.tenantId, version.request.url) ?? assert.fail();
  }

  const write = (tenantId: TenantId, endpoint: string) =>
    databases.run(`UPDATE tasks SET endpoint_key = ${endpoint} WHERE tenant_id = '${tenantId}'`);

  async function endpointsOf(tenantId: TenantId) {
    const rows = await databases.run(
      `SELECT endpoint_key AS k, COUNT(*) AS count FROM tasks WHERE tenant_id = '${tenantId}' GROUP BY k`,
    );
    return rows.map(({ k, count }) => [k, count]);
  }

  for (const [what, endpoint] of [
    ["has none", "NULL"],
    ["is that of a version before", "CONCAT(tenant_id, '|https://old.example:443')"],
  ] as const)
    test(`one that ${what} is found when a limit is put, and its jobs stand in line`, async () => {
      const [{ task, key, statusOf }, other] = [await addTaskWithJob(), await addTaskWithJob()];
      await write(task.tenantId, endpoint);
      await write(other.task.tenantId, endpoint);
      const { updatedAtMs } = task;
      await shard.limits.put(key, { concurrency: 1 });
      assert.deepEqual(await endpointsOf(task.tenantId), [[key, 1]]);
      assert.equal(await statusOf(), "waiting");
      const found = await shard.tasks.find(task.tenantId, task.id);
      assert.equal(found?.task.updatedAtMs, updatedAtMs, "nobody sees that as a change");
      assert.notDeepEqual(await endpointsOf(other.task.tenantId), [[other.key, 1]]);
      assert.equal(await other.statusOf(), "pending");
    });

  test("a limit that is there already is put again", async () => {
    const { task, key } = await addTaskWithJob();
    await shard.limits.put(key, { concurrency: 1 });
    const second = await addTaskWithJob(task.tenantId);
    await write(task.tenantId, "NULL");
    await databases.run(
      `UPDATE jobs SET status = 'pending', limit_key = NULL WHERE tenant_id = '${task.tenantId}'`,
    );
    await shard.limits.put(key, { concurrency: 2 });
    assert.deepEqual(await endpointsOf(task.tenantId), [[key, 2]]);
    assert.equal(await second.statusOf(), "waiting");
  });

  test("a task that caps an endpoint finds the others that call it", async () => {
    const { task, key, statusOf } = await addTaskWithJob();
    await write(task.tenantId, "NULL");
    const quota = { tasksMax: 10, endpointLimit: { concurrency: 3, perSecond: null } };
    const capping = buildTask(Date.now(), { task: { tenantId: task.tenantId } });
    assert.deepEqual(await shard.tasks.create(capping, null, quota), { kind: "created" });
    assert.deepEqual(await endpointsOf(task.tenantId), [[key, 2]]);
    assert.equal(await statusOf(), "waiting");
  });

  test("many are walked in groups", async () => {
    const tenantId = makeTenant();
    await seedRows(databases, { tasks: SEEDED, jobs: 1 });
    await databases.run(
      `UPDATE tasks SET tenant_id = '${tenantId}' WHERE tenant_id LIKE 'tenant-%'`,
    );
    const key = `${tenantId}|http://127.0.0.1:80` as LimitKey;
    await shard.limits.put(key, { perSecond: 5 });
    assert.deepEqual(await endpointsOf(tenantId), [[key, SEEDED]]);
  });

  test("an edit that comes in between is not undone", async () => {
    const { task, key } = await addTaskWithJob();
    await databases.run(
      `UPDATE tasks SET request_version = 2 WHERE tenant_id = '${task.tenantId}'`,
    );
    const old = `${task.tenantId}|https://old.example:443` as LimitKey;
    const changed = await database.write(
      fillEndpointsSql([{ taskId: task.id, requestVersion: 1, key: old }]),
    );
    assert.equal(changed, 0);
    assert.deepEqual(await endpointsOf(task.tenantId), [[key, 1]]);
  });
});
