import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { after, before, test } from "node:test";
import { systemClock } from "#adapters/system/clock.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { Call } from "#core/ports/caller.ts";
import type { LogFields, Logger } from "#core/ports/logger.ts";
import { openCaller } from "./caller.ts";
import { createEgressPolicy } from "./egress-policy.ts";

const warnings: LogFields[] = [];
const logger: Logger = {
  info() {},
  warn: (_message, fields = {}) => void warnings.push(fields),
  error() {},
};
const caller = openCaller({
  clock: systemClock,
  logger,
  policy: createEgressPolicy({ allow: "127.0.0.0/8:*" }),
});
const never = new AbortController().signal;
const servers: Server[] = [];
let origin = "";
let connections = 0;
const seen: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[] =
  [];

/** Answers by path: what an endpoint may do to us. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { method = "", url = "", headers } = request;
    seen.push({ method, url, headers, body: Buffer.concat(chunks).toString("latin1") });
    if (url === "/redirect") response.writeHead(302, { location: "/never" }).end();
    else if (url === "/busy") response.writeHead(429, { "retry-after": "7" }).end("later");
    else if (url === "/stop") response.writeHead(503, { "Webhook-Stop": ["no", "True"] }).end();
    else if (url === "/hang") response.flushHeaders();
    else if (url === "/trickle") trickle(response);
    else if (url === "/huge") flood(response);
    else if (url === "/emoji") response.end("é".repeat(2_000));
    else response.end("ok");
  });
}

function trickle(response: ServerResponse): void {
  const timer = setInterval(() => response.write("x"), 20);
  response.on("close", () => clearInterval(timer));
}

function flood(response: ServerResponse): void {
  const chunk = Buffer.alloc(65_536, "y");
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", more);
  more();
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

before(async () => {
  const server = createServer(answer);
  server.on("connection", () => connections++);
  origin = await listen(server);
});

after(async () => {
  await caller.close();
  for (const server of servers) server.close();
});

function callTo(url: string, changes: Partial<Call> = {}): Call {
  return {
    tenantId: "acme" as TenantId,
    method: "POST",
    url,
    headers: { "x-kind": "test" },
    body: null,
    timeoutMs: 2_000,
    responseBytesMax: 1_024,
    ...changes,
  };
}

test("an answer brings status, first bytes and duration; method, headers and body arrive as given", async () => {
  const outcome = await caller.call(
    callTo(`${origin}/x?y=1`, { method: "PUT", body: new Uint8Array([0, 255, 10]) }),
    never,
  );
  assert.equal(outcome.kind, "answered");
  assert.partialDeepStrictEqual(outcome, {
    statusCode: 200,
    responseBody: "ok",
    retryAfterMs: null,
  });
  assert.partialDeepStrictEqual(seen.at(-1), {
    method: "PUT",
    url: "/x?y=1",
    body: "\u0000\u00ff\n",
  });
  assert.equal(seen.at(-1)?.headers["x-kind"], "test");
});

test("an answer says whether it asks for no further call", async () => {
  for (const [path, stop] of [
    ["/stop", true],
    ["/busy", false],
  ] as const)
    assert.partialDeepStrictEqual(await caller.call(callTo(`${origin}${path}`), never), { stop });
});

test("a redirect is an answer, never followed", async () => {
  const outcome = await caller.call(callTo(`${origin}/redirect`), never);
  assert.partialDeepStrictEqual(outcome, { kind: "answered", statusCode: 302 });
  assert.ok(!seen.some(({ url }) => url === "/never"));
});

test("Retry-After is read", async () => {
  const outcome = await caller.call(callTo(`${origin}/busy`), never);
  assert.partialDeepStrictEqual(outcome, { statusCode: 429, retryAfterMs: 7_000 });
});

test("one deadline covers a hanging body and one that trickles", async () => {
  for (const path of ["/hang", "/trickle"]) {
    const startMs = performance.now();
    const outcome = await caller.call(callTo(origin + path, { timeoutMs: 300 }), never);
    const tookMs = performance.now() - startMs;
    assert.partialDeepStrictEqual(outcome, { kind: "failed", error: "timeout" });
    assert.ok(tookMs >= 290 && tookMs < 800, `${path} took ${tookMs} ms`);
  }
});

test("an answer that came in time is read, also where the process stood still past the timeout", async () => {
  const still = new Int32Array(new SharedArrayBuffer(4));
  const url = await listen(
    createTcpServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        Atomics.wait(still, 0, 0, 600);
      });
    }),
  );
  const outcome = await caller.call(callTo(url, { timeoutMs: 500 }), never);
  assert.partialDeepStrictEqual(outcome, { kind: "answered", statusCode: 200, responseBody: "ok" });
  assert.ok(outcome.durationMs >= 550, `${outcome.durationMs} ms: it did not stand still`);
});

test("an endless response is cut at the bytes kept, and the call ends", async () => {
  const outcome = await caller.call(callTo(`${origin}/huge`), never);
  assert.equal(outcome.kind, "answered");
  assert.equal(outcome.kind === "answered" && outcome.responseBody.length, 1_024);
});

test("a longer response than is kept is drained, so that its connection serves the next call", async () => {
  await caller.call(callTo(`${origin}/emoji`), never);
  const before = connections;
  for (let i = 0; i < 10; i++) await caller.call(callTo(`${origin}/emoji`), never);
  // A call that begins while the last one's connection is being released may open a second one.
  assert.ok(connections - before <= 1, `${connections - before} new connections`);
});

test("the signal ends a call as interrupted, before it begins too", async () => {
  const stop = new AbortController();
  const pending = caller.call(callTo(`${origin}/hang`), stop.signal);
  setImmediate(() => stop.abort());
  assert.partialDeepStrictEqual(await pending, { kind: "failed", error: "interrupted" });
  const late = await caller.call(callTo(`${origin}/hang`), stop.signal);
  assert.partialDeepStrictEqual(late, { kind: "failed", error: "interrupted" });
});

test("what cannot be reached or is not HTTP has a stable code", async () => {
  const cut = await listen(
    createTcpServer((socket) => void socket.once("data", () => socket.resetAndDestroy())),
  );
  const noise = await listen(
    createTcpServer((socket) => void socket.once("data", () => socket.end("what?\r\n\r\n"))),
  );
  const closed = await listen(createTcpServer());
  await new Promise((resolve) => servers.pop()?.close(resolve));
  const codes = [];
  for (const url of [
    closed,
    cut,
    noise,
    "http://no-such-host.invalid/",
    "http://127.0.0.1:99999/",
  ]) {
    const outcome = await caller.call(callTo(url), never);
    codes.push(outcome.kind === "failed" ? outcome.error : outcome.statusCode);
  }
  assert.deepEqual(codes, [
    "connection-refused",
    "connection-reset",
    "protocol",
    "dns",
    "request-invalid",
  ]);
});

test("no server picks the group of a Diffie-Hellman exchange, which may cost a second of our one thread", async () => {
  const { promise: hello, resolve } = Promise.withResolvers<Buffer>();
  const url = await listen(
    createTcpServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (bytes: Buffer) => {
        resolve(bytes);
        socket.destroy();
      });
    }),
  );
  await caller.call(callTo(url.replace("http", "https")), never);
  const offered = ciphersOf(await hello);
  for (const cipher of ["1301", "c02f", "c030"]) assert.ok(offered.includes(cipher), `${offered}`);
  assert.deepEqual(
    offered.filter((cipher) => EPHEMERAL_DH.includes(cipher)),
    [],
  );
});

/** What OpenSSL has of kDHE, with RSA and DSA. */
const EPHEMERAL_DH = [
  ...["0033", "0039", "0067", "006b", "009e", "009f", "ccaa", "0045", "0088", "00be", "00c4"],
  ...["c09e", "c09f", "c0a2", "c0a3", "c052", "c053"],
  ...["0032", "0038", "0040", "006a", "00a2", "00a3", "c056", "c057"],
];

/** In hexadecimal, of a ClientHello in one record. */
function ciphersOf(hello: Buffer): readonly string[] {
  const session = 5 + 4 + 2 + 32;
  const start = session + 1 + (hello[session] ?? 0) + 2;
  const end = start + hello.readUInt16BE(start - 2);
  return hello.toString("hex", start, end).match(/.{4}/g) ?? [];
}

test("what a call took is told part by part; of an address nothing was looked up", async () => {
  const own = openCaller({
    clock: systemClock,
    logger,
    policy: createEgressPolicy({ allow: "127.0.0.0/8:*" }),
    resolve: async () => ["127.0.0.1"],
  });
  const { port } = new URL(origin);
  for (const [host, isName] of [
    ["name.test", true],
    ["127.0.0.1", false],
  ] as const) {
    const outcome = await own.call(
      {
        tenantId: "acme" as TenantId,
        method: "POST",
        url: `http://${host}:${port}/`,
        headers: {},
        body: null,
        timeoutMs: 5_000,
        responseBytesMax: 100,
      },
      never,
    );
    const { timings, durationMs } = outcome;
    assert.ok(timings);
    const { dnsMs, connectMs, tlsMs, firstByteMs, totalMs } = timings;
    assert.equal(tlsMs, null);
    assert.equal(dnsMs !== null, isName);
    const parts = [dnsMs ?? 0, connectMs ?? Number.NaN, firstByteMs ?? Number.NaN];
    const sumMs = parts.reduce((sum, part) => sum + part);
    assert.ok(parts.every((part) => part >= 0) && sumMs <= totalMs, `${parts} of ${totalMs}`);
    assert.equal(durationMs, Math.round(totalMs));
  }
  await own.close();
});
