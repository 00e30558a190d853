/** `npm start` where MYSQL_URL names a server: it is used when it is new or of an earlier start, never when it is a deployment's. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { prepareDatabases } from "#local/prepare-databases.ts";
import { refuseDeployment } from "#local/refuse-deployment.ts";
import { seedDemoTenant } from "#local/seed.ts";
import { readSettings } from "#local/settings.ts";
import { databaseNames, makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";

const REFUSED = /names the databases of a deployment .* nothing was changed: unset MYSQL_URL/;
let databases: TestDatabases;
let control: string;
beforeEach(async () => {
  databases = await makeTestDatabases();
  control = `${databases.databasePrefix}control`;
});
afterEach(() => databases.drop());

const refuse = () => refuseDeployment(databases.mysqlUrl, databases.databasePrefix);
const addTenant = (id: string) =>
  databases.run(
    `INSERT INTO ${control}.tenants (id, name, created_at) VALUES ('${id}', 'x', UTC_TIMESTAMP(3))`,
  );

test("a database with tenants is refused, before it is migrated and before anything is written", async () => {
  const localDir = mkdtempSync(join(tmpdir(), "refused-"));
  try {
    await addTenant("demo");
    // A schema that is behind: a start would bring it up.
    const shard = `${databases.databasePrefix}0`;
    await databases.run(`DROP DATABASE ${shard}`);
    const env = {
      LOCAL_DIR: localDir,
      MYSQL_URL: databases.mysqlUrl,
      DATABASE_PREFIX: databases.databasePrefix,
    };
    const found = { mysqlUrl: databases.mysqlUrl, contactPoints: "127.0.0.1:9" };
    await assert.rejects(
      prepareDatabases(found, readSettings(env), env, () => {}),
      REFUSED,
    );
    const rows = await databases.run(`SHOW DATABASES LIKE '${databases.databasePrefix}%'`);
    assert.deepEqual(
      rows.map((row) => Object.values(row)[0]),
      [control],
    );
    assert.deepEqual(await databases.run(`SELECT 1 FROM ${control}.api_keys`), []);
    assert.deepEqual(readdirSync(localDir), []);
  } finally {
    rmSync(localDir, { recursive: true });
  }
});

test("one without tenants on which processes work is refused too", async () => {
  await refuse();
  await databases.run("INSERT INTO workers (id, lease_until) VALUES (REPEAT('x', 16), NOW(3))");
  await assert.rejects(refuse(), REFUSED);
});

test("one of an earlier start is used, until somebody has revoked its key", async () => {
  await seedDemoTenant(databases.mysqlUrl, databases.databasePrefix);
  await addTenant("acme");
  await refuse();
  await databases.run(`UPDATE ${control}.api_keys SET revoked_at = UTC_TIMESTAMP(3)`);
  await assert.rejects(refuse(), REFUSED);
});

test("one that nobody has migrated is used", async () => {
  for (const name of databaseNames(databases.databasePrefix))
    await databases.run(`DROP DATABASE ${name}`);
  await refuse();
});
