import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedByKeyspaces, timestampRefusedByKeyspaces } from "#test/support/keyspaces-rules.ts";
import { qualify, readCqlMigrations, splitCql, tableOf } from "./cql-files.ts";

test("Amazon Keyspaces accepts every migration", async () => {
  const migrations = await readCqlMigrations("keyspaces");
  assert(migrations.length > 0);
  for (const { name, statements } of migrations) {
    for (const statement of statements) assert.equal(refusedByKeyspaces(statement), null, name);
  }
});

test("what Keyspaces lacks is found", () => {
  const table = "CREATE TABLE IF NOT EXISTS t (a int, b text, PRIMARY KEY (a))";
  const refused: [string, RegExp][] = [
    ["CREATE INDEX ON t (b)", /statement/],
    ["CREATE MATERIALIZED VIEW v AS SELECT a FROM t", /statement/],
    ["TRUNCATE t", /statement/],
    ["CREATE TABLE t (a int PRIMARY KEY)", /IF NOT EXISTS/],
    [`${table} WITH compaction = {'class': 'TimeWindowCompactionStrategy'}`, /compaction/],
    [`${table} WITH gc_grace_seconds = 0 AND comment = 'x'`, /gc_grace_seconds/],
    [`${table} WITH CUSTOM_PROPERTIES = {'unknown': {'status': 'enabled'}}`, /unknown/],
    ["CREATE TABLE IF NOT EXISTS t (a duration, PRIMARY KEY (a))", /duration/],
    ["CREATE TABLE IF NOT EXISTS t (a vector<float, 3>, PRIMARY KEY (a))", /vector/],
    ["ALTER TABLE t DROP b", /ALTER TABLE/],
  ];
  for (const [statement, reason] of refused) {
    assert.match(refusedByKeyspaces(statement) ?? "accepted", reason, statement);
  }
  assert.equal(
    refusedByKeyspaces(`${table} WITH CLUSTERING ORDER BY (b DESC) AND default_time_to_live = 1`),
    null,
  );
  assert.equal(refusedByKeyspaces("ALTER TABLE t ADD c int"), null);
});

test("Keyspaces takes timestamps from 2 days ago to 5 minutes ahead", () => {
  const nowMs = Date.UTC(2026, 5, 1);
  const at = (ms: number) => timestampRefusedByKeyspaces(ms * 1_000, nowMs);
  assert.equal(at(nowMs - 2 * 86_400_000), null);
  assert.equal(at(nowMs + 5 * 60_000), null);
  assert.match(at(nowMs - 2 * 86_400_000 - 1) ?? "accepted", /past/);
  assert.match(at(nowMs + 5 * 60_000 + 1) ?? "accepted", /future/);
});

test("every file has something for Cassandra", async () => {
  for (const { name, statements } of await readCqlMigrations("cassandra"))
    assert(statements.length > 0, `${name} is empty`);
});

test("a line for Keyspaces is a comment elsewhere, and one for Cassandra there", () => {
  const text =
    "-- why\nCREATE TABLE a (b int)\n-- keyspaces: WITH x = 1\n;\nALTER TABLE a ADD c int;\n-- cassandra: ALTER TABLE a WITH y = 0\n;\n";
  const alter = "ALTER TABLE a ADD c int";
  assert.deepEqual(splitCql(text, "cassandra"), [
    "CREATE TABLE a (b int)",
    alter,
    "ALTER TABLE a WITH y = 0",
  ]);
  assert.deepEqual(splitCql(text, "keyspaces"), ["CREATE TABLE a (b int)\n WITH x = 1", alter]);
});

test("a statement is run in the keyspace that it names", () => {
  const statement = "CREATE TABLE IF NOT EXISTS jobs (jobs_id int, PRIMARY KEY (jobs_id))";
  assert.equal(tableOf(statement), "jobs");
  assert.match(qualify(statement, "scheduler"), /EXISTS scheduler\.jobs \(jobs_id/);
  assert.throws(() => qualify("CREATE INDEX ON t (b)", "scheduler"), /no table/);
});

test("rows live for 30 days and leave no tombstones, and Keyspaces is told to take our timestamps", async () => {
  const statements = async (service: "cassandra" | "keyspaces") =>
    (await readCqlMigrations(service)).flatMap((migration) => migration.statements).join("\n");
  assert.match(await statements("cassandra"), /default_time_to_live = 2592000/);
  assert.match(await statements("keyspaces"), /'client_side_timestamps': \{'status': 'enabled'\}/);
  assert.doesNotMatch(await statements("cassandra"), /CUSTOM_PROPERTIES/);
  assert.match(await statements("cassandra"), /gc_grace_seconds = 0/);
});
