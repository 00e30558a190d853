/** What the locking reads lock: exactly what they return. Others see it by what their SKIP LOCKED passes over. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { openPool, type Pool } from "#adapters/mysql/pool.ts";
import { selectClaimableSql } from "#adapters/mysql/statements/select-claimable.ts";
import {
  selectDueTasksSql,
  selectMissedTasksSql,
} from "#adapters/mysql/statements/select-due-tasks.ts";
import { jobIdFromBytes, makeWorkerId } from "#core/domain/ids.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { giveBack } from "./give-back.ts";
import { seedRows } from "./seed-rows.ts";

const ROWS = 4_000;

describe("locking reads", () => {
  let databases: TestDatabases;
  let pool: Pool;

  before(async () => {
    databases = await makeTestDatabases();
    await seedRows(databases, { tasks: ROWS, jobs: ROWS });
    const { mysqlUrl, databasePrefix } = databases;
    const database = shardDatabase("0", databasePrefix);
    pool = openPool({ mysqlUrl, database, size: 4, logger: null });
  });
  after(async () => {
    await pool.close();
    await databases.drop();
  });

  /** Rows that `sql` returns (its clock row left out, each once), and those of `table` that another session cannot lock meanwhile. */
  async function lockedBy(sql: string, table: "jobs" | "tasks") {
    const [holder, other] = await Promise.all([pool.acquire(), pool.acquire()]);
    try {
      await holder.write("BEGIN");
      const rows = await holder.select(sql);
      await other.write("BEGIN");
      const free = await other.select(
        `SELECT id FROM ${table} FORCE INDEX (PRIMARY) FOR UPDATE SKIP LOCKED`,
      );
      const ids = rows.flatMap(([, id]) => (id === null ? [] : [(id as Buffer).toString("hex")]));
      return { returned: new Set(ids).size, locked: ROWS - free.length };
    } finally {
      await Promise.all([giveBack(holder), giveBack(other)]);
    }
  }

  test("a tick locks the due tasks that it returns, however many there are", async () => {
    const nowMs = Date.now();
    const sql = selectDueTasksSql(nowMs - 60_000, nowMs + 60_000, 700);
    assert.deepEqual(await lockedBy(sql, "tasks"), { returned: 700, locked: 700 });
  });

  test("a tick locks the missed tasks that it returns", async () => {
    assert.deepEqual(await lockedBy(selectMissedTasksSql(60_000, 25, 200), "tasks"), {
      returned: 200,
      locked: 200,
    });
  });

  test("where fewer are missed than a tick has room for it locks these, from both ends, and none beside them", async () => {
    const ids =
      "SELECT id FROM (SELECT id FROM tasks WHERE next_run_at IS NOT NULL LIMIT 40) AS some";
    await databases.run(
      `UPDATE tasks SET next_run_at = next_run_at - INTERVAL 10 YEAR WHERE id IN (${ids})`,
    );
    const sql = selectMissedTasksSql(9 * 365 * 86_400_000, 25, 200);
    assert.deepEqual(await lockedBy(sql, "tasks"), { returned: 40, locked: 40 });
  });

  test("a claim locks the jobs that it returns: later branches are not begun", async () => {
    const branches = [0, 16, 32, 48].map((queue) => ({ queue, limit: 130, head: null }));
    const workerId = makeWorkerId(new Uint8Array(16));
    const sql = selectClaimableSql({ workerId, branches, aheadMs: 1_000, limit: 200 });
    assert.deepEqual(await lockedBy(sql, "jobs"), { returned: 200, locked: 200 });
  });

  test("a claim from heads locks the jobs that it returns, and begins there", async () => {
    const branches = [];
    for (const queue of [0, 16, 32]) {
      const [at] = await databases.run(
        `SELECT due_at, id FROM jobs WHERE status = 'pending' AND queue = ${queue} ORDER BY due_at, part, id LIMIT 1 OFFSET 50`,
      );
      const head = { dueAtMs: at?.due_at.getTime(), jobId: jobIdFromBytes(at?.id) };
      branches.push({ queue, limit: 70, head });
    }
    const workerId = makeWorkerId(new Uint8Array(16));
    const sql = selectClaimableSql({ workerId, branches, aheadMs: 1_000, limit: 140 });
    assert.deepEqual(await lockedBy(sql, "jobs"), { returned: 140, locked: 140 });
    const ids = (await databases.run(sql)).flatMap(({ id }) =>
      id === null ? [] : [jobIdFromBytes(id)],
    );
    const heads = branches.map(({ head }) => head.jobId);
    assert.deepEqual([ids[0], ids[70]], heads.slice(0, 2));
  });

  test("claims at once, beside dead entries and waiting jobs, each lock an index entry and a row a job, no gap", async (t) => {
    const [server] = await databases.run("SELECT @@performance_schema AS isOn");
    if (Number(server?.isOn) === 0) return t.skip("the server's performance_schema is off");
    const old = await pool.acquire();
    const claimers = [await pool.acquire(), await pool.acquire(), await pool.acquire()];
    try {
      await old.write("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
      await old.write("START TRANSACTION WITH CONSISTENT SNAPSHOT");
      const first = "status = 'pending' AND queue = 0 ORDER BY due_at LIMIT";
      await databases.run(`UPDATE jobs SET status = 'succeeded' WHERE ${first} 150`);
      await databases.run(`UPDATE jobs SET status = 'waiting' WHERE ${first} 50`);
      for (const claimer of claimers) {
        const branches = [0, 16, 32, 48].map((queue) => ({ queue, limit: 60, head: null }));
        const workerId = makeWorkerId(new Uint8Array(16));
        const sql = selectClaimableSql({ workerId, branches, aheadMs: 200_000, limit: 100 });
        await claimer.write("BEGIN");
        const jobs = (await claimer.select(sql)).filter(([, id]) => id !== null);
        assert.equal(jobs.length, 100);
        const [[connection] = []] = await claimer.select("SELECT CONNECTION_ID()");
        const locks = await databases.run(
          `SELECT index_name, lock_mode, COUNT(*) AS n FROM performance_schema.data_locks JOIN performance_schema.threads USING (thread_id)
           WHERE processlist_id = ${connection} AND lock_type = 'RECORD' AND object_name = 'jobs' GROUP BY 1, 2 ORDER BY 1`,
        );
        assert.deepEqual(
          locks.map((lock) => Object.values(lock).map(String)),
          [
            ["PRIMARY", "X,REC_NOT_GAP", "100"],
            ["queue", "X,REC_NOT_GAP", "100"],
          ],
        );
      }
    } finally {
      await Promise.all([old, ...claimers].map(giveBack));
    }
  });

  test("a filter outside the index locks what it does not return: what a claim must never do", async () => {
    const { returned, locked } = await lockedBy(
      "SELECT id, id FROM jobs FORCE INDEX (queue) WHERE status = 'pending' AND queue IN (0, 16, 32, 48) ORDER BY scheduled_at, id LIMIT 10 FOR UPDATE SKIP LOCKED",
      "jobs",
    );
    assert.equal(returned, 10);
    assert.ok(locked > 1_000, `${locked} locked`);
  });
});
