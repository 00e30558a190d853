/**
 * Everything secret is replaced in the middle of load, with the keys and accounts of AWS behind the real clients: gateway, scheduler
 * and executor as processes, an endpoint that checks every call. And what they refuse to begin with.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { SECRET_CHANGED_WITHIN_MS, SIGNING_KNOWN_MS } from "#core/domain/limits.ts";
import { type ApiClient, openClient } from "#test/support/api-client.ts";
import { eventually } from "#test/support/eventually.ts";
import { type FakeAws, openFakeAws } from "#test/support/fake-aws.ts";
import { databaseNames, makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { addTenant, startGateway } from "#test/support/own-gateway.ts";
import {
  type OwnProcess,
  startProcess,
  startWorker,
  testKeyFile,
} from "#test/support/worker-process.ts";

const TASKS = 20;
const STARTED_MS = 20_000;
/** History is not asked for anything here. */
const NO_HISTORY = { CASSANDRA_CONTACT_POINTS: "127.0.0.1:9" };
const USERS = ["api", "worker"].map((name) => `${name}_${randomBytes(4).toString("hex")}`);
const [API_USER = "", WORKER_USER = ""] = USERS;

interface Received {
  readonly atMs: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let databases: TestDatabases;
let aws: FakeAws;
let endpoint: Server;
let url: string;
const received: Received[] = [];

before(async () => {
  databases = await makeTestDatabases();
  aws = await openFakeAws();
  for (const user of USERS) {
    await setPassword(user, "p0");
    for (const name of databaseNames(databases.databasePrefix))
      await databases.run(`GRANT ALL ON ${name}.* TO '${user}'@'%'`);
  }
  endpoint = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = String(Buffer.concat(chunks));
      received.push({ atMs: Date.now(), headers: request.headers, body });
      response.end();
    });
  });
  endpoint.listen(0, "127.0.0.1");
  await once(endpoint, "listening");
  url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/`;
});
after(async () => {
  endpoint.close();
  endpoint.closeAllConnections();
  await aws[Symbol.asyncDispose]();
  for (const user of USERS) await databases.run(`DROP USER IF EXISTS '${user}'@'%'`);
  await databases.drop();
});

/** As a rotation does it: the secret first, then the server. */
async function setPassword(user: string, password: string): Promise<void> {
  aws.accounts.set(user, { username: user, password });
  await databases.run(`CREATE USER IF NOT EXISTS '${user}'@'%' IDENTIFIED BY '${password}'`);
  await databases.run(`ALTER USER '${user}'@'%' IDENTIFIED BY '${password}'`);
}

/** Ends connections that nobody is using: the next ones have to log in. */
async function endIdleConnections(user: string): Promise<void> {
  const rows = await databases.run(
    `SELECT id FROM information_schema.processlist WHERE user = '${user}' AND command = 'Sleep'`,
  );
  for (const { id } of rows) await databases.run(`KILL ${id}`);
}

async function createTasks(api: ApiClient): Promise<string[]> {
  const body = (n: number) => ({
    schedule: { type: "every", seconds: 1 },
    request: {
      url,
      body: `{"n":${n}}`,
      secretHeaders: { "X-Key": "key-one" },
      auth: { type: "bearer", token: "token-one" },
    },
  });
  const items = Array.from({ length: TASKS }, (_, n) => body(n));
  const made = await api("POST", "/v1/tasks/bulk", { items });
  return made.body.items.map(({ task }: { task: { id: string } }) => task.id);
}

async function callsUntil(count: number): Promise<void> {
  await eventually(
    async () => assert.ok(received.length >= count, `${received.length} calls`),
    60_000,
  );
}

function verifies(secret: string, { body, headers }: Received): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

test("task secrets, signing secrets and database passwords rotate under load: no call fails", {
  timeout: 150_000,
}, async () => {
  const { mysqlUrl, databasePrefix } = databases;
  const server = new URL(mysqlUrl);
  server.username = "";
  server.password = "";
  const settings = { mysqlUrl: server.href, databasePrefix };
  const envOf = (user: string) => ({
    ...aws.env,
    ...NO_HISTORY,
    MYSQL_SECRET_ARN: user,
    LOG_LEVEL: "info",
  });
  await using open = new AsyncDisposableStack();
  const gateway = open.use(await startGateway(settings, envOf(API_USER)));
  const workers = (["scheduler", "executor"] as const).map((kind) =>
    open.use(startWorker(kind, { ...settings, env: envOf(WORKER_USER) })),
  );
  await Promise.all(workers.map((worker) => worker.line("started", STARTED_MS)));
  const { key } = await addTenant(databases, "rotates");
  const api = openClient(gateway.url, key);
  const first = (await api("POST", "/v1/signing-secret/rotate")).body.secret;
  const ids = await createTasks(api);
  await callsUntil(TASKS * 2);

  const patch = {
    secretHeaders: { "X-Key": "key-two" },
    auth: { type: "bearer", token: "token-two" },
  };
  for (const id of ids) {
    const answer = await api("PATCH", `/v1/tasks/${id}`, { request: patch });
    assert.equal(answer.status, 200, answer.text);
  }
  const changedMs = Date.now() + SECRET_CHANGED_WITHIN_MS;
  const second = (await api("POST", "/v1/signing-secret/rotate")).body.secret;
  const rotatedMs = Date.now() + SIGNING_KNOWN_MS;
  await setPassword(WORKER_USER, "p1");
  await setPassword(API_USER, "p1");
  await endIdleConnections(API_USER);
  assert.equal((await api("GET", "/v1/tasks")).status, 200, "the gateway logs in anew");
  await eventually(async () => {
    assert.ok(received.some((call) => call.atMs > changedMs));
    assert.ok(verifies(second, received.at(-1) as Received));
  }, SIGNING_KNOWN_MS + 10_000);
  await callsUntil(received.length + TASKS);
  assert.ok(Date.now() < rotatedMs + 15_000);

  for (const call of received) {
    const { authorization, "x-key": value } = call.headers;
    const pair = `${value} ${authorization}`;
    assert.match(pair, /^key-(one|two) Bearer token-\w+$/);
    if (call.atMs > changedMs) assert.equal(pair, "key-two Bearer token-two");
    assert.ok(verifies(first, call), "the secret before is valid for a day");
  }
  const rows = await databases.run(
    "SELECT DISTINCT status, attempt FROM jobs WHERE finished_at IS NOT NULL",
  );
  assert.deepEqual(
    rows.map(({ status, attempt }) => [status, attempt]),
    [["succeeded", 1]],
  );
  await assertQuiet([gateway.process, ...workers]);
});

/** Nobody noticed, nothing was shown, and the key service was asked a few times, not once a job. */
async function assertQuiet(processes: readonly OwnProcess[]): Promise<void> {
  const log = processes.flatMap(({ lines }) => lines).join("\n");
  assert.doesNotMatch(log, /"level":"error"|database away|calls fail/);
  assert.match(log, /MySQL refused the account: it was rotated/);
  assert.doesNotMatch(log, /key-(one|two)|token-(one|two)|whsec_|"p[01]"/);
  assert.ok(received.length > TASKS * 4);
  const asked = aws.count("Decrypt") + aws.count("GenerateDataKey");
  assert.ok(asked <= 10, `${asked} calls of KMS for ${received.length} jobs`);
  for (const table of await databases.run("SHOW TABLES")) {
    const name = Object.values(table)[0];
    const rows = await databases.run(`SELECT * FROM ${name}`);
    const text = rows.map((row) => Object.values(row).map(String).join(" ")).join("\n");
    assert.doesNotMatch(text, /key-(one|two)|token-(one|two)|whsec_/, String(name));
  }
}

test("an executor without its key, or with another one than the database's, says so and does not begin", {
  timeout: 60_000,
}, async () => {
  const { mysqlUrl, databasePrefix } = databases;
  const start = (env: Readonly<Record<string, string>>) =>
    startProcess("workers/executor/main.ts", {
      MYSQL_URL: mysqlUrl,
      DATABASE_PREFIX: databasePrefix,
      ...env,
    });
  const cases: [Record<string, string>, RegExp][] = [
    [{ SECRETS_KEY_FILE: "" }, /set SECRETS_KEY_FILE .* or SECRETS_KMS_KEY/],
    [{ SECRETS_KEY_FILE: join(tmpdir(), "no-such-key") }, /no-such-key is not there/],
    // What the database has was wrapped by KMS.
    [{ SECRETS_KEY_FILE: testKeyFile() }, /SECRETS_KEY_FILE is not the key that the secrets/],
  ];
  for (const [env, said] of cases) {
    await using refused = start(env);
    assert.equal((await refused.ended(STARTED_MS)).code, 2);
    assert.equal(refused.lines.length, 1, refused.lines.join("\n"));
    assert.match(refused.lines[0] ?? "", said);
  }
});
