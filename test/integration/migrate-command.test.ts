/** `npm run migrate`: which databases it means, and that it may be repeated. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { createConnection } from "mysql2/promise";
import { identify } from "#local/process-identity.ts";
import { writeRun } from "#local/run-file.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { databaseNames, testMysqlUrl } from "#test/support/mysql.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const RUN_MS = 60_000;
const databasePrefix = `t_${randomBytes(6).toString("hex")}_`;
const localDir = mkdtempSync(join(tmpdir(), "migrate-"));
const { contactPoints, keyspace } = await makeTestKeyspace();

after(async () => {
  rmSync(localDir, { recursive: true, force: true });
  const connection = await createConnection(testMysqlUrl());
  for (const name of databaseNames(databasePrefix))
    await connection.query(`DROP DATABASE IF EXISTS ${name}`);
  await connection.end();
});

function run(args: readonly string[], env: Readonly<Record<string, string>>) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["local/migrate.ts", ...args], {
    cwd: ROOT,
    encoding: "utf8",
    timeout: RUN_MS,
    env: {
      PATH: process.env.PATH,
      LOCAL_DIR: localDir,
      DATABASE_PREFIX: databasePrefix,
      CASSANDRA_KEYSPACE: keyspace,
      ...env,
    },
  });
  return { status, said: stdout.trim(), refused: stderr.trim() };
}

test("nothing named and nothing running is refused, and so is what it does not know", () => {
  const { status, refused } = run([], {});
  assert.equal(status, 1);
  assert.match(refused, /^which database\? Set MYSQL_URL, CASSANDRA_CONTACT_POINTS or both, or/);
  assert.match(run(["oracle"], {}).refused, /^usage: /);
});

test("what is named is migrated, once", () => {
  const first = run([], { MYSQL_URL: testMysqlUrl() });
  assert.equal(first.status, 0, first.refused);
  assert.match(first.said, /_0: applied 0001_create_tasks/);
  assert.equal(run(["mysql"], { MYSQL_URL: testMysqlUrl() }).said, "nothing to apply: mysql");
  const history = run(["cassandra"], { CASSANDRA_CONTACT_POINTS: contactPoints });
  assert.equal(history.said, "nothing to apply: cassandra");
});

test("without names it is the system that runs here", () => {
  const supervisor = identify(process.pid, "node");
  assert.ok(supervisor);
  const given = { kind: "given" as const, dir: localDir, process: null };
  writeRun(localDir, {
    state: "ready",
    supervisor,
    api: "http://127.0.0.1:1",
    key: "none",
    mysql: { url: testMysqlUrl(), ...given },
    cassandra: { contactPoints, ...given },
    restarting: [],
    processes: [],
  });
  assert.equal(run([], {}).said, "nothing to apply: mysql and cassandra");
});
