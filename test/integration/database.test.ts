/** Connections, deadlines and transactions against a real server: what breaks, and that the next borrower does not notice. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { IDLE_MS } from "#adapters/mysql/deadlines.ts";
import { openPool } from "#adapters/mysql/pool.ts";
import { type Database, openDatabase } from "#adapters/mysql/transaction.ts";
import { OutcomeUnknown, StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import { START_WINDOW_MS } from "#core/domain/limits.ts";
import type { LogFields, Logger } from "#core/ports/logger.ts";
import {
  type MysqlProxy,
  makeTestDatabases,
  openProxyOf,
  type TestDatabases,
} from "#test/support/mysql.ts";

/** Ends by itself as soon as its connection is closed, if nothing else waits. */
const LEAKY = `
  import { openPool } from "#adapters/mysql/pool.ts";
  const pool = openPool({ mysqlUrl: process.env.MYSQL_URL, database: "information_schema", size: 2, logger: null, idleMs: 300 });
  const connection = await pool.acquire();
  await connection.select("SELECT 1");
  connection.release();
`;
const SHORT_MS = 300;
/** What a loaded machine may add to a deadline. */
const SLACK_MS = 1_500;

describe("database", () => {
  let databases: TestDatabases;
  let proxy: MysqlProxy;
  let database: Database;
  const warnings: { message: string; fields: LogFields | undefined }[] = [];
  const logger: Logger = {
    info() {},
    error() {},
    warn: (message, fields) => void warnings.push({ message, fields }),
  };

  before(async () => {
    databases = await makeTestDatabases();
    await databases.run("CREATE TABLE marks (id INT PRIMARY KEY, n INT NOT NULL) ENGINE = InnoDB");
    await databases.run("INSERT INTO marks VALUES (1, 0), (2, 0)");
    proxy = await openProxyOf(databases.mysqlUrl);
    database = openDatabase({
      mysqlUrl: proxy.mysqlUrl,
      database: shardDatabase("0", databases.databasePrefix),
      poolSize: 2,
      logger,
    });
  });
  after(async () => {
    await database.close();
    await proxy.close();
    await databases.drop();
  });

  async function mark(id: number): Promise<number> {
    const [row] = await databases.run(`SELECT n FROM marks WHERE id = ${id}`);
    return row?.n;
  }
  const add = (id: number) => `UPDATE marks SET n = n + 1 WHERE id = ${id}`;

  /** What the pool's connections are like for whoever borrows them next: no transaction of somebody else's. */
  async function assertClean(): Promise<void> {
    await Promise.all(
      [1, 2].map(() =>
        database.transaction(async (session) => {
          const [row] = await session.select("SELECT n FROM marks WHERE id = 1 FOR UPDATE NOWAIT");
          assert.equal(row?.[0], await mark(1), "sees what is committed, and holds no old lock");
        }),
      ),
    );
  }

  async function timed(run: () => Promise<unknown>): Promise<number> {
    const from = performance.now();
    await run();
    return performance.now() - from;
  }

  test("a statement ends by its deadline, and the connection is not used again", async () => {
    const ms = await timed(() =>
      assert.rejects(database.select("SELECT SLEEP(5)", SHORT_MS), (error) => {
        assert.ok(error instanceof StoreUnavailable);
        assert.match(error.message, /did not answer in time/);
        return true;
      }),
    );
    assert.ok(ms >= SHORT_MS - 5 && ms < SHORT_MS + SLACK_MS, `${ms} ms`);
    assert.equal((await database.select("SELECT 1 + 1"))[0]?.[0], 2);
  });

  test("a write that ran into its deadline may have happened", async () => {
    await assert.rejects(database.write("DO SLEEP(5)", SHORT_MS), OutcomeUnknown);
  });

  test("a transaction that ran into its deadline is gone: its locks and its writes too", async () => {
    const n = await mark(1);
    const ms = await timed(() =>
      assert.rejects(
        database.transaction(async (session) => {
          await session.write(add(1));
          await session.select("SELECT SLEEP(1)");
        }, SHORT_MS),
        StoreUnavailable,
      ),
    );
    assert.ok(ms < SHORT_MS + SLACK_MS, `${ms} ms`);
    // The server notices when the statement ends.
    assert.equal(await database.write(add(1)), 1);
    assert.equal(await mark(1), n + 1);
    await assertClean();
  });

  test("an exhausted pool refuses by its deadline, and gives the connection to the next", async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const holders = [1, 2].map(() => database.transaction(async () => held));
    const ms = await timed(() =>
      assert.rejects(database.select("SELECT 1", SHORT_MS), (error) => {
        assert.ok(error instanceof StoreUnavailable);
        assert.match(error.message, /no connection to MySQL was free/);
        return true;
      }),
    );
    assert.ok(ms >= SHORT_MS - 5 && ms < SHORT_MS + SLACK_MS, `${ms} ms`);
    letGo();
    await Promise.all(holders);
    // What was given up for the waiter is not lost: both connections are there.
    await assertClean();
  });

  test("an error inside a transaction writes nothing and leaves the next borrower a clean connection", async () => {
    const n = await mark(1);
    for (const fail of [
      async () => {
        throw new RangeError("ours");
      },
      async (session: { write(sql: string): Promise<number> }) => {
        await session.write("INSERT INTO marks VALUES (1, 0)");
      },
    ]) {
      await assert.rejects(
        database.transaction(async (session) => {
          await session.write(add(1));
          await fail(session);
        }),
        (error) => error instanceof RangeError || error instanceof StoreRefused,
      );
      await assertClean();
    }
    assert.equal(await mark(1), n);
  });

  test("a connection that is killed in mid-transaction: nothing is written, the next one works", async () => {
    const n = await mark(1);
    await assert.rejects(
      database.transaction(async (session) => {
        await session.write(add(1));
        const [row] = await session.select("SELECT CONNECTION_ID()");
        await databases.run(`KILL ${row?.[0]}`);
        await session.write(add(1));
      }),
      StoreUnavailable,
    );
    assert.equal(await mark(1), n);
    await assertClean();
  });

  test("the answer to a COMMIT is lost: unknown, and it has happened", async () => {
    const n = await mark(1);
    const fault = proxy.addFault({ kind: "cut-answer", at: "COMMIT" });
    await assert.rejects(
      database.transaction((session) => session.write(add(1))),
      OutcomeUnknown,
    );
    assert.equal(fault.struck, 1);
    assert.equal(await mark(1), n + 1);
    await assertClean();
  });

  test("the COMMIT never arrives: unknown, and it has not happened", async () => {
    const n = await mark(1);
    proxy.addFault({ kind: "cut-before", at: "COMMIT" });
    await assert.rejects(
      database.transaction((session) => session.write(add(1))),
      OutcomeUnknown,
    );
    assert.equal(await mark(1), n);
  });

  test("a connection cut before the COMMIT: nothing is written, and that is known", async () => {
    proxy.addFault({ kind: "cut-answer", at: "UPDATE marks" });
    await assert.rejects(
      database.transaction((session) => session.write(add(1))),
      StoreUnavailable,
    );
    proxy.addFault({ kind: "cut-answer", at: "UPDATE marks" });
    await assert.rejects(database.write(add(1)), OutcomeUnknown, "by itself it may have happened");
  });

  test("a writer that has become a reader is left: the next transaction has another connection", async () => {
    const poison = () =>
      database.transaction((session) => session.write("SET SESSION TRANSACTION READ ONLY"));
    await poison();
    await assert.rejects(
      database.transaction((session) => session.write(add(1))),
      (error) => {
        assert.ok(error instanceof StoreUnavailable && error.retryable);
        assert.match(error.message, /1792/);
        return true;
      },
    );
    await database.transaction((session) => session.write(add(1)));
    await poison();
    await assert.rejects(database.write(add(1)), StoreUnavailable);
    assert.equal(await database.write(add(1)), 1);
  });

  test("of two that deadlock both end: one runs again, as a whole", async () => {
    const [one, two] = [await mark(1), await mark(2)];
    warnings.length = 0;
    const met = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let runs = 0;
    const crosswise = (own: number, other: number, at: number) =>
      database.transaction(async (session) => {
        runs++;
        await session.write(add(own));
        met[at]?.resolve();
        await met[1 - at]?.promise;
        await session.write(add(other));
      });
    await Promise.all([crosswise(1, 2, 0), crosswise(2, 1, 1)]);
    assert.equal(runs, 3);
    assert.deepEqual([await mark(1), await mark(2)], [one + 2, two + 2]);
    assert.deepEqual(
      warnings.map(({ fields }) => fields?.errno),
      [1213],
    );
  });

  test("a write that waits for a lock that stays is known not to have happened", async () => {
    const n = await mark(1);
    await database.transaction(async (session) => {
      await session.select("SELECT n FROM marks WHERE id = 1 FOR UPDATE");
      await assert.rejects(database.write(add(1)), StoreUnavailable);
    });
    assert.equal(await mark(1), n);
  });

  test("sessions are as the statements need them, whatever the server's defaults", async () => {
    const [row] = await database.select(
      "SELECT @@SESSION.transaction_isolation, @@SESSION.wait_timeout, @@SESSION.innodb_lock_wait_timeout, @@SESSION.sql_mode",
    );
    assert.equal(row?.[0], "READ-COMMITTED");
    assert.ok(Number(row?.[1]) <= 20);
    assert.ok(Number(row?.[2]) <= 3);
    assert.match(String(row?.[3]), /STRICT_TRANS_TABLES/);
    assert.equal(
      await database.write("INSERT INTO marks VALUES (3, 0) ON DUPLICATE KEY UPDATE n = n"),
      1,
    );
    assert.equal(
      await database.write("INSERT INTO marks VALUES (3, 0) ON DUPLICATE KEY UPDATE n = n"),
      0,
      "a no-op upsert counts nothing",
    );
  });

  test("what nobody uses is closed, and a pool that nobody closes does not keep its process alive", async () => {
    const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", LEAKY], {
      env: { ...process.env, MYSQL_URL: databases.mysqlUrl },
      cwd: join(import.meta.dirname, "..", ".."),
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [code] = await once(child, "exit", { signal: AbortSignal.timeout(10_000) });
    assert.equal(code, 0);
  });

  test("connections from before a freeze are not used after it, though no timer ran and the monotonic clock stood still", async (t) => {
    const { mysqlUrl, databasePrefix } = databases;
    const name = shardDatabase("0", databasePrefix);
    const pool = openPool({ mysqlUrl, database: name, size: 3, logger: null });
    const acquireAll = async () => {
      const connections = await Promise.all([1, 2, 3].map(() => pool.acquire()));
      const ids = await Promise.all(
        connections.map(async (one) => (await one.select("SELECT CONNECTION_ID()"))[0]?.[0]),
      );
      for (const one of connections) one.release();
      return ids.sort();
    };
    try {
      const before = await acquireAll();
      assert.deepEqual(await acquireAll(), before, "they are kept");
      t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
      t.mock.timers.setTime(Date.now() + IDLE_MS - 1_000);
      assert.deepEqual(await acquireAll(), before, "while they are young");
      t.mock.timers.setTime(Date.now() + IDLE_MS);
      const after = await acquireAll();
      assert.ok(!after.some((id) => before.includes(id)));
      assert.deepEqual(await acquireAll(), after, "and new ones are kept again");
    } finally {
      await pool.close();
    }
  });

  test("a server that is away is an error of each call, in time, and its return is noticed", async () => {
    await proxy.refuse(true);
    proxy.resetAll();
    const ms = await timed(() => assert.rejects(database.select("SELECT 1"), StoreUnavailable));
    assert.ok(ms < 3_000, `${ms} ms`);
    await assert.rejects(database.write(add(1)), StoreUnavailable, "not sent, so not unknown");
    await proxy.refuse(false);
    assert.equal((await database.select("SELECT 1"))[0]?.[0], 1);
    await assertClean();
  });

  test("a server that stands still does not hold up the end", async () => {
    const { mysqlUrl, databasePrefix } = databases;
    const still = await openProxyOf(mysqlUrl);
    const other = openDatabase({
      mysqlUrl: still.mysqlUrl,
      database: shardDatabase("0", databasePrefix),
      poolSize: 2,
      logger: null,
    });
    await other.select("SELECT 1");
    still.pause();
    await assert.rejects(other.select("SELECT 1", SHORT_MS), StoreUnavailable);
    const ms = await timed(() => other.close());
    assert.ok(ms < 2_000 + SLACK_MS, `${ms} ms`);
    await still.close();
  });

  test("a new connection whose first statement is not answered is given up by the deadline too, and nothing was sent", async () => {
    const { mysqlUrl, databasePrefix } = databases;
    const other = await openProxyOf(mysqlUrl);
    other.addFault({ kind: "hold", at: "SELECT @@SESSION", times: 1 });
    const held = openDatabase({
      mysqlUrl: other.mysqlUrl,
      database: shardDatabase("0", databasePrefix),
      poolSize: 2,
      logger: null,
    });
    try {
      const n = await mark(1);
      const ms = await timed(() => assert.rejects(held.write(add(1), 1_000), StoreUnavailable));
      assert.ok(ms < 1_000 + SLACK_MS, `${ms} ms`);
      assert.equal(await held.write(add(1)), 1);
      assert.equal(await mark(1), n + 1);
    } finally {
      await held.close();
      await other.close();
    }
  });

  test("a server that answers late has connections ready all the same: whoever comes after it has answered has one at once", async () => {
    const { mysqlUrl, databasePrefix } = databases;
    const slow = await openProxyOf(mysqlUrl);
    const opened = openDatabase({
      mysqlUrl: slow.mysqlUrl,
      database: shardDatabase("0", databasePrefix),
      poolSize: 1,
      logger: null,
    });
    try {
      slow.setRoundTripMs(SHORT_MS);
      // What it takes to connect: a greeting, the account, and the check of the settings.
      await assert.rejects(opened.select("SELECT 1", 2 * SHORT_MS), StoreUnavailable);
      const ms = await timed(() => opened.select("SELECT 1", 3 * SHORT_MS));
      assert.ok(ms < 3 * SHORT_MS, `${ms} ms`);
    } finally {
      slow.setRoundTripMs(0);
      await opened.close();
      await slow.close();
    }
  });

  test("a new connection that says nothing any more leaves its place before a worker that cannot renew has to stop", async () => {
    const { mysqlUrl, databasePrefix } = databases;
    const proxy = await openProxyOf(mysqlUrl);
    const opened = openDatabase({
      mysqlUrl: proxy.mysqlUrl,
      database: shardDatabase("0", databasePrefix),
      poolSize: 1,
      logger: null,
    });
    try {
      // What is asked first of every new connection.
      const held = proxy.addFault({ kind: "hold", at: "SELECT @@SESSION" });
      await assert.rejects(opened.select("SELECT 1", SHORT_MS), StoreUnavailable);
      assert.equal(held.struck, 1);
      const ms = await timed(async () => {
        while (!(await opened.select("SELECT 1", SHORT_MS).catch(() => null)));
      });
      assert.ok(ms < START_WINDOW_MS - 2_000, `${ms} ms`);
    } finally {
      await opened.close();
      await proxy.close();
    }
  });
});
