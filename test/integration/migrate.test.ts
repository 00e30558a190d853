import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, describe, test } from "node:test";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { migrate } from "#migrations/migrate.ts";
import { eventually } from "#test/support/eventually.ts";
import { databaseNames, testMysqlUrl } from "#test/support/mysql.ts";

describe("migrate", () => {
  const databasePrefix = `t_${randomBytes(6).toString("hex")}_`;

  after(async () => {
    const connection = await createConnection(testMysqlUrl());
    for (const name of databaseNames(databasePrefix)) {
      await connection.query(`DROP DATABASE IF EXISTS ${name}`);
    }
    await connection.end();
  });

  test("three that run at once apply every file once", async () => {
    const lines: string[] = [];
    const run = () =>
      migrate({ mysqlUrl: testMysqlUrl(), databasePrefix, onProgress: (line) => lines.push(line) });
    await Promise.all([run(), run(), run()]);
    assert.ok(lines.length >= 12);
    assert.equal(new Set(lines).size, lines.length, "a file was applied twice");
    lines.length = 0;
    await run();
    assert.deepEqual(lines, [], "a later run applies nothing");
  });

  test("makes one shard that has every partition", async () => {
    const connection = await createConnection(testMysqlUrl());
    try {
      const [map] = await connection.query<RowDataPacket[]>(
        `SELECT part_first, shard FROM ${databasePrefix}control.shard_map`,
      );
      assert.deepEqual(
        map.map((row) => ({ ...row })),
        [{ part_first: 0, shard: "0" }],
      );
    } finally {
      await connection.end();
    }
  });

  test("what a newer release has applied is left alone; what is missing in the middle is not passed over", async () => {
    const connection = await createConnection(testMysqlUrl());
    const list = `${databasePrefix}0.kysely_migration`;
    const note = (name: string) =>
      connection.query(`INSERT INTO ${list} (name, timestamp) VALUES (?, '2099-01-01T00:00:00Z')`, [
        name,
      ]);
    try {
      const lines: string[] = [];
      await note("9998_expand_one");
      await note("9999_expand_two");
      const onProgress = (line: string) => void lines.push(line);
      await migrate({ mysqlUrl: testMysqlUrl(), databasePrefix, onProgress });
      assert.deepEqual(lines, []);
      await note("0001_never_there");
      await assert.rejects(
        migrate({ mysqlUrl: testMysqlUrl(), databasePrefix }),
        /0001_never_there/,
      );
    } finally {
      await connection.query(`DELETE FROM ${list} WHERE timestamp LIKE '2099%'`);
      await connection.end();
    }
  });

  test("a table that somebody reads is not waited for at the cost of everybody: it is tried again, and the reader is named", async () => {
    const [reader, other] = await Promise.all([1, 2].map(() => createConnection(testMysqlUrl())));
    assert.ok(reader && other);
    const shard = `${databasePrefix}0`;
    const isApplied = async () => {
      const [rows] = await other.query<RowDataPacket[]>(`SHOW COLUMNS FROM ${shard}.tasks`);
      return rows.some(({ Field }) => Field === "endpoint_key");
    };
    try {
      // As the release before 0017 left it.
      await other.query(`DELETE FROM ${shard}.kysely_migration WHERE name >= '0017'`);
      await other.query(`ALTER TABLE ${shard}.tasks DROP COLUMN endpoint_key`);
      await reader.query("BEGIN");
      await reader.query(`SELECT COUNT(*) FROM ${shard}.tasks`);
      const waits: string[] = [];
      const run = (forMs: number) =>
        migrate({
          mysqlUrl: testMysqlUrl(),
          databasePrefix,
          onWait: (line) => waits.push(line),
          blocked: { everyMs: 200, forMs },
        });
      await assert.rejects(run(3_000), (error) => {
        assert.ok(error instanceof StoreUnavailable);
        assert.match(
          error.message,
          new RegExp(
            `^${shard}: 0017_add_tasks_endpoint_key was not applied: its table was in use at every try; the oldest transaction is that of connection ${reader.threadId}: let it end, or KILL ${reader.threadId}$`,
          ),
        );
        return true;
      });
      assert.equal(await isApplied(), false);
      assert.match(
        waits[0] ?? "",
        /_0: 0017_add_tasks_endpoint_key waits, as its table is in use; the oldest/,
      );
      const running = run(60_000);
      await eventually(async () => {
        const [rows] = await other.query<RowDataPacket[]>(
          "SELECT 1 FROM information_schema.processlist WHERE db = ? AND state = 'Waiting for table metadata lock'",
          [shard],
        );
        assert.equal(rows.length, 1);
      });
      const from = performance.now();
      await other.query(`SELECT COUNT(*) FROM ${shard}.tasks`);
      assert.ok(performance.now() - from < 3_000, "others wait for a second behind it, no longer");
      await reader.query("COMMIT");
      await running;
      assert.equal(await isApplied(), true);
    } finally {
      await Promise.all([reader.end(), other.end()]);
    }
  });

  test("a server that is not there is one clear line", async () => {
    await assert.rejects(
      migrate({ mysqlUrl: "mysql://root@127.0.0.1:1", databasePrefix }),
      (error) => {
        assert.ok(error instanceof StoreUnavailable);
        assert.match(
          error.message,
          /^MySQL at 127\.0\.0\.1:1 does not answer \(ECONNREFUSED\): start it/,
        );
        return true;
      },
    );
  });
});
