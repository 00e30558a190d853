/** The migrations as a deploy runs them: the function's bundle in processes of their own, with accounts from Secrets Manager. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { createConnection } from "mysql2/promise";
import type { DeployAnswer, DeployEvent } from "#functions/migrate/handler.ts";
import { bundleEntry } from "#infra/constructs/bundle.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { openFakeAws } from "#test/support/fake-aws.ts";
import { databaseNames, testMysqlUrl } from "#test/support/mysql.ts";

const BUNDLE = bundleEntry("functions/migrate/handler.ts");
const RUN_MS = 60_000;
const suffix = randomBytes(6).toString("hex");
const databasePrefix = `t_${suffix}_`;
const takenPrefix = `u_${suffix}_`;
const keyspace = `t_${suffix}`;
const [master, app] = [`master_${suffix}`, `app_${suffix}`];
/** What a URL, a shell and SQL would each take for something else. */
const PASSWORD = "p%40:/'\"\\ü #?";

// Before the test's keyspace and its session end.
after(async () => {
  for (const name of [databasePrefix, takenPrefix].flatMap(databaseNames))
    await admin.query(`DROP DATABASE IF EXISTS ${name}`);
  for (const user of [master, app]) await admin.query("DROP USER IF EXISTS ?@'%'", [user]);
  await admin.end();
  await aws[Symbol.asyncDispose]();
  await runCql(`DROP KEYSPACE IF EXISTS ${keyspace}`);
});
const aws = await openFakeAws();
const { contactPoints, run: runCql } = await makeTestKeyspace();
const admin = await createConnection(testMysqlUrl());
admin.on("error", () => {});
await admin.query("SET SESSION wait_timeout = 600");
await admin.query("CREATE USER ?@'%' IDENTIFIED BY ?", [master, PASSWORD]);
await admin.query("GRANT ALL ON *.* TO ?@'%' WITH GRANT OPTION", [master]);
aws.accounts.set("master", { username: master, password: PASSWORD });
aws.accounts.set("app", { username: app, password: PASSWORD });

/** The server without an account. */
function serverUrl(): string {
  const url = new URL(testMysqlUrl());
  url.username = "";
  url.password = "";
  return url.href;
}

/** One invocation in a fresh process. */
async function invoke(event: DeployEvent, env: Record<string, string> = {}): Promise<DeployAnswer> {
  const call = `
    const { handler } = await import("./index.mjs");
    const answer = await handler(${JSON.stringify(event)}).catch(({ message }) => ({ message }));
    process.stdout.write("\\nanswer " + JSON.stringify(answer) + "\\n", () => process.exit());`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", call],
    {
      cwd: BUNDLE,
      timeout: RUN_MS,
      env: {
        PATH: process.env.PATH,
        ...aws.env,
        MYSQL_URL: serverUrl(),
        MYSQL_SECRET_ARN: "master",
        MYSQL_APP_SECRET_ARN: "app",
        DATABASE_PREFIX: databasePrefix,
        CASSANDRA_CONTACT_POINTS: contactPoints,
        CASSANDRA_KEYSPACE: keyspace,
        ...env,
      },
    },
  );
  assert.ok(!stdout.includes(PASSWORD) && !stdout.includes(encodeURIComponent(PASSWORD)));
  const answer = JSON.parse(/^answer (.*)$/m.exec(stdout)?.[1] ?? "null");
  if ("message" in answer) throw new Error(answer.message);
  return answer;
}

test("two deploys at once on nothing: each file is applied once, by one of them", async () => {
  const answers = await Promise.all([
    invoke({ RequestType: "Create" }),
    invoke({ RequestType: "Create" }),
  ]);
  const applied = answers.flatMap(({ Data }) => Data.applied.split(", ").filter((each) => each));
  assert.equal(new Set(applied).size, applied.length, "a file was applied twice");
  assert.ok(applied.includes(`${databasePrefix}0: applied 0001_create_tasks`));
  assert.ok(applied.includes(`${keyspace}: applied 0001_create_jobs_by_task`));
});

test("again: nothing to do; the end of the stack leaves the data", async () => {
  for (const RequestType of ["Update", "Delete"] as const)
    assert.deepEqual(await invoke({ RequestType }), {
      PhysicalResourceId: "migrations",
      Data: { applied: "" },
    });
  await admin.query(`SELECT 1 FROM ${databasePrefix}0.tasks LIMIT 1`);
});

test("the account of the application reads and writes rows, and no more", async () => {
  const connection = await createConnection({
    uri: serverUrl(),
    user: app,
    password: PASSWORD,
    database: `${databasePrefix}0`,
  });
  try {
    await connection.query("SELECT id FROM jobs LIMIT 1");
    await connection.query("DELETE FROM workers WHERE FALSE");
    await assert.rejects(connection.query("CREATE TABLE mine (a INT)"), { errno: 1142 });
    await assert.rejects(connection.query("DROP TABLE jobs"), { errno: 1142 });
    await assert.rejects(connection.query("SELECT 1 FROM mysql.user"), { errno: 1142 });
  } finally {
    connection.destroy();
  }
});

test("npm run admin works with the account's secret", async () => {
  const env = {
    PATH: process.env.PATH,
    ...aws.env,
    MYSQL_URL: serverUrl(),
    MYSQL_SECRET_ARN: "app",
    DATABASE_PREFIX: databasePrefix,
  };
  const admin = join(import.meta.dirname, "../../local/admin.ts");
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [admin, ...args], { env, timeout: RUN_MS });
  await run("tenant", "create", "acme");
  const { stdout } = await run("tenant", "list", "--json");
  assert.match(stdout, /"acme"/);
});

test("a secret that was made anew: the next deploy gives the account its password", async () => {
  aws.accounts.set("app", { username: app, password: "another" });
  await invoke({ RequestType: "Update" });
  const options = { uri: serverUrl(), user: app, password: "another" };
  const connection = await createConnection(options);
  connection.destroy();
});

test("what stops a deploy is said in one line", async () => {
  await assert.rejects(
    invoke({}, { MYSQL_URL: "mysql://127.0.0.1:1" }),
    /^Error: migrations were not applied: MySQL at 127\.0\.0\.1:1 does not answer \(ECONNREFUSED\)/,
  );
  await assert.rejects(
    invoke({}, { MYSQL_SECRET_ARN: "none" }),
    /^Error: migrations were not applied: Secrets Manager does not give the database's account/,
  );
  aws.accounts.set("wrong", { username: app, password: "wrong" });
  await assert.rejects(
    invoke({}, { MYSQL_SECRET_ARN: "wrong" }),
    /^Error: migrations were not applied: MySQL refuses the account .*1045/,
  );
  await assert.rejects(
    invoke({}, { CASSANDRA_CONTACT_POINTS: "127.0.0.1:1" }),
    /^Error: migrations were not applied: Cassandra/,
  );
  await admin.query(`CREATE DATABASE ${takenPrefix}0`);
  await admin.query(`CREATE TABLE ${takenPrefix}0.tasks (mine INT)`);
  await assert.rejects(
    invoke({}, { DATABASE_PREFIX: takenPrefix }),
    /^Error: migrations were not applied: u_[0-9a-f]+_0: 0009_add_task_lists was refused: ER_BAD_FIELD_ERROR \(1054\)$/,
  );
});
