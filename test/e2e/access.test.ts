/** Who may call: tenants, keys and IAM principals as an operator makes them, against every route of the API, over HTTP and MySQL. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import middy from "@middy/core";
import { openControlStore } from "#adapters/mysql/control-store.ts";
import { systemDigest } from "#adapters/system/digest.ts";
import type { ApiEvent, ApiResult } from "#functions/_shared/api-event.ts";
import { authenticate } from "#functions/_shared/authenticate.ts";
import { answerProblems, findRoute } from "#functions/_shared/middlewares.ts";
import { ROUTES, type Route } from "#functions/_shared/routes.ts";
import { createGateway, type Handlers } from "#local/gateway-server.ts";
import { identify } from "#local/process-identity.ts";
import { writeRun } from "#local/run-file.ts";
import { type ApiAnswer, type ApiClient, openClient } from "#test/support/api-client.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { type OwnProcess, startProcess } from "#test/support/worker-process.ts";
import { makeTestDatabases, type TestDatabases } from "../integration/databases.ts";

const UP_MS = 20_000;
const COMMAND_MS = 30_000;
const ADMIN = resolve(import.meta.dirname, "../../local/admin.ts");
const TASK = {
  schedule: { type: "every", seconds: 366 * 86_400 },
  request: { url: "https://example.com/hook" },
};

/** How each path parameter names something of a tenant's; null where the name is the caller's own and meets nobody else's. */
const PARAMETERS: Readonly<Record<string, "task" | "job" | null>> = {
  taskId: "task",
  jobId: "job",
  name: null,
};

const history = await makeTestKeyspace();
let databases: TestDatabases;
let gateway: OwnProcess;
let url: string;
/** API keys as they were shown, once. */
const keys = { acme: "", other: "", reader: "", writer: "", admin: "" };

before(async () => {
  databases = await makeTestDatabases();
  for (const tenant of ["acme", "other"]) await done("tenant", "create", tenant);
  for (const [name, tenant, scopes] of [
    ["acme", "acme", "read,write"],
    ["other", "other", "admin,write,read"],
    ["reader", "acme", "read"],
    ["writer", "acme", "write"],
    ["admin", "acme", "admin"],
  ] as const)
    keys[name] = (await done("key", "create", tenant, "--scopes", scopes)).secret;
  gateway = startProcess("local/gateway.ts", {
    MYSQL_URL: databases.mysqlUrl,
    DATABASE_PREFIX: databases.databasePrefix,
    CASSANDRA_CONTACT_POINTS: history.contactPoints,
    CASSANDRA_KEYSPACE: history.keyspace,
    API_PORT: "0",
  });
  url = (await gateway.line("gateway listening on", UP_MS)).replace(/^.* on /, "");
});

after(async () => {
  gateway.signal("SIGTERM");
  await gateway.ended(15_000);
  await gateway[Symbol.asyncDispose]();
  await databases.drop();
});

type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** `npm run admin -- …`, to its end. */
function admin(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const { mysqlUrl, databasePrefix } = databases;
  const all = { MYSQL_URL: mysqlUrl, DATABASE_PREFIX: databasePrefix, ...env };
  return new Promise((ended) => {
    const options = { env: { PATH: process.env.PATH, ...all }, timeout: COMMAND_MS };
    const child = execFile(process.execPath, [ADMIN, ...args], options, (_, stdout, stderr) =>
      ended({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

/** A command that has to succeed: what it answers as JSON. */
async function done(...args: readonly string[]): Promise<ApiAnswer["body"]> {
  const { code, stdout, stderr } = await admin([...args, "--json"]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^[^\n]+\n$/, "one line of JSON");
  return JSON.parse(stdout);
}

/** A command that has to fail, in one line on stderr. */
async function refused(args: readonly string[], code: number, line: RegExp, env = {}) {
  const ended = await admin(args, env);
  assert.equal(ended.code, code, ended.stderr);
  assert.match(ended.stderr, /^[^\n]+\n$/, ended.stderr);
  assert.match(ended.stderr, line);
  assert.equal(ended.stdout, "");
}

function assertProblem(answer: ApiAnswer, status: number, route: Route, detail = /./): void {
  const what = `${route.method} ${route.path}: ${answer.text}`;
  assert.equal(answer.status, status, what);
  assert.equal(answer.headers.get("content-type"), "application/problem+json", what);
  assert.match(answer.body.detail, detail, what);
}

type Ids = { readonly task: string; readonly job: string };

/** The route's path with these ids; null when it has a parameter that names nothing of a tenant's. */
function pathOf({ path }: Route, ids: Ids): string | null {
  let named = true;
  const real = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const kind = PARAMETERS[parameter];
    assert.ok(kind !== undefined, `say in PARAMETERS what {${parameter}} of ${path} names`);
    if (kind === null) named = false;
    return kind === null ? "nobodys-name" : ids[kind];
  });
  return named ? real : null;
}

function call(client: ApiClient, { method }: Route, path: string): Promise<ApiAnswer> {
  return client(method, path, method === "GET" || method === "DELETE" ? undefined : {});
}

async function makeTaskAndJob(client: ApiClient): Promise<Ids> {
  const made = await client("POST", "/v1/tasks", TASK);
  assert.equal(made.status, 201, made.text);
  const ran = await client("POST", `/v1/tasks/${made.body.id}/run`);
  assert.equal(ran.status, 202, ran.text);
  return { task: made.body.id, job: ran.body.id };
}

test("every route × another tenant's ids → 404, and nothing has changed", async () => {
  const acme = openClient(url, keys.acme);
  const other = openClient(url, keys.other);
  const ids = await makeTaskAndJob(acme);
  const before = await acme("GET", `/v1/tasks/${ids.task}`);
  let foreign = 0;
  for (const route of ROUTES as readonly Route[]) {
    const path = pathOf(route, ids);
    if (path === null) continue;
    const answer = await call(other, route, path);
    if (path !== route.path) {
      assertProblem(answer, 404, route);
      foreign++;
    }
    for (const id of [ids.task, ids.job])
      assert.ok(!answer.text.includes(id), `${route.method} ${route.path} shows ${id}`);
  }
  assert.ok(foreign >= 8);
  assert.deepEqual((await acme("GET", `/v1/tasks/${ids.task}`)).body, before.body);
  const { status, body } = await acme("GET", `/v1/jobs/${ids.job}`);
  assert.deepEqual([status, body.status], [200, "pending"]);
});

test("every route × no key, a wrong one → 401; × a key without its scope → 403", async () => {
  const ids = await makeTaskAndJob(openClient(url, keys.acme));
  const clients = {
    read: openClient(url, keys.reader),
    write: openClient(url, keys.writer),
    admin: openClient(url, keys.admin),
  };
  for (const route of ROUTES as readonly Route[]) {
    const path = pathOf(route, ids) ?? route.path.replaceAll(/\{\w+\}/g, "name");
    if (route.scope === null) {
      const { status } = await call(openClient(url, null), route, path);
      assert.ok(status < 400, `${route.method} ${route.path} needs no key: ${status}`);
      continue;
    }
    for (const key of [null, "", "wrong", `${keys.acme}x`, keys.acme.slice(0, -1)]) {
      const answer = await call(openClient(url, key), route, path);
      assertProblem(answer, 401, route, /API key/);
      assert.match(answer.headers.get("www-authenticate") ?? "", /^ApiKey /);
    }
    for (const [scope, client] of Object.entries(clients)) {
      if (scope === route.scope) continue;
      const detail = new RegExp(`scope "${route.scope}"; the caller has ${scope}$`);
      assertProblem(await call(client, route, path), 403, route, detail);
    }
  }
  const { body } = await clients.read("GET", `/v1/tasks/${ids.task}`);
  assert.deepEqual([body.status, body.version], ["active", 1]);
});

/** The middlewares of every handler over the real control database, on a clock that the test moves. */
async function openOnManualClock() {
  const clock = new ManualClock(Date.now());
  const { mysqlUrl, databasePrefix } = databases;
  const control = openControlStore({ mysqlUrl, databasePrefix });
  const handler = middy(
    async ({ principal }: ApiEvent): Promise<ApiResult> => ({
      statusCode: 200,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(principal),
    }),
  )
    .use(findRoute(ROUTES, clock))
    .use(authenticate(control, clock, systemDigest))
    .use(answerProblems({ info() {}, warn() {}, error() {} }));
  const handlers = Object.fromEntries(ROUTES.map((route) => [route.handler, handler])) as Handlers;
  const server = createGateway(handlers, () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    clock,
    // Not the API's client: it would refuse an answer that is no list of tasks.
    async get(key: string): Promise<{ status: number; body: ApiAnswer["body"] }> {
      const options = { headers: { "x-api-key": key }, signal: AbortSignal.timeout(COMMAND_MS) };
      const response = await fetch(`http://127.0.0.1:${port}/v1/tasks`, options);
      return { status: response.status, body: await response.json() };
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
      await control.close();
    },
  };
}

test("rotation, and what is revoked is refused within a minute", async () => {
  await using api = await openOnManualClock();
  await done("tenant", "create", "rotates", "--name", 'It\'s "Rotating" 😀');
  const make = () => done("key", "create", "rotates");
  const [old, fresh] = [await make(), await make()];
  await refused(["key", "create", "rotates"], 1, /2 live keys with the scopes read,write \(key_/);
  for (const { secret } of [old, fresh]) {
    const { status, body } = await api.get(secret);
    assert.deepEqual([status, body.tenantId, body.scopes], [200, "rotates", ["read", "write"]]);
  }
  const revoked = await done("key", "revoke", old.id);
  assert.match(revoked.revokedAt, /Z$/);
  assert.equal((await done("key", "revoke", old.id)).revokedAt, revoked.revokedAt);
  await api.clock.advance(30_000);
  assert.equal((await api.get(old.secret)).status, 401);
  assert.equal((await api.get(fresh.secret)).status, 200);
  assert.equal((await make()).id.length, "key_".length + 16);
  const { items } = await done("key", "list", "rotates");
  assert.deepEqual([items.length, items[2].id], [3, old.id]);
});

test("a disabled tenant is refused within a minute, an enabled one served again", async () => {
  await using api = await openOnManualClock();
  await done("tenant", "create", "pauses");
  const { secret } = await done("key", "create", "pauses", "--scopes", "read");
  assert.equal((await api.get(secret)).status, 200);
  assert.equal((await done("tenant", "disable", "pauses")).status, "disabled");
  await api.clock.advance(30_000);
  const answer = await api.get(secret);
  assert.equal(answer.status, 403);
  assert.match(answer.body.detail, /tenant pauses is disabled/);
  await done("tenant", "enable", "pauses");
  await api.clock.advance(30_000);
  assert.equal((await api.get(secret)).status, 200);
});

test("quotas reach the handlers; what is taken back follows the default", async () => {
  await using api = await openOnManualClock();
  await done("tenant", "create", "limited");
  const { secret } = await done("key", "create", "limited");
  const set = ["--tasks", "5", "--body-bytes", "1000", "--min-interval", "60"];
  const { quotas } = await done("tenant", "quotas", "limited", ...set);
  assert.deepEqual(quotas, { tasksMax: 5, bodyBytesMax: 1_000, minIntervalSeconds: 60 });
  assert.deepEqual((await api.get(secret)).body.quotas, quotas);
  const after = await done("tenant", "quotas", "limited", "--body-bytes", "default");
  assert.deepEqual(after.quotas, { ...quotas, bodyBytesMax: null });
  await api.clock.advance(30_000);
  assert.deepEqual((await api.get(secret)).body.quotas, after.effectiveQuotas);
  assert.equal(after.effectiveQuotas.bodyBytesMax, 262_144);
  assert.deepEqual((await done("tenant", "quotas", "limited")).quotas, after.quotas);
  await refused(["tenant", "quotas", "limited", "--tasks=-1"], 1, /--tasks has to be a whole/);
  await refused(["tenant", "quotas", "limited", "--min-interval", "0"], 1, /from 1 to 31622400/);
});

test("an operator caps calls of an endpoint, of a tenant, and of each endpoint; the tenant sees it", async () => {
  await done("tenant", "create", "capped");
  const { secret } = await done("key", "create", "capped");
  const endpoint = "https://api.example.com";
  const set = (...args: string[]) => done("limits", "set", "capped", ...args);
  const capped = await set("--endpoint", endpoint, "--concurrency", "5", "--per-second", "0.5");
  assert.deepEqual(
    [capped.endpoint, capped.maxConcurrency, capped.maxPerSecond, capped.concurrency],
    [endpoint, 5, 0.5, null],
  );
  assert.equal((await set("--per-second", "100")).endpoint, null);
  const client = openClient(url, secret);
  const put = await client("PUT", "/v1/limits", { endpoint, concurrency: 9 });
  assert.deepEqual([put.body.concurrency, put.body.maxConcurrency], [9, 5]);
  const { items } = await done("limits", "list", "capped");
  assert.deepEqual(items, (await client("GET", "/v1/limits")).body.items);
  assert.deepEqual(
    items.map((item: { endpoint: string | null }) => item.endpoint),
    [null, endpoint],
  );
  assert.equal(await set("--per-second", "none"), null);
  const each = await done("limits", "endpoints", "capped", "--concurrency", "2");
  assert.deepEqual(each, { concurrency: 2, perSecond: null });
  assert.deepEqual(await done("limits", "endpoints", "capped"), each);
  const told = await admin(["limits", "endpoints", "capped"]);
  assert.equal(told.stdout, "each endpoint of capped: 2 at once\n");
  const newcomer = openClient(url, (await done("key", "create", "capped")).secret);
  await newcomer("POST", "/v1/tasks", { ...TASK, request: { url: "http://[::1]:8080/hook" } });
  const [first] = (await client("GET", "/v1/limits")).body.items;
  assert.deepEqual([first.endpoint, first.maxConcurrency], ["http://[::1]:8080", 2]);
  await refused(["limits", "set", "capped", "--concurrency", "0"], 1, /from 1 to 1000 or 'none'/);
  await refused(["limits", "set", "capped", "--per-second", "1e3"], 1, /from 0.01 to 1000/);
  await refused(["limits", "set", "capped"], 1, /give --concurrency, --per-second or both/);
  const path = ["--endpoint", `${endpoint}/path`, "--concurrency", "1"];
  await refused(["limits", "set", "capped", ...path], 1, /scheme, host and port/);
  await refused(["limits", "list", "nobody"], 1, /there is no tenant 'nobody'/);
});

test("IAM principals are mapped, listed and unmapped", async () => {
  await done("tenant", "create", "iam");
  const session = "arn:aws:sts::123456789012:assumed-role/Caller/i-0abc";
  const arn = "arn:aws:iam::123456789012:role/Caller";
  const mapped = await done("principal", "map", session, "iam", "--scopes", "read");
  assert.deepEqual([mapped.arn, mapped.tenantId, mapped.scopes], [arn, "iam", ["read"]]);
  await refused(["principal", "map", arn, "other"], 1, /acts for tenant iam already/);
  assert.deepEqual((await done("principal", "list")).items, [mapped]);
  assert.deepEqual(await done("principal", "unmap", arn), { arn });
  assert.deepEqual((await done("principal", "list")).items, []);
  await refused(["principal", "unmap", arn], 1, /acts for no tenant/);
  await refused(["principal", "map", "arn:aws:iam::1:role/*", "iam"], 1, /is no role's or user's/);
});

test("a person is told what happened, and a secret exactly once", async () => {
  const created = await admin(["tenant", "create", "told"]);
  assert.deepEqual([created.code, created.stderr], [0, ""]);
  assert.match(created.stdout, /^tenant told is made; next: npm run admin -- key create told\n$/);
  const { stdout } = await admin(["key", "create", "told"]);
  const [first, secret = "", last] = stdout.split("\n");
  assert.match(first ?? "", /^key_[0-9a-f]{16} of told may read, write; .*x-api-key$/);
  assert.match(secret, /^atcron_[0-9a-z]{52}$/);
  assert.match(last ?? "", /shown only now/);
  assert.equal((await openClient(url, secret)("GET", "/v1/tasks")).status, 200);
  const lists = await Promise.all([
    admin(["key", "list", "told"]),
    admin(["key", "list", "told", "--json"]),
    admin(["tenant", "list"]),
    admin(["key", "revoke", secret]),
  ]);
  for (const { stdout, stderr } of lists) {
    assert.ok(!`${stdout}${stderr}`.includes(secret));
    assert.ok(!`${stdout}${stderr}`.includes(systemDigest.sha256Hex(secret)));
  }
  assert.match(lists[0]?.stdout ?? "", /^KEY +SCOPES +CREATED +REVOKED\nkey_/);
  assert.ok(gateway.lines.every((line) => !line.includes("atcron_")));
});

test("mistakes are one line: 1 for what is refused, 2 for the command line", async () => {
  await refused(["tenant", "create", "acme"], 1, /tenant acme exists already/);
  await refused(["tenant", "create", "Acme"], 1, /a-z, 0-9/);
  await refused(["key", "create", "nobody"], 1, /there is no tenant 'nobody'/);
  await refused(["key", "create", "acme", "--scopes", "all"], 1, /read,write,admin/);
  await refused(["key", "revoke", "key_0123456789abcdef"], 1, /there is no key/);
  await refused(["tenant", "create"], 2, /tenant create TENANT \[--name NAME\]/);
  await refused(["tenant", "list", "--bogus"], 2, /Unknown option '--bogus'/);
  await refused(["tenant", "frobnicate"], 2, /there is no command/);
  const help = await admin(["--help"], { MYSQL_URL: "" });
  assert.equal(help.code, 0);
  assert.match(help.stdout, /key create +TENANT \[--scopes SCOPES\]/);
});

test("without a URL it is the system that runs here", async () => {
  const localDir = mkdtempSync(join(tmpdir(), "access-"));
  const supervisor = identify(process.pid, "");
  assert.ok(supervisor);
  const mysql = { url: databases.mysqlUrl, kind: "given", dir: localDir, process: null } as const;
  const rest = { state: "ready", api: url, key: "", cassandra: null, processes: [] } as const;
  try {
    writeRun(localDir, { ...rest, supervisor, mysql, processes: [], restarting: [] });
    const env = { MYSQL_URL: "", LOCAL_DIR: localDir };
    assert.match((await admin(["tenant", "list"], env)).stdout, /^acme +active /m);
    // What is left of a run that was killed names a database that may be another's by now.
    const dead = { ...supervisor, startTicks: "1" };
    writeRun(localDir, { ...rest, supervisor: dead, mysql, processes: [], restarting: [] });
    await refused(["tenant", "list"], 1, /which database\?/, env);
  } finally {
    rmSync(localDir, { recursive: true });
  }
});

test("a database that is away, not named, not migrated, or not ours is one line", async () => {
  const localDir = mkdtempSync(join(tmpdir(), "access-"));
  const list = ["tenant", "list"];
  await refused(list, 1, /which database\?/, { MYSQL_URL: "", LOCAL_DIR: localDir });
  rmSync(localDir, { recursive: true });
  const away = "mysql://root:hunter2@127.0.0.1:9";
  await refused(list, 1, /^(?!.*hunter2).*ECONNREFUSED.*127\.0\.0\.1:9.*nothing was done/, {
    MYSQL_URL: away,
  });
  await refused([...list, "--mysql-url", "http://hunter2"], 1, /^(?!.*hunter2).*mysql:\/\//);
  await refused(list, 1, /run the migrations/, { DATABASE_PREFIX: "nothing_here_" });
  await refused(list, 1, /DATABASE_PREFIX/, { DATABASE_PREFIX: "x`y" });
});
