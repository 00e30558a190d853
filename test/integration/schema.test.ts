/** migrations/schema-*.sql are what the migrations come to. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { controlDatabase, shardDatabase } from "#adapters/mysql/database-names.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";

const FOLDER = resolve(import.meta.dirname, "../../migrations");

describe("the schema as it is today", () => {
  let databases: TestDatabases;
  before(async () => {
    databases = await makeTestDatabases();
  });
  after(() => databases.drop());

  /** Every table of ours, in the order of their names. */
  async function schemaOf(database: string): Promise<string> {
    const tables = await databases.run(
      `SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${database}' AND TABLE_NAME NOT LIKE 'kysely%' ORDER BY 1`,
    );
    const statements: string[] = [];
    for (const { name } of tables) {
      const [created] = await databases.run(`SHOW CREATE TABLE ${database}.${name}`);
      statements.push(`${created?.["Create Table"]};\n`);
    }
    return statements.join("\n").replaceAll(/ AUTO_INCREMENT=\d+/g, "");
  }

  for (const [file, nameOf] of [
    ["schema-shard.sql", (prefix: string) => shardDatabase("0", prefix)],
    ["schema-control.sql", controlDatabase],
  ] as const) {
    test(`${file} has every table as the migrations make it`, async () => {
      const actual = await schemaOf(nameOf(databases.databasePrefix));
      const text = readFileSync(join(FOLDER, file), "utf8");
      const made = join(tmpdir(), file);
      const expected = text.slice(text.indexOf("CREATE"));
      if (actual !== expected)
        writeFileSync(
          made,
          text.replace(expected, () => actual),
        );
      assert.equal(actual, expected, `copy ${made} to migrations/ when the change is meant`);
    });
  }
});
