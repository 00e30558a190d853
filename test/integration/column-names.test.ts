/** No column is called by an expression with a value in it: the driver would compile a parser for each value, and keep it. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Connection, createConnection, type FieldPacket } from "mysql2/promise";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { controlSamples } from "./control-samples.ts";
import { type Sample, shardSamples } from "./statement-samples.ts";

/** What instants, spans, ids and keys look like in a statement. */
const VALUE = /TIMESTAMP'|INTERVAL|0x|[xX]'|tenant-/;

describe("names of columns", () => {
  let databases: TestDatabases;
  let connection: Connection;

  before(async () => {
    databases = await makeTestDatabases();
    connection = await createConnection({ uri: databases.mysqlUrl });
  });
  after(async () => {
    await connection.end();
    await databases.drop();
  });

  async function namesWithValues(database: string, samples: readonly Sample[]): Promise<string[]> {
    await connection.query(`USE ${databases.databasePrefix}${database}`);
    const found: string[] = [];
    for (const { name, sql } of samples.filter(({ sql }) => /^\(*SELECT/.test(sql))) {
      const [, fields] = await connection.query({ sql, rowsAsArray: true });
      const names = (fields as FieldPacket[]).map((field) => field.name);
      const bad = names.find((each) => VALUE.test(each));
      if (bad !== undefined) found.push(`${name}: ${bad}`);
    }
    return found;
  }

  test("have no values in them", async () => {
    assert.deepEqual(await namesWithValues("0", shardSamples()), []);
    assert.deepEqual(await namesWithValues("control", controlSamples()), []);
  });
});
