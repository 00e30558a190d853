/** What watching costs: however much waits, a look reads no more than it counts. And what a server that is set up badly is told. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { instant } from "#adapters/mysql/literals.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { countBacklogSql, selectBacklogHeadsSql } from "#adapters/mysql/statements/backlog.ts";
import { PRIORITIES } from "#core/domain/queue.ts";
import type { LogFields } from "#core/ports/logger.ts";
import type { Shards } from "#core/ports/shards.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { seedRows } from "./seed-rows.ts";

const ROWS = 40_000;
const MAX = 500;

describe("backlog", () => {
  let databases: TestDatabases;
  let shards: Shards;

  before(async () => {
    databases = await makeTestDatabases();
    await seedRows(databases, { tasks: ROWS, jobs: ROWS });
    // Two lanes of every priority, so that a count goes over more than one range.
    await databases.run("UPDATE jobs SET queue = queue + 5 WHERE part % 3 = 0");
    const { mysqlUrl, databasePrefix } = databases;
    shards = openShards({ mysqlUrl, databasePrefix });
  });
  after(async () => {
    await shards.close();
    await databases.drop();
  });

  /** Index entries and rows that a statement reads, one by one. */
  async function readsOf(sql: string): Promise<number> {
    await databases.run("FLUSH STATUS");
    await databases.run(sql);
    const rows = await databases.run("SHOW SESSION STATUS LIKE 'Handler_read%'");
    return rows.reduce((sum, row) => sum + Number(row.Value), 0);
  }

  test("a look tells what a full count tells", async () => {
    const [shard] = shards.all();
    assert.ok(shard);
    const { priorities, dueSoon, nowMs } = await shard.backlog.measure(
      1_000_000,
      60_000,
      1_000_000,
    );
    // The two statements of a look are some ms apart, in which a second's jobs may become due: between its beginning and now.
    const now = "UTC_TIMESTAMP(3)";
    const minute = "INTERVAL 60 SECOND";
    const rows = await databases.run(
      `SELECT queue DIV 16 AS rank_of, SUM(due_at <= ${instant(nowMs)}) AS due, SUM(due_at <= ${now}) AS dueNow, SUM(due_at <= ${instant(nowMs)} + ${minute}) AS soon, SUM(due_at <= ${now} + ${minute}) AS soonNow FROM jobs WHERE status = 'pending' GROUP BY rank_of ORDER BY rank_of`,
    );
    assert.equal(rows.length, PRIORITIES.length);
    const within = (counted: number, from: unknown, until: unknown) =>
      assert.ok(
        Number(from) <= counted && counted <= Number(until),
        `${counted}, exactly ${from} to ${until}`,
      );
    const sum = (column: string) => rows.reduce((all, row) => all + Number(row[column]), 0);
    within(dueSoon, sum("soon"), sum("soonNow"));
    for (const [rank, priority] of PRIORITIES.entries()) {
      const of = priorities.get(priority);
      const exact = rows[rank];
      assert.ok(of && exact && of.due > 1_000);
      within(of.due, exact.due, exact.dueNow);
      assert.ok(of.unmadeSinceMs !== null && of.unmadeSinceMs < nowMs);
    }
  });

  test("a look reads an entry per range, then no more than it counts", async () => {
    const [shard] = shards.all();
    assert.ok(shard);
    const heads = await readsOf(selectBacklogHeadsSql(60_000));
    assert.ok(heads <= 150, `${heads} reads for 132 heads`);
    const ranges = [0, 5].map((queue) => ({ status: "pending", queue }) as const);
    const looks = (max: number) => [0, 60_000].map((aheadMs) => ({ ranges, aheadMs, max }));
    const exact = await readsOf(countBacklogSql(looks(1_000_000)));
    assert.ok(exact > 4_000, `${exact}: there is more to read than may be counted`);
    const bounded = await readsOf(countBacklogSql(looks(MAX)));
    // What a derived table takes in is read once more from it.
    assert.ok(bounded <= 2 * 2 * MAX + 10, `${bounded} reads for two counts up to ${MAX}`);
    const { priorities, dueSoon } = await shard.backlog.measure(MAX, 60_000, 3 * MAX);
    for (const { due } of priorities.values()) assert.equal(due, MAX);
    assert.equal(dueSoon, 3 * MAX);
  });
});

test("a statement that has to wait for a connection is counted, others are not", async () => {
  const { mysqlUrl, databasePrefix, drop } = await makeTestDatabases();
  let waits = 0;
  const onPoolWait = () => {
    waits++;
  };
  const shards = openShards({ mysqlUrl, databasePrefix, poolSize: 2, onPoolWait });
  const [shard] = shards.all();
  assert.ok(shard);
  const ask = () => shard.jobs.listRevocations(1);
  try {
    await ask();
    await ask();
    assert.equal(waits, 0);
    await Promise.all(Array.from({ length: 5 }, ask));
    assert.equal(waits, 3);
  } finally {
    await shards.close();
    await drop();
  }
});

test("a server that refuses large statements is said once, with what to set", async () => {
  const databases = await makeTestDatabases();
  const { mysqlUrl, databasePrefix, run } = databases;
  const [before] = await run("SELECT @@GLOBAL.max_allowed_packet AS bytes");
  const said: [string, LogFields | undefined][] = [];
  const say = (message: string, fields?: LogFields) => void said.push([message, fields]);
  const logger = { info: say, warn: say, error: say };
  const ask = async () => {
    const shards = openShards({ mysqlUrl, databasePrefix, logger });
    const looks = shards
      .all()
      .map(({ backlog }) => [backlog.measure(1, 0, 1), backlog.measure(1, 0, 1)]);
    await Promise.all(looks.flat());
    await shards.close();
  };
  try {
    await ask();
    assert.deepEqual(said, []);
    // Still enough for what other test files send meanwhile.
    await run("SET GLOBAL max_allowed_packet = 12582912");
    await ask();
  } finally {
    await run(`SET GLOBAL max_allowed_packet = ${before?.bytes}`);
    await databases.drop();
  }
  assert.equal(said.length, 1);
  assert.match(said[0]?.[0] ?? "", /set max_allowed_packet to 16 MB or more/);
  assert.deepEqual(said[0]?.[1], { count: 12_582_912 });
});
