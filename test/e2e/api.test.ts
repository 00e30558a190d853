/** The API as production runs it: the gateway as a process of its own, real HTTP, a real MySQL. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, before, test } from "node:test";
import { type ApiAnswer, type ApiClient, openClient } from "#test/support/api-client.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import {
  type MysqlProxy,
  makeTestDatabases,
  openProxyOf,
  type TestDatabases,
} from "#test/support/mysql.ts";
import { addTenant, type OwnGateway, startGateway } from "#test/support/own-gateway.ts";
import { startProcess } from "#test/support/worker-process.ts";

const UP_MS = 20_000;
/** A request's own 10 s, and what a loaded machine adds to them. */
const ANSWERED_MS = 13_000;
/** Far ahead, so that no occurrence passes while a test looks at the next one. */
const MINIMAL = {
  schedule: { type: "every", seconds: 366 * 86_400 },
  request: { url: "https://example.com/hook" },
};

const run = randomBytes(5).toString("hex");

const history = await makeTestKeyspace();
let databases: TestDatabases;
let proxy: MysqlProxy;
let gateway: OwnGateway;
let url: string;
let acme: ApiClient;
let otherKey: string;
let readerKey: string;

before(async () => {
  databases = await makeTestDatabases();
  proxy = await openProxyOf(databases.mysqlUrl);
  gateway = await startGateway({ ...databases, mysqlUrl: proxy.mysqlUrl }, history.env);
  url = gateway.url;
  const { key, addKey } = await addTenant(databases, "acme");
  acme = openClient(url, key);
  readerKey = await addKey(["read"]);
  otherKey = (await addTenant(databases, "other")).key;
});

after(async () => {
  gateway.process.signal("SIGTERM");
  const end = await gateway.process.ended(15_000);
  await gateway[Symbol.asyncDispose]();
  await proxy.close();
  await databases.drop();
  assert.deepEqual(end, { code: 0, signal: null });
});

function assertProblem(answer: ApiAnswer, status: number, field?: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
  assert.equal(answer.body.status, status);
  if (field !== undefined) assert.equal(answer.body.errors[0].field, field, answer.text);
}

async function created(fields: object = {}): Promise<ApiAnswer["body"]> {
  const answer = await acme("POST", "/v1/tasks", { ...MINIMAL, ...fields });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

test("health, keys, scopes, and another tenant's task", async () => {
  const health = await openClient(url, null)("GET", "/v1/health");
  assert.deepEqual([health.status, health.body], [200, { status: "ok", database: "ok" }]);
  assertProblem(await openClient(url, null)("GET", "/v1/tasks"), 401);
  assertProblem(await openClient(url, "wrong")("GET", "/v1/tasks"), 401);
  const { id } = await created();
  const reader = openClient(url, readerKey);
  assert.equal((await reader("GET", `/v1/tasks/${id}`)).status, 200);
  assertProblem(await reader("POST", `/v1/tasks/${id}/pause`), 403);
  assertProblem(await openClient(url, otherKey)("GET", `/v1/tasks/${id}`), 404);
  assertProblem(await openClient(url, otherKey)("DELETE", `/v1/tasks/${id}`), 404);
  assertProblem(await acme("GET", "/v1/nothing"), 404);
  assertProblem(await acme("DELETE", "/v1/tasks"), 405);
  assertProblem(await acme("POST", "/v1/tasks", undefined, { raw: "{" }), 400);
});

test("256 KB of emoji come back byte for byte, one byte more is 413", async () => {
  const body = "😀".repeat(65_536);
  const { id } = await created({ request: { ...MINIMAL.request, body } });
  assert.equal((await acme("GET", `/v1/tasks/${id}`)).body.request.body, body);
  const listed = (await acme("GET", "/v1/tasks?limit=200")).body.items;
  const found = listed.find((task: { id: string }) => task.id === id);
  assert.equal(found.request.bodyBytes, 262_144);
  const run = await acme("POST", `/v1/tasks/${id}/run`);
  assert.equal((await acme("GET", `/v1/jobs/${run.body.id}`)).body.request.body, body);
  const more = { ...MINIMAL, request: { ...MINIMAL.request, body: `${body}x` } };
  assertProblem(await acme("POST", "/v1/tasks", more), 413, "request.body");
});

test("a body keeps its bytes, whatever they look like", async () => {
  const body = '\u0000\\\'"%_\r\n\u2028 {"a": 1.0}';
  const headers = { "X-Quote": 'it\'s "é"' };
  const { id } = await created({ request: { ...MINIMAL.request, headers, body } });
  const { request } = (await acme("GET", `/v1/tasks/${id}`)).body;
  assert.deepEqual([request.body, request.headers], [body, headers]);
});

test("the life of a task: create, edit, pause, resume, run, delete", async () => {
  const name = `it's "digest" ${run}`;
  const task = await created({ name, tags: ["nightly"], catchUp: "latest" });
  assertProblem(await acme("POST", "/v1/tasks", { ...MINIMAL, name }), 409);
  const path = `/v1/tasks/${task.id}`;
  assert.deepEqual((await acme("PATCH", path, { name, tags: ["nightly"] })).body, task);
  const patched = await acme("PATCH", path, { request: { url: "https://new.example/" } });
  assert.deepEqual(
    [patched.status, patched.body.version, patched.body.nextRunAt],
    [200, 2, task.nextRunAt],
  );
  const stale = { headers: { "if-match": '"1"' } };
  assertProblem(await acme("PATCH", path, { name: "x" }, stale), 412);
  assert.equal((await acme("POST", `${path}/pause`)).body.status, "paused");
  assert.equal((await acme("POST", `${path}/pause`)).body.version, 3);
  const ran = await acme("POST", `${path}/run`, {
    request: { headers: { "x-a": "b" }, body: "y" },
  });
  assert.equal(ran.status, 202);
  assert.deepEqual(ran.body.request, {
    method: "POST",
    url: "https://new.example/",
    headers: { "x-a": "b" },
    body: "y",
  });
  assert.deepEqual((await acme("GET", `/v1/jobs/${ran.body.id}`)).body, ran.body);
  const resumed = await acme("POST", `${path}/resume`);
  assert.deepEqual(
    [resumed.body.status, resumed.body.nextRunAt, resumed.body.version],
    ["active", task.nextRunAt, 4],
  );
  const listed = await acme("GET", "/v1/tasks?tag=nightly&status=active");
  assert.deepEqual(
    listed.body.items.map(({ id }: { id: string }) => id),
    [task.id],
  );
  assert.equal((await acme("DELETE", path)).status, 204);
  assertProblem(await acme("DELETE", path), 404);
  const { body } = await acme("GET", `/v1/jobs/${ran.body.id}`);
  assert.deepEqual([body.status, body.reason], ["cancelled", "task deleted"]);
  assert.equal((await acme("GET", `${path}/jobs`)).body.items.length, 1);
  const again = await created({ name });
  assert.notEqual(again.id, task.id);
});

test("an `at` in the past runs at once; one that passes while paused never runs", async () => {
  const past = await created({ schedule: { type: "at", at: "2001-01-01T00:00:00Z" } });
  assert.equal(past.nextRunAt, past.createdAt);
  const path = `/v1/tasks/${past.id}`;
  await acme("POST", `${path}/pause`);
  const resumed = await acme("POST", `${path}/resume`);
  assert.deepEqual([resumed.body.status, resumed.body.nextRunAt], ["completed", null]);
  const [job] = (await acme("GET", `${path}/jobs`)).body.items;
  assert.deepEqual([job.status, job.reason, job.missed.count], ["cancelled", "task paused", 1]);
  assertProblem(await acme("POST", `${path}/pause`), 409);
});

test("25 runs in pages of 10; cursors of another list are 400", async () => {
  const { id } = await created();
  for (let i = 0; i < 25; i++) await acme("POST", `/v1/tasks/${id}/run`);
  const list = (query: string) => acme("GET", `/v1/tasks/${id}/jobs?${query}`);
  const seen = new Set<string>();
  const sizes: number[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const { body }: ApiAnswer = await list(`limit=10${cursor === "" ? "" : `&cursor=${cursor}`}`);
    sizes.push(body.items.length);
    for (const item of body.items) seen.add(item.id);
    cursor = body.nextCursor;
  }
  assert.deepEqual([sizes, seen.size], [[10, 10, 5], 25]);
  const { nextCursor } = (await list("limit=10")).body;
  assertProblem(await list(`status=pending&cursor=${nextCursor}`), 400);
  assertProblem(await list(`cursor=${nextCursor.slice(2)}`), 400);
  assertProblem(await acme("GET", `/v1/tasks?cursor=${nextCursor}`), 400);
  const other = await created();
  assertProblem(await acme("GET", `/v1/tasks/${other.id}/jobs?cursor=${nextCursor}`), 400);
});

test("20 clients make a task of the same name at once: one does", async () => {
  const name = `once ${run}`;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => acme("POST", "/v1/tasks", { ...MINIMAL, name })),
  );
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [201, ...Array.from({ length: 19 }, () => 409)]);
});

test("MySQL away: 503 with Retry-After within the deadline, and served again when it is back", async () => {
  const { id } = await created();
  await proxy.refuse(true);
  proxy.resetAll();
  for (const [method, path, body] of [
    ["POST", "/v1/tasks", MINIMAL],
    ["GET", `/v1/tasks/${id}`, undefined],
    ["PATCH", `/v1/tasks/${id}`, { description: "x" }],
    ["GET", "/v1/health", undefined],
  ] as const) {
    const askedMs = performance.now();
    const answer = await acme(method, path, body);
    assertProblem(answer, 503);
    assert.ok(Number(answer.headers.get("retry-after")) > 0);
    assert.ok(performance.now() - askedMs < ANSWERED_MS);
  }
  await proxy.refuse(false);
  assert.equal((await acme("GET", `/v1/tasks/${id}`)).status, 200);
  assert.equal((await acme("GET", "/v1/health")).status, 200);
});

test("MySQL that stands still: 503 inside the request's deadline", async () => {
  proxy.pause();
  const askedMs = performance.now();
  const [health, made] = await Promise.all([
    acme("GET", "/v1/health"),
    acme("POST", "/v1/tasks", MINIMAL),
  ]);
  const tookMs = performance.now() - askedMs;
  proxy.resume();
  assertProblem(health, 503);
  assertProblem(made, 503);
  assert.ok(tookMs < ANSWERED_MS, `${tookMs} ms`);
  proxy.resetAll();
  assert.equal((await acme("GET", "/v1/health")).status, 200);
});

test("configuration that cannot be run with is refused at start, in one line", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const port = String((taken.address() as AddressInfo).port);
  const given = { MYSQL_URL: databases.mysqlUrl, ...history.env };
  for (const [env, expected, code = 2] of [
    [{}, /MYSQL_URL is not set/],
    [{ MYSQL_URL: "http://x" }, /MYSQL_URL must be/],
    [{ ...given, CASSANDRA_CONTACT_POINTS: "" }, /CASSANDRA_CONTACT_POINTS is not set/],
    [{ ...given, CASSANDRA_CONTACT_POINTS: "a b" }, /CASSANDRA_CONTACT_POINTS has to look like/],
    [{ ...given, DATABASE_PREFIX: "x`y" }, /DATABASE_PREFIX/],
    [{ ...given, API_PORT: "http" }, /API_PORT must be a whole number/],
    [{ ...given, API_PROT: "1" }, /API_PROT is not known/],
    [{ ...given, ARCHIVE_AFTER: "1" }, /ARCHIVE_AFTER is not known/],
    [{ ...given, LOG_LEVEL: "loud" }, /LOG_LEVEL must be one of/],
    [{ ...given, API_PORT: port }, /port is taken/, 1],
  ] as const) {
    await using refused = startProcess("local/gateway.ts", env);
    const end = await refused.ended(UP_MS);
    assert.equal(end.code, code);
    assert.equal(refused.lines.length, 1, refused.lines.join("\n"));
    assert.match(refused.lines[0] ?? "", expected);
  }
  taken.close();
});
