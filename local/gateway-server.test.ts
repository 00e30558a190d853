import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { test } from "node:test";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import { OutcomeUnknown, StoreUnavailable } from "#core/domain/errors.ts";
import type { ApiHandler } from "#functions/_shared/create-api.ts";
import { ROUTES } from "#functions/_shared/routes.ts";
import { type ApiAnswer, openClient, openPlainClient } from "#test/support/api-client.ts";
import { openApiInMemory } from "#test/support/api-in-memory.ts";
import { createGateway, GATEWAY_LIMITS, type GatewayLimits } from "./gateway-server.ts";

const MINIMAL = {
  schedule: { type: "every", seconds: 60 },
  request: { url: "https://example.com/hook" },
};

function assertProblem(answer: ApiAnswer, status: number, detail: RegExp = /./): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
  assert.equal(answer.body.status, status);
  assert.match(answer.body.detail, detail);
}

/** A gateway over one handler of the test's own. */
async function openGateway(
  handle: (event: APIGatewayProxyEvent, context: Context) => Promise<unknown>,
  limits: Partial<GatewayLimits> = {},
  monotonicMs?: () => number,
) {
  const handler = handle as unknown as ApiHandler;
  const errors: unknown[] = [];
  const server = createGateway(
    { "tasks-api": handler, "jobs-api": handler },
    (error) => errors.push(error),
    { ...GATEWAY_LIMITS, ...limits },
    monotonicMs,
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    errors,
    call: openPlainClient(`http://127.0.0.1:${port}`, "key"),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const ok = async () => ({ statusCode: 200, headers: { "x-a": "b" }, body: "{}" });

/** Sends bytes as they are and returns all that comes back until the other side ends. */
async function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => {});
  socket.setTimeout(10_000, () => socket.destroy());
  socket.write(bytes);
  await once(socket, "close");
  return Buffer.concat(chunks).toString("latin1");
}

test("every route of the table is reached, and its key is checked", async () => {
  await using api = await openApiInMemory();
  const nobody = openClient(api.url, null);
  const stranger = openClient(api.url, "no such key");
  const reader = api.as("acme", ["read"]);
  const writer = api.as("acme", ["write"]);
  const { id } = (await api.acme("POST", "/v1/tasks", MINIMAL)).body;
  const job = (await api.acme("POST", `/v1/tasks/${id}/run`)).body;
  for (const { method, path, scope } of ROUTES) {
    const real = path.replace("{taskId}", id).replace("{jobId}", job.id);
    const body = method === "POST" || method === "PATCH" ? {} : undefined;
    if (scope === null) {
      assert.equal((await nobody(method, real, body)).status, 200, path);
      continue;
    }
    assertProblem(await nobody(method, real, body), 401);
    assertProblem(await stranger(method, real, body), 401);
    const without = scope === "read" ? writer : reader;
    assertProblem(await without(method, real, body), 403, new RegExp(scope));
    assert.notEqual((await api.as("other")(method, real, body)).status, 500, path);
  }
  assert.equal((await reader("GET", `/v1/tasks/${id}`)).status, 200);
});

test("health needs no key", async () => {
  await using api = await openApiInMemory();
  const { status, body } = await openClient(api.url, null)("GET", "/v1/health");
  assert.deepEqual([status, body], [200, { status: "ok", database: "ok" }]);
});

test("paths and methods that there are not", async () => {
  await using api = await openApiInMemory();
  for (const path of [
    "/",
    "/v1",
    "/v1/tasks/",
    "/v1/tasks/a/b",
    "/v2/tasks",
    "/v1/tasks%2Fa",
    "//",
  ])
    assertProblem(await api.acme("GET", path), 404);
  const answer = await api.acme("PUT", "/v1/tasks", {});
  assertProblem(answer, 405);
  assert.match(answer.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
  assert.equal(answer.headers.get("allow"), "POST, GET");
  assertProblem(await api.acme("OPTIONS", "/v1/tasks/x"), 405);
  const head = await openPlainClient(api.url, "key")("HEAD", "/v1/tasks");
  assert.deepEqual([head.status, head.text], [405, ""]);
});

test("what cannot be decoded is 400", async () => {
  await using api = await openApiInMemory();
  assertProblem(await api.acme("GET", "/v1/tasks/%zz"), 400);
  assertProblem(await api.acme("GET", "/v1/tasks/%ff"), 400);
  assertProblem(await api.acme("GET", "/v1/tasks?limit=%zz"), 400);
});

test("bodies that are no JSON are 400, other types 415", async () => {
  await using api = await openApiInMemory();
  const post = (raw: string | Buffer, type = "application/json") =>
    api.acme("POST", "/v1/tasks", undefined, { raw, headers: { "content-type": type } });
  for (const raw of ["{", "x", "{} {}", '{"a":1,}', "[".repeat(200_000)])
    assertProblem(await post(raw), 400, /JSON/);
  assertProblem(await post(Buffer.from([0x7b, 0xff, 0x7d])), 400, /UTF-8/);
  assertProblem(await post("null"), 422);
  assertProblem(await post("[]"), 422);
  assertProblem(await post(`${"[".repeat(100_000)}${"]".repeat(100_000)}`), 400, /deep/);
  assertProblem(await post("a=1", "application/x-www-form-urlencoded"), 415);
  assertProblem(await post("{}", "application/json; charset=latin1"), 415);
  const json = JSON.stringify(MINIMAL);
  assert.equal((await post(json, "application/json; charset=UTF-8")).status, 201);
  assert.equal((await post(Buffer.from(`\ufeff${json}`))).status, 201, "a byte order mark");
  assert.equal((await post(json, "application/merge-patch+json")).status, 201);
  assertProblem(await api.acme("POST", "/v1/tasks"), 422);
});

test("a store that is away is 503 with Retry-After, and never half an answer", async () => {
  let fault: Error | null = null;
  const fail = async () => {
    if (fault !== null) throw fault;
  };
  await using api = await openApiInMemory({ beforeCommit: fail });
  const { id } = (await api.acme("POST", "/v1/tasks", MINIMAL)).body;
  fault = new StoreUnavailable("connection refused at 10.0.0.1");
  for (const [method, path, body] of [
    ["POST", "/v1/tasks", MINIMAL],
    ["GET", `/v1/tasks/${id}`, undefined],
    ["PATCH", `/v1/tasks/${id}`, { name: "x" }],
    ["DELETE", `/v1/tasks/${id}`, undefined],
    ["GET", "/v1/tasks", undefined],
    ["GET", `/v1/tasks/${id}/jobs`, undefined],
  ] as const) {
    const answer = await api.acme(method, path, body);
    assertProblem(answer, 503);
    assert.equal(answer.headers.get("retry-after"), "2");
    assert.doesNotMatch(answer.text, /10\.0\.0\.1/);
  }
  assertProblem(await openClient(api.url, null)("GET", "/v1/health"), 503, /shard memory/);
  fault = new OutcomeUnknown("commit");
  assertProblem(await api.acme("PATCH", `/v1/tasks/${id}`, { name: "x" }), 503, /or not/);
  fault = new Error("secret");
  const answer = await api.acme("GET", `/v1/tasks/${id}`);
  assertProblem(answer, 500);
  assert.doesNotMatch(answer.text, /secret/);
});

test("a store that never answers is 503 at the request's deadline", async () => {
  let hang = false;
  await using api = await openApiInMemory({
    beforeCommit: () => (hang ? new Promise<void>(() => {}) : Promise.resolve()),
  });
  const { id } = (await api.acme("POST", "/v1/tasks", MINIMAL)).body;
  hang = true;
  const answers = [api.acme("GET", `/v1/tasks/${id}`), api.acme("POST", `/v1/tasks/${id}/pause`)];
  let settled = 0;
  for (const answer of answers) void answer.then(() => settled++);
  // The clock stands still until it is moved: wait for both to be there, which the network decides.
  while (settled < answers.length) await api.clock.advance(1_000);
  assertProblem((await answers[0]) as ApiAnswer, 503, /away or busy/);
  assertProblem((await answers[1]) as ApiAnswer, 503, /or not/);
});

test("the event is the one of API Gateway (REST, v1)", async () => {
  let seen: APIGatewayProxyEvent | undefined;
  let remainingMs = 0;
  await using gateway = await openGateway(async (event, context) => {
    seen = event;
    remainingMs = context.getRemainingTimeInMillis();
    return ok();
  });
  const path = "/v1/tasks/a%20b/jobs?status=dead&status=running&from=a%2Bb+c&empty";
  await gateway.call("GET", path, undefined, { headers: { "X-Thing": "é" } });
  assert.equal(seen?.resource, "/v1/tasks/{taskId}/jobs");
  assert.equal(seen.path, "/v1/tasks/a%20b/jobs");
  assert.deepEqual(seen.pathParameters, { taskId: "a%20b" });
  assert.deepEqual(seen.multiValueQueryStringParameters?.status, ["dead", "running"]);
  assert.equal(seen.queryStringParameters?.status, "running");
  assert.equal(seen.queryStringParameters?.from, "a+b c");
  assert.equal(seen.queryStringParameters?.empty, "");
  assert.equal(seen.headers["x-thing"], "é");
  assert.deepEqual(seen.multiValueHeaders["x-api-key"], ["key"]);
  assert.deepEqual([seen.body, seen.isBase64Encoded], [null, false]);
  assert.match(seen.requestContext.requestId, /^[0-9a-f-]{36}$/);
  assert.ok(remainingMs > 28_000 && remainingMs <= 29_000);
  await gateway.call("POST", "/v1/tasks", undefined, { raw: Buffer.from([0xff, 0]) });
  assert.deepEqual([seen.body, seen.isBase64Encoded], ["/wA=", true]);
});

test("requests beyond 10 MB, or 6 MB as an event, are 413, told or not told beforehand", async () => {
  await using gateway = await openGateway(ok);
  const post = (bytes: number) =>
    gateway.call("POST", "/v1/tasks", undefined, { raw: "x".repeat(bytes) });
  assert.equal((await post(6_000_000)).status, 200);
  assertProblem(await post(6_300_000), 413);
  assertProblem(await post(10 * 1024 * 1024 + 1), 413);
  const chunked = httpRequest({ port: gateway.port, method: "POST", path: "/v1/tasks" });
  for (let i = 0; i < 11; i++) chunked.write("x".repeat(1024 * 1024));
  chunked.end();
  const [response] = await once(chunked, "response");
  assert.equal(response.statusCode, 413);
  response.resume();
});

test("each API key has its rate and burst; who sends more is 429 with Retry-After", async () => {
  let nowMs = 0;
  await using gateway = await openGateway(ok, { ratePerSecond: 0.4, burst: 2 }, () => nowMs);
  const as = (key: string | null) => openPlainClient(`http://127.0.0.1:${gateway.port}`, key);
  const statusOf = async (key: string | null) => (await as(key)("GET", "/v1/tasks")).status;
  assert.deepEqual([await statusOf("key"), await statusOf("key")], [200, 200]);
  const refused = await as("key")("POST", "/v1/tasks", undefined, { raw: "x".repeat(2_000_000) });
  assertProblem(refused, 429, /slow down/);
  assert.equal(refused.headers.get("retry-after"), "3");
  assert.deepEqual([await statusOf("other"), await statusOf("")], [200, 200]);
  assert.deepEqual([await statusOf(null), await statusOf(null)], [200, 429]);
  nowMs += 3_000;
  assert.deepEqual([await statusOf("key"), await statusOf("key")], [200, 429]);
  assertProblem(await as("key")("GET", "/v1/nothing"), 404);
});

test("the request line and the headers have 10,240 bytes at most", async () => {
  await using gateway = await openGateway(ok);
  // What the client sends besides stays below this.
  const slack = 300;
  const get = (bytes: number, path = "/v1/tasks") =>
    gateway.call("GET", path, undefined, { headers: { "x-long": "y".repeat(bytes) } });
  assert.equal((await get(10_240 - slack)).status, 200);
  assertProblem(await get(10_240), 431, /10240 bytes/);
  assertProblem(await get(5_000, `/v1/tasks?tag=${"t".repeat(5_240)}`), 431);
});

test("the handler's event tells which API key the gateway saw", async () => {
  const seen: APIGatewayProxyEvent["requestContext"]["identity"][] = [];
  await using gateway = await openGateway(async ({ requestContext }) => {
    seen.push(requestContext.identity);
    return ok();
  });
  await gateway.call("GET", "/v1/tasks");
  await openPlainClient(`http://127.0.0.1:${gateway.port}`, null)("GET", "/v1/tasks");
  assert.deepEqual(
    seen.map(({ apiKey, apiKeyId, userArn }) => [apiKey, apiKeyId, userArn]),
    [
      ["key", "key_2c70e12b7a0646f9", null],
      [null, null, null],
    ],
  );
});

test("a handler that hangs is 504, one that throws or answers too much 500", async () => {
  await using slow = await openGateway(() => new Promise(() => {}), { invocationMs: 20 });
  assertProblem(await slow.call("GET", "/v1/tasks"), 504);
  await using broken = await openGateway(async () => {
    throw new Error("secret");
  });
  const answer = await broken.call("GET", "/v1/tasks");
  assertProblem(answer, 500);
  assert.doesNotMatch(answer.text, /secret/);
  assert.equal(broken.errors.length, 1);
  const body = "x".repeat(6 * 1024 * 1024 + 1);
  await using large = await openGateway(async () => ({ statusCode: 200, body }));
  assertProblem(await large.call("GET", "/v1/tasks"), 500);
  // As Lambda takes it, each quote is two bytes.
  const quotes = '"'.repeat(3 * 1024 * 1024);
  await using quoted = await openGateway(async () => ({ statusCode: 200, body: quotes }));
  assertProblem(await quoted.call("GET", "/v1/tasks"), 500);
});

test("garbage is answered or cut, and the next request is served", async () => {
  await using gateway = await openGateway(ok, { requestMs: 1_500 });
  const { port } = gateway;
  assert.match(await sendRaw(port, "GARBAGE\r\n\r\n"), /^HTTP\/1\.1 400 .*problem\+json/s);
  assert.match(await sendRaw(port, Buffer.from([0x16, 0x03, 0x01, 0, 1])), /^HTTP\/1\.1 400 /);
  const large = `GET /v1/health HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(20_000)}\r\n\r\n`;
  assert.match(await sendRaw(port, large), /^HTTP\/1\.1 431 /);
  const lying = "POST /v1/tasks HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nfew";
  assert.match(await sendRaw(port, lying), /^HTTP\/1\.1 408 /);
  const twice =
    "POST /v1/tasks HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n";
  assert.match(await sendRaw(port, twice), /^HTTP\/1\.1 400 /);
  const target = "GET http://other/v1/health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
  assert.match(await sendRaw(port, target), /^HTTP\/1\.1 404 /);
  assert.equal((await gateway.call("GET", "/v1/tasks")).status, 200);
});
