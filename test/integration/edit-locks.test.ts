/**
 * An edit of one task waits for nobody who holds another task's jobs. A group of results holds many rows and walks on: an edit
 * that held a row and waited for one of those would close the circle (a locking range over an index waits for the first
 * row behind its end). It does wait for whoever is making a job of its own task.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createConnection } from "mysql2/promise";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { retryOne } from "#adapters/mysql/retry-dead.ts";
import { runNow } from "#adapters/mysql/run-now.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { taskStore } from "#adapters/mysql/task-store.ts";
import { type Database, openDatabase } from "#adapters/mysql/transaction.ts";
import { jobIdToBytes, partitionOfJob } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { REASON_DELETED, REASON_PAUSED } from "#core/domain/job.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import type { Task } from "#core/domain/task.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { JobsEffect } from "#core/ports/task-store.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import {
  addJobs,
  addTask,
  HOUR_MS,
  isGone,
  plannedJob,
  readJob,
  removeTask,
  writeEdit,
} from "../contract/builders.ts";
import type { ContractStore } from "../contract/contract-store.ts";
import { untilWaiting } from "./until-waiting.ts";

/** An edit that waits does so for 3 s (innodb_lock_wait_timeout), and then again. */
const FREE_MS = 2_000;

const EFFECTS: readonly { readonly name: string; readonly effects: readonly JobsEffect[] }[] = [
  { name: "a pause", effects: [{ kind: "cancel", reason: REASON_PAUSED }] },
  {
    name: "a resume",
    effects: [{ kind: "cancel", reason: REASON_PAUSED }, { kind: "resume" }],
  },
  { name: "an edit that removes planned jobs", effects: [{ kind: "remove-planned" }] },
];

describe("edits beside what others hold", () => {
  let databases: TestDatabases;
  let shards: Shards;

  before(async () => {
    databases = await makeTestDatabases();
    shards = openShards(databases);
  });
  after(async () => {
    await shards.close();
    await databases.drop();
  });

  /** Three tasks in the order of their ids, each with a planned job. */
  async function threeTasks(store: ContractStore): Promise<{ task: Task; job: Job }[]> {
    const tasks: Task[] = [];
    for (let i = 0; i < 3; i++) tasks.push((await addTask(store)).task);
    tasks.sort((a, b) => (a.id < b.id ? -1 : 1));
    const planned = tasks.map((task) => ({ task, job: plannedJob(task, Date.now(), HOUR_MS) }));
    for (const { task, job } of planned) await addJobs(store, task, [job]);
    return planned;
  }

  for (const { name, effects } of EFFECTS)
    test(`${name} does not wait`, async () => {
      const [shard] = shards.all();
      assert(shard !== undefined);
      const store = { shard } as ContractStore;
      const [before, edited, behind] = await threeTasks(store);
      assert(before !== undefined && edited !== undefined && behind !== undefined);
      const holder = await createConnection({
        uri: databases.mysqlUrl,
        database: shardDatabase("0", databases.databasePrefix),
      });
      try {
        await holder.query("BEGIN");
        for (const { job } of [before, behind])
          await holder.query("SELECT 1 FROM jobs WHERE part = ? AND id = ? FOR UPDATE", [
            partitionOfJob(job.id),
            Buffer.from(jobIdToBytes(job.id)),
          ]);
        const startMs = performance.now();
        for (const effect of effects) await writeEdit(store, edited.task, {}, effect);
        const tookMs = performance.now() - startMs;
        assert.ok(tookMs < FREE_MS, `${tookMs} ms`);
        assert.ok((await isGone(store, edited.job)) || name === "a pause", "the edit did its work");
      } finally {
        holder.destroy();
      }
    });

  test("a resume and a group of results that walks the same task's jobs: one waits for the other, neither gives way", async () => {
    const database = shardDatabase("0", databases.databasePrefix);
    const connect = () => createConnection({ uri: databases.mysqlUrl, database });
    const [results, watcher] = await Promise.all([connect(), connect()]);
    const opened = openDatabase({ ...databases, database, poolSize: 1, logger: null });
    const [shard] = shards.all();
    assert(shard !== undefined);
    const store = { shard } as ContractStore;
    const { task } = await addTask(store);
    const jobs = [HOUR_MS, 2 * HOUR_MS].map((inMs) => plannedJob(task, Date.now(), inMs));
    await addJobs(store, task, jobs);
    const [first, second] = jobs.map(({ id }) => [
      partitionOfJob(id),
      Buffer.from(jobIdToBytes(id)),
    ]);
    const change = (columns: string, key: unknown) =>
      watcher.query(`UPDATE jobs SET claim_no = 1, ${columns} WHERE (part, id) = (?)`, [key]);
    await change(`status = 'cancelled', reason = '${REASON_PAUSED}'`, first);
    await change(`status = 'running', cancel_reason = '${REASON_PAUSED}'`, second);
    /** Rows of the group, in key order, as a group of results takes them. */
    const walk = async () => {
      await results.query("BEGIN");
      for (const key of [first, second])
        await results.query("SELECT 1 FROM jobs WHERE (part, id) = (?) FOR UPDATE", [key]);
      await results.query("COMMIT");
    };
    let walked: Promise<void> | null = null;
    let runs = 0;
    /** The real database; once a resume has changed what runs, the group comes, and the resume goes on when that waits. */
    const beside: Database = {
      ...opened,
      transaction: (work, deadlineMs) =>
        opened.transaction((session) => {
          runs++;
          const write = async (sql: string, ms?: number) => {
            const written = await session.write(sql, ms);
            if (walked === null && sql.includes("cancel_reason = NULL WHERE")) {
              walked = walk();
              walked.catch(() => {});
              await untilWaiting(results.threadId, watcher);
            }
            return written;
          };
          return work({ select: session.select, write });
        }, deadlineMs),
    };
    try {
      const edited = { shard: { ...shard, tasks: taskStore(beside) } } as ContractStore;
      await writeEdit(edited, task, {}, { kind: "resume" });
      assert(walked !== null, "the group came between");
      await walked;
      assert.equal(runs, 1);
    } finally {
      for (const connection of [results, watcher]) connection.destroy();
      await opened.close();
    }
  });

  for (const way of ["a run by hand", "a retry"] as const)
    test(`a delete waits for ${way} under way, and cancels its job`, async () => {
      const database = shardDatabase("0", databases.databasePrefix);
      const watcher = await createConnection({ uri: databases.mysqlUrl, database });
      const open = () => openDatabase({ ...databases, database, poolSize: 1, logger: null });
      const [making, removing] = [open(), open()];
      const [shard] = shards.all();
      assert(shard !== undefined);
      const store = { shard } as ContractStore;
      const { task } = await addTask(store);
      const { tenantId } = task;
      const dead = plannedJob(task, Date.now(), HOUR_MS);
      await addJobs(store, task, [dead]);
      await watcher.query("UPDATE jobs SET status = 'dead' WHERE task_id = ?", [
        Buffer.from(jobIdToBytes(dead.id)).subarray(6, 22),
      ]);
      const [[connectionId] = []] = await removing.select("SELECT CONNECTION_ID()");
      let removed: Promise<void> | null = null;
      /** The real database; the delete comes before the COMMIT, which goes on when that waits. */
      const beside: Database = {
        ...making,
        transaction: (work, deadlineMs) =>
          making.transaction(async (session) => {
            const result = await work(session);
            removed = removeTask(
              { shard: { ...shard, tasks: taskStore(removing) } } as ContractStore,
              task,
            );
            removed.catch(() => {});
            await untilWaiting(Number(connectionId), watcher);
            return result;
          }, deadlineMs),
      };
      try {
        const made =
          way === "a retry"
            ? await retryOne(beside, tenantId, { id: dead.id, delayMs: 0 }, null)
            : await runNow(
                beside,
                tenantId,
                task.id,
                (current, nowMs) => makeManualJob(current, "manual", nowMs, 1, null),
                null,
              );
        assert("job" in made);
        await removed;
        assert.partialDeepStrictEqual(await readJob(store, made.job), {
          status: "cancelled",
          reason: REASON_DELETED,
        });
      } finally {
        watcher.destroy();
        for (const each of [making, removing]) await each.close();
      }
    });
});
