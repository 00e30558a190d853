/** How many connections calls open that are under way at the same time, and what they wait for. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { systemClock } from "#adapters/system/clock.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { CallOutcome } from "#core/ports/caller.ts";
import { openCaller } from "./caller.ts";
import { createEgressPolicy } from "./egress-policy.ts";

const logger = { info() {}, warn() {}, error() {} };
const policy = createEgressPolicy({ allow: "127.0.0.0/8:*" });
const stop = new AbortController();
const caller = openCaller({ clock: systemClock, logger, policy });
let connections = 0;
const server = createServer((request, response) => {
  request.resume();
  if (request.url === "/close") response.setHeader("connection", "close");
  if (request.url !== "/hang") response.end("ok");
});
server.on("connection", () => connections++);

before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

after(async () => {
  await caller.close();
  server.close();
  server.closeAllConnections();
});

function call(path: string, tenant: string): Promise<CallOutcome> {
  const { port } = server.address() as AddressInfo;
  return caller.call(
    {
      tenantId: tenant as TenantId,
      method: "POST",
      url: `http://127.0.0.1:${port}${path}`,
      headers: {},
      body: "{}",
      timeoutMs: 10_000,
      responseBytesMax: 100,
    },
    stop.signal,
  );
}

async function opened(calls: () => Promise<unknown>): Promise<number> {
  const before = connections;
  await calls();
  return connections - before;
}

const atOnce = (count: number, path: string, tenant: (i: number) => string) =>
  Promise.all(Array.from({ length: count }, (_, i) => call(path, tenant(i))));

test("a burst of one tenant shares a few connections, as more calls do after it; each tenant has its own", async () => {
  assert.ok((await opened(() => atOnce(60, "/", () => "one"))) < 40);
  assert.equal(await opened(() => atOnce(5, "/", () => "one")), 0);
  assert.equal(await opened(() => atOnce(20, "/", (i) => `tenant-${i}`)), 20);
});

test("where connections do not stay, every call has its own and none is lost", async () => {
  const outcomes = Promise.all([
    atOnce(20, "/close", () => "closes"),
    atOnce(20, "/close", () => "closes"),
  ]);
  assert.equal(await opened(() => outcomes), 40);
  for (const outcome of (await outcomes).flat())
    assert.partialDeepStrictEqual(outcome, { kind: "answered", responseBody: "ok" });
});

test("calls that hang do not hold up another of their tenant", async () => {
  const hanging = atOnce(10, "/hang", () => "hangs");
  const startMs = performance.now();
  assert.equal((await call("/", "hangs")).kind, "answered");
  assert.ok(performance.now() - startMs < 1_000);
  stop.abort();
  for (const outcome of await hanging)
    assert.partialDeepStrictEqual(outcome, { kind: "failed", error: "interrupted" });
});
