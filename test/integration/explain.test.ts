/** No statement may walk or sort the large tables. Checked on enough analysed rows that the optimiser shows what it would do. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { controlSamples } from "./control-samples.ts";
import { seedControlRows, seedRequestRows, seedRows } from "./seed-rows.ts";
import { shardSamples } from "./statement-samples.ts";

const ROWS = 50_000;
/** Of the shards, each with what statements call it where they join. */
const LARGE_TABLES = [
  ...["jobs", "tasks", "t", "task_versions", "v", "dead_letters", "d"],
  ...["idempotency_keys", "k", "revocations"],
  ...["tenants", "api_keys", "principals"],
];

/** What a plan does that it must not: every full walk of a large table or of one of its indexes, and every sort. */
function faultsOf(plan: unknown): string[] {
  if (Array.isArray(plan)) return plan.flatMap(faultsOf);
  if (typeof plan !== "object" || plan === null) return [];
  const node = plan as Record<string, unknown>;
  const faults = Object.values(node).flatMap(faultsOf);
  if (node.using_filesort === true && touchesLarge(node)) faults.push("filesort");
  const table = String(node.table_name);
  // The target of an INSERT is shown as a table that is walked; it is not.
  const walked = node.access_type === "ALL" || node.access_type === "index";
  if (walked && LARGE_TABLES.includes(table) && node.insert !== true) {
    faults.push(`${String(node.access_type)} of ${table}`);
  }
  return faults;
}

function touchesLarge(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(touchesLarge);
  if (typeof node !== "object" || node === null) return false;
  const { table_name: name } = node as Record<string, unknown>;
  return LARGE_TABLES.includes(String(name)) || Object.values(node).some(touchesLarge);
}

describe("plans", () => {
  let databases: TestDatabases;

  before(async () => {
    databases = await makeTestDatabases();
    await seedRows(databases, { tasks: ROWS, jobs: ROWS });
    await seedRequestRows(databases, ROWS);
  });
  after(() => databases.drop());

  async function explain(sql: string): Promise<string[]> {
    const [row] = await databases.run(`EXPLAIN FORMAT=JSON ${sql}`);
    return faultsOf(JSON.parse(row?.EXPLAIN));
  }

  for (const { name, sql } of shardSamples()) {
    test(name, async () => {
      assert.deepEqual(await explain(sql), []);
      // With few rows, or none, the optimiser would drive a plain join from the table, which locks what it meets.
      assert.doesNotMatch(sql, /(?<!LEFT) JOIN |\bIN \(VALUES/);
      // The first hides rows that are not taken; the others follow the session's zone.
      assert.doesNotMatch(sql, /\bIGNORE\b|\bNOW\(|\bCURRENT_TIMESTAMP|\bSYSDATE/);
    });
  }

  test("control statements read by key", async () => {
    await seedControlRows(databases);
    await databases.run(`USE ${databases.databasePrefix}control`);
    try {
      for (const { name, sql } of controlSamples()) {
        // A tenant's keys are few: sorting them is nothing.
        const faults = (await explain(sql)).filter((fault) => fault !== "filesort");
        assert.deepEqual(faults, [], name);
      }
      const byName = "SELECT id FROM tenants WHERE name = 'tenant 7'";
      assert.deepEqual(await explain(byName), ["ALL of tenants"]);
    } finally {
      await databases.run(`USE ${databases.databasePrefix}0`);
    }
  });

  test("the rows are there: a plan over few rows says nothing", async () => {
    for (const table of ["jobs", "tasks", "task_versions", "idempotency_keys", "revocations"]) {
      const [row] = await databases.run(
        `SELECT TABLE_ROWS AS count FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '${table}'`,
      );
      assert.ok(Number(row?.count) > ROWS * 0.8, `${table} is analysed`);
    }
    const [letters] = await databases.run("SELECT COUNT(*) AS count FROM dead_letters");
    assert.equal(Number(letters?.count), ROWS / 5);
  });

  test("what walks or sorts is refused", async () => {
    const refused = {
      "SELECT id FROM jobs WHERE tenant_id = 'tenant-7'": "ALL of jobs",
      "SELECT COUNT(*) FROM jobs": "index of jobs",
      "UPDATE jobs SET lost = 0 WHERE run_at < UTC_TIMESTAMP(3)": "index of jobs",
      "SELECT id FROM tasks WHERE status = 'active' ORDER BY name LIMIT 5": "filesort",
      "SELECT id FROM jobs FORCE INDEX (queue) WHERE status = 'pending' AND queue IN (0, 16) ORDER BY due_at LIMIT 5 FOR UPDATE SKIP LOCKED":
        "filesort",
      "DELETE FROM tasks WHERE name = 'task 7'": "ALL of tasks",
      "SELECT part FROM idempotency_keys FORCE INDEX (PRIMARY) WHERE expires_at <= UTC_TIMESTAMP(3) ORDER BY expires_at LIMIT 5":
        "filesort",
      "DELETE FROM revocations WHERE task_id = UNHEX('00')": "ALL of revocations",
      "SELECT job_id FROM dead_letters WHERE part = 7": "ALL of dead_letters",
      "SELECT retry FROM task_versions WHERE request_version = 2": "ALL of task_versions",
    };
    for (const [sql, fault] of Object.entries(refused)) {
      assert.ok((await explain(sql)).includes(fault), `${sql}: ${await explain(sql)}`);
    }
  });

  test("every statement that the adapter can send is among those explained", async () => {
    const folder = join(import.meta.dirname, "..", "..", "adapters", "mysql", "statements");
    const explained = [...shardSamples(), ...controlSamples()].map(
      ({ name }) => name.split(",")[0],
    );
    let functions = 0;
    for (const file of await readdir(folder)) {
      const statements: object = await import(join(folder, file));
      for (const name of Object.keys(statements).filter((key) => key.endsWith("Sql"))) {
        assert.ok(explained.includes(name), `${file}: ${name}`);
        functions++;
      }
    }
    assert.ok(functions >= 40);
  });
});
