import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, describe, test } from "node:test";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { migrate } from "#migrations/migrate.ts";
import { databaseNames, testMysqlUrl } from "./databases.ts";

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
