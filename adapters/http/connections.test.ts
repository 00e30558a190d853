/** How many connections calls open that are under way at the same time, and what they wait for. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { systemClock } from "#adapters/system/clock.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { CallOutcome } from "#core/ports/caller.ts";
import { ManualClock, settle } from "#test/support/manual-clock.ts";
import { openCaller } from "./caller.ts";
import type { Connection } from "./connection.ts";
import { Connections } from "./connections.ts";
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

function call(path: string, tenant: string, opensAtOnce = false): Promise<CallOutcome> {
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
      opensAtOnce,
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

/** Connections as the calls of one key see them, with time moved by hand. */
function openConnections() {
  const clock = new ManualClock();
  const all = new Connections(2, clock);
  const open = (isReady = true): Connection => {
    const connection = { key: "a x", isReady: () => isReady, destroy() {}, onGone() {} };
    return connection as unknown as Connection;
  };
  const ask = (): { got: Connection | null | "waits" } => {
    const answer: { got: Connection | null | "waits" } = { got: "waits" };
    const taken = all.take("a x");
    if (taken instanceof Promise) void taken.then((got) => (answer.got = got));
    else answer.got = taken;
    return answer;
  };
  return { clock, all, open, ask };
}

const are = (asked: readonly { got: unknown }[], what: unknown) =>
  asked.filter(({ got }) => got === what).length;

test("a burst of one tenant waits for the connections in use, four calls for each, and gets them in turn", async () => {
  const { all, open, ask } = openConnections();
  const asked = Array.from({ length: 15 }, ask);
  assert.deepEqual([are(asked, null), are(asked, "waits")], [3, 12]);
  for (let i = 0; i < 12; i++) all.put(open(), 1);
  await settle();
  assert.equal(are(asked, "waits"), 0);
  assert.equal(are(asked, null), 3);
  for (let i = 0; i < 3; i++) all.put(open(), 1);
  assert.equal(all.size, 2, "so many are kept");
});

test("a burst waits likewise after calls that were short", () => {
  const { all, open, ask } = openConnections();
  for (let i = 0; i < 2; i++) assert.equal(all.take("a x", false), null);
  all.put(open(), 2);
  assert.notEqual(ask().got, "waits", "one is idle");
  assert.equal(are(Array.from({ length: 9 }, ask), "waits"), 8);
});

test("how long calls took is known while one is under way, and forgotten with the last", () => {
  const { all, open, ask } = openConnections();
  for (let i = 0; i < 3; i++) assert.equal(all.take("a x", false), null);
  all.put(open(), 100);
  assert.notEqual(ask().got, null, "one is idle");
  assert.equal(ask().got, null, "two of such calls are under way");
  for (let i = 0; i < 4; i++) all.drop("a x");
  assert.equal(ask().got, null);
  assert.equal(ask().got, "waits");
});

test("what comes back after the end is closed", () => {
  const { all, open, ask } = openConnections();
  assert.equal(ask().got, null);
  let destroyed = 0;
  all.close();
  all.put(Object.assign(open(), { destroy: () => destroyed++ }), 1);
  assert.deepEqual([all.size, destroyed], [0, 1]);
});

test("a call that has waited 20 ms opens a connection, as does one in whose place another has gone", async () => {
  const { clock, all, ask } = openConnections();
  const [first, second, third] = [ask(), ask(), ask()];
  assert.deepEqual([first.got, second.got, third.got], [null, "waits", "waits"]);
  all.drop("a x");
  await settle();
  assert.deepEqual([second.got, third.got], [null, "waits"]);
  await clock.advance(19);
  assert.equal(third.got, "waits");
  await clock.advance(1);
  assert.equal(third.got, null);
});

test("a call whose slot is worth more than a connection opens one beside those in use", () => {
  const { all, open } = openConnections();
  assert.equal(all.take("a x", false), null);
  assert.equal(all.take("a x", false), null);
  const kept = open();
  all.put(kept, 1);
  assert.equal(all.take("a x", false), kept);
});

test("one is opened ahead where there is none, and no more than half of what is kept", () => {
  const { all, open } = openConnections();
  assert.equal(all.lacks("a x"), true);
  assert.equal(all.take("a x"), null);
  assert.equal(all.lacks("a x"), false, "one is in use");
  assert.equal(all.lacks("a y"), true);
  all.put(open(), 1);
  assert.equal(all.lacks("a x"), false, "one is idle");
  assert.equal(all.lacks("a y"), false, "half of what is kept is there");
  assert.notEqual(all.take("a x"), null);
  all.drop("a x");
  assert.equal(all.lacks("a x"), true, "it was taken and is gone");
  const closed = openConnections().all;
  closed.close();
  assert.equal(closed.lacks("a x"), false);
});

test("an idle connection that has had its time is closed within a second, whenever it was put back", async () => {
  const { clock, all } = openConnections();
  for (const untilMs of [2_500, 6_500]) {
    const idle = {
      key: "a x",
      isReady: () => clock.monotonicMs() < untilMs,
      destroy: () => idle.onGone(idle as unknown as Connection),
      onGone: (_: Connection) => {},
    };
    assert.equal(all.take("a x"), null);
    all.put(idle as unknown as Connection, 1);
    await clock.advance(untilMs - clock.monotonicMs() - 1);
    assert.equal(all.size, 1);
    await clock.advance(1_001);
    assert.equal(all.size, 0);
    assert.equal(all.lacks("a x"), true, "nothing of it is left");
  }
});

test("calls that open at once have a connection each", async () => {
  const limited = () => Promise.all(Array.from({ length: 5 }, () => call("/", "limited", true)));
  assert.equal(await opened(limited), 5);
});

test("nobody waits where calls take longer, or take their connection with them", () => {
  for (const [isReady, tookMs] of [
    [true, 21],
    [false, 1],
  ] as const) {
    const { all, open, ask } = openConnections();
    const first = Array.from({ length: 5 }, ask);
    assert.equal(are(first, "waits"), 4);
    all.put(open(isReady), tookMs);
    assert.equal(ask().got, null);
  }
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

test("a connection that is opened ahead serves the first call; where one is idle, none is opened", async () => {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  const prepare = () => caller.prepare?.("ahead" as TenantId, url);
  const arrived = once(server, "connection");
  assert.equal(
    await opened(async () => {
      for (let i = 0; i < 5; i++) prepare();
      await arrived;
    }),
    1,
  );
  const outcome = await call("/", "ahead");
  assert.partialDeepStrictEqual(outcome, { kind: "answered" });
  assert.equal(outcome.timings?.connectMs, null);
  prepare();
  for (const bad of ["nothing", "http://127.0.0.1:1/", "ftp://a.test/"])
    caller.prepare?.("ahead" as TenantId, bad);
  assert.equal(await opened(() => call("/", "ahead")), 0);
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
