/** The MySQL adapter, held to the same contracts as the memory adapter; sessions run in a zone that is not UTC. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readInstant } from "#adapters/mysql/cells.ts";
import { openControlStore } from "#adapters/mysql/control-store.ts";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { instant, jobId, text, workerId } from "#adapters/mysql/literals.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { insertJobsSql } from "#adapters/mysql/statements/insert-jobs.ts";
import { deleteLimitedSql, lineUpSql } from "#adapters/mysql/statements/limited-lines.ts";
import { taskStore } from "#adapters/mysql/task-store.ts";
import { type Database, openDatabase } from "#adapters/mysql/transaction.ts";
import { jobIdFromBytes, makeWorkerId, partitionOfJob, type WorkerId } from "#core/domain/ids.ts";
import { WORKER_LEASE_MS } from "#core/domain/limits.ts";
import type { ControlStore } from "#core/ports/control-store.ts";
import type { Shards } from "#core/ports/shards.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { backlogStoreContract } from "./backlog-store.contract.ts";
import type { ContractControl, ContractStore } from "./contract-store.ts";
import { controlStoreContract } from "./control-store.contract.ts";
import { jobStoreContract } from "./job-store.contract.ts";
import { limitStoreContract } from "./limit-store.contract.ts";
import { JOBS_AT_ONCE, manyJobsContract } from "./many-jobs.contract.ts";
import { secretStoreContract } from "./secret-store.contract.ts";
import { taskStoreContract } from "./task-store.contract.ts";
import { workerStoreContract } from "./worker-store.contract.ts";

let databases: TestDatabases;
let shards: Shards;
let control: ControlStore & { close(): Promise<void> };
let database: Database;

before(async () => {
  databases = await makeTestDatabases();
  const { mysqlUrl, databasePrefix } = databases;
  shards = openShards({ mysqlUrl, databasePrefix });
  control = openControlStore({ mysqlUrl, databasePrefix });
  const name = shardDatabase("0", databasePrefix);
  database = openDatabase({ mysqlUrl, database: name, poolSize: 2, logger: null });
});

after(async () => {
  await shards.close();
  await control.close();
  await database.close();
  await databases.drop();
});

const TABLES = [
  "tasks",
  "task_versions",
  "jobs",
  "workers",
  "revocations",
  "dead_letters",
  "idempotency_keys",
  "tenant_locks",
  "test_calls",
  "data_keys",
  "task_secrets",
  "signing_secrets",
  "call_limits",
  "limit_slots",
  "limited",
];

/** One database for all tests, emptied for each. */
async function open(): Promise<ContractStore> {
  for (const table of TABLES) await databases.run(`DELETE FROM ${table}`);
  const [shard] = shards.all();
  assert.ok(shard);
  return {
    shard,
    async putJob(job) {
      await databases.run(
        `DELETE FROM jobs WHERE part = ${partitionOfJob(job.id)} AND id = ${jobId(job.id)}`,
      );
      await databases.run(insertJobsSql([job]));
      await databases.run(deleteLimitedSql([job.id]));
      if (job.limitKey !== null) await databases.run(lineUpSql([job]));
      if (job.status !== "dead") return;
      const diedAt = instant(job.finishedAtMs ?? job.runAtMs);
      await databases.run(
        `REPLACE INTO dead_letters SELECT tenant_id, id, part, task_id, ${diedAt} FROM jobs WHERE id = ${jobId(job.id)}`,
      );
    },
    async putFencedAt(id, fencedAtMs) {
      await databases.run(
        `UPDATE workers SET fenced_at = ${instant(fencedAtMs)} WHERE id = ${workerId(id)} AND fenced_at IS NOT NULL`,
      );
    },
    async listDeadLetters(tenantId) {
      const rows = await databases.run(
        `SELECT d.job_id FROM dead_letters AS d JOIN jobs AS j ON j.part = d.part AND j.id = d.job_id WHERE d.tenant_id = ${text(tenantId)} AND j.status = 'dead'`,
      );
      return rows.map((row) => jobIdFromBytes(row.job_id));
    },
    async listLetters(tenantId) {
      const rows = await databases.run(
        `SELECT job_id FROM dead_letters WHERE tenant_id = ${text(tenantId)}`,
      );
      return rows.map((row) => jobIdFromBytes(row.job_id));
    },
    async listLimited() {
      const rows = await databases.run(
        "SELECT job_id, limit_key, queue, CAST(due_at AS CHAR) AS due_at FROM limited ORDER BY job_id",
      );
      return rows.map((row) => ({
        id: jobIdFromBytes(row.job_id),
        limitKey: row.limit_key,
        queue: row.queue,
        dueAtMs: readInstant(row.due_at),
      }));
    },
    async close() {},
  };
}

async function openControl(): Promise<ContractControl> {
  for (const table of ["api_keys", "principals", "tenants"])
    await databases.run(`DELETE FROM ${databases.databasePrefix}control.${table}`);
  return { control, async close() {} };
}

test("a look for expired leases shortens one of before the clock was set back, and no other", async () => {
  const [shard] = shards.all();
  assert(shard !== undefined);
  const [live, ahead, fenced] = [1, 2, 3].map((n) => makeWorkerId(new Uint8Array(16).fill(n)));
  const leftMs = async () => {
    const rows = await database.select(
      "SELECT TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), lease_until) DIV 1000 FROM workers ORDER BY id",
    );
    return rows.map(([ms]) => Number(ms));
  };
  const near = (ms: number | undefined, expectedMs: number) =>
    assert(ms !== undefined && ms <= expectedMs && ms > expectedMs - 4_000, `${ms} ms left`);
  await shard.workers.register(fenced as WorkerId, -1);
  assert.equal(await shard.workers.fence(fenced as WorkerId), true);
  await database.write("UPDATE workers SET lease_until = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR");
  await shard.workers.register(live as WorkerId, WORKER_LEASE_MS - 1_000);
  await shard.workers.register(ahead as WorkerId, 3_600_000 + WORKER_LEASE_MS);
  assert.deepEqual(await shard.workers.listExpired(10), []);
  const left = await leftMs();
  near(left[0], WORKER_LEASE_MS - 1_000);
  near(left[1], WORKER_LEASE_MS);
  near(left[2], 3_600_000);
  await database.write("DELETE FROM workers");
});

test("sessions run in a zone that is not UTC, so that a zone mistake cannot hide", async () => {
  const [row] = await databases.run(
    "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW()) AS server_minutes",
  );
  assert.notEqual(row?.server_minutes, 0, "start the server with --default-time-zone=-03:30");
  assert.notEqual(new Date(2026, 0, 1).getTimezoneOffset(), 0, "run with TZ=America/St_Johns");
});

/** Walks row by row. */
async function openAtOnce(): Promise<ContractStore> {
  const store = await open();
  const walk = { pageRows: 1, jobs: JOBS_AT_ONCE, ms: 10_000 };
  const tasks = taskStore(database, { edit: walk, group: walk });
  return { ...store, shard: { ...store.shard, tasks } };
}

taskStoreContract("mysql", open);
manyJobsContract("mysql", openAtOnce);
jobStoreContract("mysql", open);
workerStoreContract("mysql", open);
limitStoreContract("mysql", open);
backlogStoreContract("mysql", open);
secretStoreContract("mysql", open);
controlStoreContract("mysql", openControl);
