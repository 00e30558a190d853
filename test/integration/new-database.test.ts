/**
 * In a new database the server counts no rows yet, and plans accordingly: to walk a whole index that covers what is asked for seems as
 * good as a look at one entry. Jobs come while it walks, each to be read back to before it was there, once for every head.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { selectArchiveHeadsSql } from "#adapters/mysql/statements/archive-jobs.ts";
import { selectBacklogHeadsSql } from "#adapters/mysql/statements/backlog.ts";
import { selectClaimableSql } from "#adapters/mysql/statements/select-claimable.ts";
import { makeJobId, makeTaskId, makeWorkerId } from "#core/domain/ids.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";

const HEADS = {
  "what is to be archived": selectArchiveHeadsSql(),
  "how much waits": selectBacklogHeadsSql(60_000),
};

describe("reads of the queue in a new database", () => {
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

  test("a claim from a head is a range that ends in the primary key", async () => {
    const dueAtMs = Date.now() - 60_000;
    const jobId = makeJobId(dueAtMs, makeTaskId(dueAtMs, 77, new Uint8Array(8)), 0);
    const branches = [{ queue: 32, limit: 100, head: { dueAtMs, jobId } }];
    const workerId = makeWorkerId(new Uint8Array(16));
    const claim = selectClaimableSql({ workerId, branches, aheadMs: 1_000, limit: 100 });
    const [jobs] = (await databases.run(`EXPLAIN ${claim}`)).filter(
      ({ table }) => table === "jobs",
    );
    const plan = [jobs?.type, jobs?.key, jobs?.rows];
    assert.deepEqual(plan, ["range", "queue", 3], "status, queue, instant, partition and id");
    const bytes = { status: 1, queue: 1, dueAt: 7, part: 2, id: 24 };
    const all = Object.values(bytes).reduce((sum, one) => sum + one);
    assert.equal(Number(jobs?.key_len), all);
  });

  test("as a range it would be walked: the server counts no rows", async () => {
    const range =
      "SELECT due_at FROM jobs FORCE INDEX (queue) WHERE status = 'dead' AND queue = 1 AND due_at <= UTC_TIMESTAMP(3) ORDER BY due_at LIMIT 1";
    assert.deepEqual(await accessesOfJobs(range), ["index"]);
  });
});
