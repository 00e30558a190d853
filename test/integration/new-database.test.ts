/**
 * In a new database the server counts no rows yet, and plans accordingly: to walk a whole index that covers what is asked for seems as
 * good as a look at one entry. Jobs come while it walks, each to be read back to before it was there, once for every head.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { selectArchiveHeadsSql } from "#adapters/mysql/statements/archive-jobs.ts";
import { selectBacklogHeadsSql } from "#adapters/mysql/statements/backlog.ts";
import { makeTestDatabases, type TestDatabases } from "./databases.ts";

const HEADS = {
  "what is to be archived": selectArchiveHeadsSql(),
  "how much waits": selectBacklogHeadsSql(60_000),
};

describe("a look at the head of every queue in a new database", () => {
  let databases: TestDatabases;

  before(async () => {
    databases = await makeTestDatabases();
  });
  after(() => databases.drop());

  async function accessesOfJobs(sql: string): Promise<string[]> {
    const rows = await databases.run(`EXPLAIN ${sql}`);
    return rows.flatMap(({ table, type }) => (table === "jobs" ? [String(type)] : []));
  }

  for (const [name, sql] of Object.entries(HEADS))
    test(`${name}: none of them walks the index`, async () => {
      const accesses = await accessesOfJobs(sql);
      assert.ok(accesses.length > 100);
      assert.deepEqual(new Set(accesses), new Set(["ref"]));
    });

  test("as a range it would be walked: the server counts no rows", async () => {
    const range =
      "SELECT due_at FROM jobs FORCE INDEX (queue) WHERE status = 'dead' AND queue = 1 AND due_at <= UTC_TIMESTAMP(3) ORDER BY due_at LIMIT 1";
    assert.deepEqual(await accessesOfJobs(range), ["index"]);
  });
});
