/**
 * When a limit comes, jobs that were there before are lined up under it, a group at a time. One of the group may stand in that line by
 * then, and be taken from it at the same moment: its place must not be written behind the taker's back. When a limit goes, and comes again
 * while its line is let go, jobs are let go all the same.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Connection, RowDataPacket } from "mysql2/promise";
import { createConnection } from "mysql2/promise";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { limitStore } from "#adapters/mysql/limit-store.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { selectLimitSql } from "#adapters/mysql/statements/call-limits.ts";
import { jobGroup } from "#adapters/mysql/statements/job-group.ts";
import { deleteLimitedSql, lineUpSql } from "#adapters/mysql/statements/limited-lines.ts";
import { lineUpJobsSql } from "#adapters/mysql/statements/line-up-jobs.ts";
import { lockLineSql } from "#adapters/mysql/statements/select-limited.ts";
import { type Database, openDatabase } from "#adapters/mysql/transaction.ts";
import { endpointKey, tenantKey } from "#core/domain/call-limit.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { Shards } from "#core/ports/shards.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { addJobs, addTask, HOUR_MS, plannedJob, readJob } from "../contract/builders.ts";
import type { ContractStore } from "../contract/contract-store.ts";
import { untilWaiting } from "./until-waiting.ts";

describe("lining up beside a take", () => {
  let databases: TestDatabases;
  let shards: Shards;
  let taker: Connection;
  let watcher: Connection;
  let opened: Database;

  before(async () => {
    databases = await makeTestDatabases();
    shards = openShards(databases);
    const database = shardDatabase("0", databases.databasePrefix);
    const connect = () => createConnection({ uri: databases.mysqlUrl, database });
    [taker, watcher] = await Promise.all([connect(), connect()]);
    opened = openDatabase({ ...databases, database, poolSize: 1, logger: null });
  });
  after(async () => {
    for (const connection of [taker, watcher]) connection.destroy();
    await opened.close();
    await shards.close();
    await databases.drop();
  });

  test("a limit is set although what waits cannot be lined up just now", async () => {
    const [shard] = shards.all();
    assert(shard !== undefined);
    const { task, version } = await addTask({ shard } as ContractStore);
    const key = endpointKey(task.tenantId, version.request.url);
    assert(key !== null);
    let failures = 0;
    const failing: Database = {
      ...opened,
      select: async () => {
        failures++;
        throw new StoreUnavailable("MySQL does not answer");
      },
    };
    const limit = await limitStore(failing).put(key, { concurrency: 5 });
    assert.deepEqual([limit?.concurrency, failures], [5, 1]);
    assert.equal((await shard.limits.find(key))?.concurrency, 5);
  });

  test("a job that is taken has no place in line", async () => {
    const [shard] = shards.all();
    assert(shard !== undefined);
    const store = { shard } as ContractStore;
    const { task, version } = await addTask(store);
    const key = endpointKey(task.tenantId, version.request.url);
    assert(key !== null);
    const jobs = [HOUR_MS, 2 * HOUR_MS].map((inMs) => plannedJob(task, Date.now(), inMs));
    await addJobs(store, task, jobs);
    const lined = jobs.slice(0, 1);

    const takeOfLined = `UPDATE ${jobGroup(lined)} SET jobs.status = 'running' WHERE jobs.status = 'waiting'`;
    /** What a take does: of what nobody holds, and its COMMIT is still to come. */
    async function take(): Promise<boolean> {
      await taker.query("BEGIN");
      const [rows] = await taker.query<RowDataPacket[]>(lockLineSql(key ?? assert.fail(), 10));
      if (rows.length === 0) return false;
      await taker.query(takeOfLined);
      await taker.query(deleteLimitedSql(lined.map(({ id }) => id)));
      return true;
    }

    let takes = 0;
    let linedBefore = 0;
    const beside: Database = {
      ...opened,
      select: async (sql, ms) => {
        const rows = await opened.select(sql, ms);
        if (sql.includes("STRAIGHT_JOIN jobs FORCE INDEX (by_task)")) {
          // The group is known; now somebody else puts one of its jobs in line.
          linedBefore++;
          await watcher.query(lineUpJobsSql(key, lined));
          await watcher.query(lineUpSql(lined));
        }
        return rows;
      },
      transaction: (work, deadlineMs) =>
        opened.transaction(async (session) => {
          const [row] = await session.select("SELECT CONNECTION_ID()");
          const write = async (sql: string, ms?: number) => {
            if (!sql.startsWith("INSERT INTO limited")) return session.write(sql, ms);
            takes++;
            const hasTaken = await take();
            const writing = session.write(sql, ms);
            writing.catch(() => {});
            if (hasTaken) await untilWaiting(Number(row?.[0]), watcher);
            await taker.query("COMMIT");
            return writing;
          };
          return work({ select: session.select, write });
        }, deadlineMs),
    };
    await limitStore(beside).put(key, { concurrency: 5 });
    assert.equal(linedBefore, 1, "somebody put one in line when the group was known");
    assert.equal(takes, 1, "somebody took while the places were written");
    const places = "SELECT jobs.status FROM limited JOIN jobs ON jobs.id = limited.job_id";
    assert.deepEqual(
      (await databases.run(places)).map(({ status }) => status),
      ["waiting", "waiting"],
    );
  });

  test("a tenant's limit that is set again while its line is let go: jobs go on without it, due or not", async () => {
    const [shard] = shards.all();
    assert(shard !== undefined);
    const store = { shard } as ContractStore;
    const { task } = await addTask(store);
    const key = tenantKey(task.tenantId);
    const job = plannedJob(task, Date.now(), HOUR_MS);
    await addJobs(store, task, [job]);
    await shard.limits.put(key, { concurrency: 5 });
    assert.equal((await readJob(store, job))?.status, "waiting");
    await shard.limits.put(key, { concurrency: null });

    let looks = 0;
    const beside: Database = {
      ...opened,
      transaction: (work, deadlineMs) =>
        opened.transaction((session) => {
          const select = async (sql: string, ms?: number) => {
            const rows = await session.select(sql, ms);
            // There is no limit; now somebody sets one.
            if (sql === selectLimitSql(key) && looks++ === 0)
              await shard.limits.put(key, { concurrency: 5 });
            return rows;
          };
          return work({ select, write: session.write });
        }, deadlineMs),
    };
    assert.equal(await limitStore(beside).releaseLine(key, 10), 1);
    assert.partialDeepStrictEqual(await readJob(store, job), { status: "pending", limitKey: null });
    assert.notEqual(await shard.limits.find(key), null);
  });
});
