/** Endpoints and name servers that never finish: a call ends at its timeout, nothing of it stays, and nobody else waits. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttp } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createEgressPolicy } from "#adapters/http/egress-policy.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { endOf, openTestCaller, type TestCaller } from "./call.ts";
import { type DnsServer, openDnsServer } from "./dns-server.ts";

const TIMEOUT_MS = 700;
const BAD_TIMEOUT_MS = 3_000;
/** Between the end of a call and that of a timer as long as its timeout: what stalls this process delays both. */
const TOLERANCE_MS = 200;
const TRICKLE_MS = 30;
const BAD_TARGETS = 50;
const GOOD_CALLS = 1_000;
const GOOD_AT_ONCE = 20;
const ROUNDS = 2;

type Fault = "body" | "header" | "handshake" | "nameServer";
const FAULTS: readonly Fault[] = ["body", "header", "handshake", "nameServer"];

/** Sends one byte after the other, for ever; `start` first. */
function trickle(socket: Socket, start: string): void {
  socket.write(start);
  const timer = setInterval(() => socket.write("x"), TRICKLE_MS);
  socket.once("close", () => clearInterval(timer));
}

const behaviours: Record<Exclude<Fault, "nameServer">, (socket: Socket) => void> = {
  body: (socket) => trickle(socket, "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"),
  header: (socket) => trickle(socket, "HTTP/1.1 200 OK\r\nx-long: "),
  handshake: () => {},
};

const servers: Server[] = [];
const openSockets = new Set<Socket>();
const ports = new Map<Fault, number>([["nameServer", 80]]);
let goodPort = 0;
let dns: DnsServer;
let own: TestCaller;

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1", 4_096);
  await once(server, "listening");
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

before(async () => {
  for (const [fault, behave] of Object.entries(behaviours)) {
    const server = createServer((socket) => {
      openSockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => openSockets.delete(socket));
      socket.resume();
      behave(socket);
    });
    ports.set(fault as Fault, await listen(server));
  }
  goodPort = await listen(
    createHttp((request, response) => void request.resume().on("end", () => response.end("ok"))),
  );
  dns = await openDnsServer((name, nth) =>
    name.endsWith("nameserver.test") || (name === "late.test" && nth === 0)
      ? "hang"
      : { addresses: ["127.0.0.1"], ttlSeconds: 0 },
  );
  const policy = createEgressPolicy({ allow: "127.0.0.0/8:*" });
  own = openTestCaller({ policy, nameServers: [dns.address] });
});

after(async () => {
  await own.caller.close();
  await dns.close();
  for (const server of servers) server.close();
});

function urlOf(fault: Fault, host: string): string {
  const scheme = fault === "handshake" ? "https" : "http";
  return `${scheme}://${host}.${fault}.test:${ports.get(fault)}/`.toLowerCase();
}

/** How long a timer of `ms` takes in this process. */
async function timerMs(ms: number): Promise<number> {
  const startMs = performance.now();
  await sleep(ms);
  return performance.now() - startMs;
}

/** Resolves when the endpoints have no connection left. */
async function allClosed(): Promise<void> {
  const closes = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));
  await Promise.all([...openSockets].map(closes));
}

for (const fault of FAULTS)
  test(`${fault}: the attempt ends at its timeout, and its socket with it`, async () => {
    const timer = timerMs(TIMEOUT_MS);
    const startMs = performance.now();
    const outcome = await own.call(urlOf(fault, "one"), { timeoutMs: TIMEOUT_MS });
    const tookMs = performance.now() - startMs;
    assert.equal(endOf(outcome), "timeout");
    await allClosed();
    const goneMs = performance.now() - startMs;
    const dueMs = await timer;
    assert.ok(Math.abs(tookMs - dueMs) <= TOLERANCE_MS, `ended after ${tookMs} ms`);
    assert.ok(goneMs - dueMs <= TOLERANCE_MS, `the socket was gone after ${goneMs} ms`);
  });

test("a caller that gives up on a name leaves its query to the others", async () => {
  const url = `http://late.test:${goodPort}/`;
  const [first, second] = [own.call(url, { timeoutMs: 50 }), own.call(url)];
  assert.equal(endOf(await first), "timeout");
  assert.equal(endOf(await second), 200);
});

/** Calls the good endpoint under 20 names, no answer of which is kept, each new connection asking again; ms each took. */
async function callGood(): Promise<number[]> {
  const took: number[] = [];
  let next = 0;
  const worker = async () => {
    while (next < GOOD_CALLS) {
      const index = next++;
      const startMs = performance.now();
      const path = index % 5 === 0 ? "close" : "keep";
      const outcome = await own.call(`http://good-${index % 20}.test:${goodPort}/${path}`, {
        tenantId: `good-${index % 10}` as TenantId,
        headers: path === "close" ? { connection: "close" } : {},
      });
      assert.equal(endOf(outcome), 200);
      took.push(performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: GOOD_AT_ONCE }, worker));
  return took;
}

const percentile = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;

test(`${BAD_TARGETS} such targets do not delay ${GOOD_CALLS} good calls of other tenants`, async (t) => {
  await callGood();
  const p99: { alone: number[]; beside: number[] } = { alone: [], beside: [] };
  for (let round = 0; round < ROUNDS; round++) {
    p99.alone.push(percentile(await callGood(), 0.99));
    const timer = timerMs(BAD_TIMEOUT_MS);
    const bad = Array.from({ length: BAD_TARGETS }, (_, index) => {
      const fault = FAULTS[index % FAULTS.length] ?? "body";
      return own.call(urlOf(fault, `bad-${round}-${index}`), {
        tenantId: "bad" as TenantId,
        timeoutMs: BAD_TIMEOUT_MS,
      });
    });
    p99.beside.push(percentile(await callGood(), 0.99));
    const ends = await Promise.all(bad);
    assert.deepEqual(new Set(ends.map(endOf)), new Set(["timeout"]));
    const dueMs = await timer;
    for (const { durationMs } of ends) assert.ok(Math.abs(durationMs - dueMs) <= TOLERANCE_MS);
  }
  await allClosed();
  const [alone, beside] = [Math.min(...p99.alone), Math.min(...p99.beside)];
  t.diagnostic(
    `p99 of good calls: ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside ${BAD_TARGETS} bad targets`,
  );
  // A call that waited for a bad one would have waited for seconds.
  assert.ok(beside <= alone * 3 + 30, `p99 ${alone} ms alone, ${beside} ms beside`);
});
