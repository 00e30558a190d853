/** Who may call: tenants and keys as an operator makes them, against every route of the API, over HTTP and MySQL. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemDigest } from "#adapters/system/digest.ts";
import { ROUTES, type Route } from "#functions/_shared/routes.ts";
import { type ApiAnswer, type ApiClient, openClient } from "#test/support/api-client.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { makeTestDatabases } from "#test/support/mysql.ts";
import { operatorOf } from "#test/support/operator.ts";
import { type OwnGateway, startGateway } from "#test/support/own-gateway.ts";

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
const databases = await makeTestDatabases();
const { admin, done, refused } = operatorOf(databases);
let gateway: OwnGateway;
let url: string;
/** API keys as they were shown, once. */
const keys = { acme: "", other: "", reader: "", writer: "", admin: "" };

before(async () => {
  for (const tenant of ["acme", "other"]) await done("tenant", "create", tenant);
  for (const [name, tenant, scopes] of [
    ["acme", "acme", "read,write"],
    ["other", "other", "admin,write,read"],
    ["reader", "acme", "read"],
    ["writer", "acme", "write"],
    ["admin", "acme", "admin"],
  ] as const)
    keys[name] = (await done("key", "create", tenant, "--scopes", scopes)).secret;
  gateway = await startGateway(databases, { ...history.env, LOG_LEVEL: "info" });
  url = gateway.url;
});

after(async () => {
  gateway.process.signal("SIGTERM");
  await gateway.process.ended(15_000);
  await gateway[Symbol.asyncDispose]();
  await databases.drop();
});

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
  const defaults = await done("limits", "defaults", "--concurrency", "7", "--per-second", "30");
  assert.deepEqual(defaults, { concurrency: 7, perSecond: 30 });
  const both = await admin(["limits", "endpoints", "capped"]);
  assert.equal(both.stdout, "each endpoint of capped: 2 at once, 30 a second (the default)\n");
  await done("tenant", "create", "uncapped");
  const other = openClient(url, (await done("key", "create", "uncapped")).secret);
  await other("POST", "/v1/tasks", { ...TASK, request: { url: "http://[::1]:8080/hook" } });
  const [byDefault] = (await other("GET", "/v1/limits")).body.items;
  assert.deepEqual([byDefault.maxConcurrency, byDefault.maxPerSecond], [7, 30]);
  await done("limits", "defaults", "--concurrency", "none", "--per-second", "none");
  const taken = await admin(["limits", "defaults"]);
  assert.match(taken.stdout, /without a number of its own: no limit\n$/);
  await refused(["limits", "set", "capped", "--concurrency", "0"], 1, /from 1 to 1000, or 'none'/);
  await refused(["limits", "set", "capped", "--per-second", "1e3"], 1, /from 0.01 to 1000/);
  await refused(["limits", "set", "capped"], 1, /give --concurrency, --per-second or both/);
  const path = ["--endpoint", `${endpoint}/path`, "--concurrency", "1"];
  await refused(["limits", "set", "capped", ...path], 1, /scheme, host and port/);
  await refused(["limits", "list", "nobody"], 1, /there is no tenant 'nobody'/);
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
  assert.ok(gateway.process.lines.every((line) => !line.includes("atcron_")));
});
