import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { test } from "node:test";
import { ConfigurationInvalid, StoreUnavailable } from "#core/domain/errors.ts";
import { pickPort } from "#local/hold-directory.ts";
import { migrateCassandra } from "#migrations/migrate-cassandra.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";

const FIRST = "0001_create_jobs_by_task";
const { contactPoints, keyspace, run } = await makeTestKeyspace();

const migrate = async (name: string): Promise<string[]> => {
  const lines: string[] = [];
  await migrateCassandra({ contactPoints, keyspace: name, onProgress: (line) => lines.push(line) });
  return lines;
};

test("a run over a migrated keyspace changes nothing and says nothing", async () => {
  assert.deepEqual(await migrate(keyspace), []);
  const rows = await run("SELECT name, state FROM {ks}.schema_migrations");
  assert.deepEqual(rows, [{ name: FIRST, state: "applied" }]);
});

test("of three runs at once on nothing, one applies each file", async () => {
  const fresh = `t_${randomBytes(6).toString("hex")}`;
  try {
    const lines = await Promise.all([migrate(fresh), migrate(fresh), migrate(fresh)]);
    assert.deepEqual(lines.flat(), [`${fresh}: applied ${FIRST}`]);
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
