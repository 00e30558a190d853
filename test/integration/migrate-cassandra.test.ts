import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { test } from "node:test";
import { ConfigurationInvalid, StoreUnavailable } from "#core/domain/errors.ts";
import { pickPort } from "#local/hold-directory.ts";
import { migrateCassandra } from "#migrations/migrate-cassandra.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";

const FIRST = "0001_create_jobs_by_task";
const FILES = [FIRST, "0002_alter_jobs_by_task"];
const { contactPoints, keyspace, run } = await makeTestKeyspace();

const migrate = async (name: string): Promise<string[]> => {
  const lines: string[] = [];
  await migrateCassandra({ contactPoints, keyspace: name, onProgress: (line) => lines.push(line) });
  return lines;
};

test("a run over a migrated keyspace changes nothing and says nothing", async () => {
  assert.deepEqual(await migrate(keyspace), []);
  const rows = await run("SELECT name, state FROM {ks}.schema_migrations");
  const applied = new Map(rows.map(({ name, state }) => [name, state]));
  assert.deepEqual(applied, new Map(FILES.map((name) => [name, "applied"])));
});

test("what has expired leaves no tombstones: a list would be refused for them", async () => {
  const rows = await run(
    "SELECT gc_grace_seconds, default_time_to_live FROM system_schema.tables WHERE keyspace_name = ? AND table_name = 'jobs_by_task'",
    [keyspace],
  );
  assert.deepEqual(rows, [{ gc_grace_seconds: 0, default_time_to_live: 2_592_000 }]);
});

test("of three runs at once on nothing, one applies each file", async () => {
  const fresh = `t_${randomBytes(6).toString("hex")}`;
  try {
    const lines = await Promise.all([migrate(fresh), migrate(fresh), migrate(fresh)]);
    assert.deepEqual(
      lines.flat().sort(),
      FILES.map((name) => `${fresh}: applied ${name}`),
    );
  } finally {
    await run(`DROP KEYSPACE IF EXISTS ${fresh}`);
  }
});

test("a file whose run has died half-way is taken over; one that is under way is waited for", async () => {
  const claimed = (minutesAgo: number) =>
    run("INSERT INTO {ks}.schema_migrations (name, state, owner, at) VALUES (?, ?, ?, ?)", [
      FIRST,
      "running",
      randomUUID(),
      new Date(Date.now() - minutesAgo * 60_000),
    ]);
  await claimed(10);
  assert.deepEqual(await migrate(keyspace), [`${keyspace}: applied ${FIRST}`]);
  await claimed(0);
  const waiting = migrate(keyspace);
  await run("UPDATE {ks}.schema_migrations SET state = ? WHERE name = ?", ["applied", FIRST]);
  assert.deepEqual(await waiting, []);
});

test("no Cassandra, and names that are none, are told in one line", async () => {
  const nowhere = `127.0.0.1:${await pickPort(0)}`;
  await assert.rejects(migrateCassandra({ contactPoints: nowhere }), StoreUnavailable);
  await assert.rejects(
    migrateCassandra({ contactPoints, keyspace: "x; DROP KEYSPACE y" }),
    ConfigurationInvalid,
  );
  await assert.rejects(migrateCassandra({ contactPoints: "http://here" }), ConfigurationInvalid);
});
