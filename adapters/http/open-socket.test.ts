/** Each of the guard's checks alone, and the guard without each of them. 127.0.0.1 plays the public address, 127.0.0.2 the private one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, Socket } from "node:net";
import { after, before, test } from "node:test";
import { endOf, openTestCaller } from "#test/egress/call.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import type { CallerOptions } from "./caller.ts";
import { createEgressPolicy } from "./egress-policy.ts";
import type { Checks } from "./open-socket.ts";

const PUBLIC = "127.0.0.1";
const PRIVATE = "127.0.0.2";
const policy = createEgressPolicy({ allow: `${PUBLIC}/32:*`, deny: "denied.test" });
const open = () => null;
const LAYERS = ["literal", "answer", "dialled", "peer"] as const;
type Layer = (typeof LAYERS)[number];

/** What only that check can see, and what reaches the private address when it is the only one that looks. */
const attacks: Record<
  Layer,
  { host: string; parts: (port: number) => Partial<CallerOptions>; connections: number }
> = {
  literal: { host: PRIVATE, parts: () => ({}), connections: 0 },
  answer: {
    host: "mixed.test",
    parts: () => ({ resolve: async () => [PUBLIC, PRIVATE] }),
    connections: 0,
  },
  // An answer that is another one when it is used.
  dialled: {
    host: "changes.test",
    parts: () => ({ resolve: async () => answerThatChanges() }),
    connections: 0,
  },
  // A network that leads somewhere else than to the address dialled.
  peer: {
    host: PUBLIC,
    parts: (port) => ({ dial: () => connect({ host: PRIVATE, port }) }),
    connections: 1,
  },
};

const inside: Socket[] = [];
const servers: Server[] = [];
let port = 0;

before(async () => {
  for (const address of [PUBLIC, PRIVATE]) {
    const server = createServer((socket) => {
      if (address === PRIVATE) inside.push(socket);
      socket.on("error", () => {});
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    });
    server.listen(port, address);
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
    servers.push(server);
  }
});

after(() => {
  for (const server of servers) server.close();
});

/** Public each time it is looked through, private when it is dialled. */
function answerThatChanges(): string[] {
  const answer = [PUBLIC];
  answer.slice = () => [PRIVATE];
  return answer;
}

interface Seen {
  readonly end: string | number;
  readonly reason: string;
  readonly connections: number;
  readonly bytes: number;
}

/** One attack against a guard with these checks; waits until the private side has seen the end of what reached it. */
async function attack(kind: Layer, checks: Partial<Checks>): Promise<Seen> {
  const { host, parts } = attacks[kind];
  const before = inside.length;
  const own = openTestCaller({ policy, checks, ...parts(port) });
  const end = endOf(await own.call(`http://${host}:${port}/`));
  await own.caller.close();
  // One that was ended at once may not have been accepted yet.
  while (inside.length - before < attacks[kind].connections)
    await Promise.race(servers.map((server) => once(server, "connection")));
  const reached = inside.slice(before);
  for (const socket of reached) if (!socket.destroyed) await once(socket.resume(), "close");
  return {
    end,
    reason: own.refusals[0]?.message ?? "",
    connections: reached.length,
    bytes: reached.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
  };
}

const only = (layer: Layer): Partial<Checks> =>
  Object.fromEntries(LAYERS.filter((other) => other !== layer).map((other) => [other, open]));

/** What the whole guard promises about an attack; empty when it holds. */
function broken(kind: Layer, seen: Seen): string[] {
  const promises = {
    "the call is refused": seen.end === "destination-not-allowed",
    "no byte arrives": seen.bytes === 0,
    "no connection arrives, but where only the kernel knew":
      seen.connections === attacks[kind].connections,
    "the log names the check and the address": seen.reason.startsWith(
      `${kind} ${PRIVATE}: loopback`,
    ),
  };
  return Object.entries(promises).flatMap(([promise, holds]) => (holds ? [] : [promise]));
}

for (const layer of LAYERS) {
  test(`${layer}: stops its attack with the other checks off`, async () => {
    assert.deepEqual(broken(layer, await attack(layer, only(layer))), []);
  });

  test(`${layer}: the whole guard stops its attack there; without this check a promise is broken`, async () => {
    assert.deepEqual(broken(layer, await attack(layer, {})), []);
    assert.notDeepEqual(broken(layer, await attack(layer, { [layer]: open })), []);
  });
}

test("without any check every attack but the mixed answer arrives inside: the attacks are real", async () => {
  const off = Object.fromEntries(LAYERS.map((layer) => [layer, open]));
  for (const kind of LAYERS) {
    const { end, bytes } = await attack(kind, off);
    assert.equal(end, 200, kind);
    assert.equal(bytes > 0, kind !== "answer", kind);
  }
});

test("a denied name is refused although its address is allowed; without the check it is called", async () => {
  const resolve = async () => [PUBLIC];
  const guarded = openTestCaller({ policy, resolve });
  assert.equal(endOf(await guarded.call(`http://denied.test:${port}/`)), "destination-not-allowed");
  assert.match(guarded.refusals[0]?.message ?? "", /^name: denied by EGRESS_DENY denied.test;/);
  const off = openTestCaller({ policy, resolve, checks: { name: open } });
  assert.equal(endOf(await off.call(`http://denied.test:${port}/`)), 200);
  await guarded.caller.close();
  await off.caller.close();
});

test("refusals beyond ten lines a second are counted, and the next line says how many", async () => {
  let nowMs = 0;
  const clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    setTimer: () => () => {},
    sleep: async () => {},
  };
  const own = openTestCaller({ policy, clock });
  for (let i = 0; i < 1_000; i++) await own.call(`http://${PRIVATE}:${port}/?secret=${i}`);
  assert.equal(own.refusals.length, 10);
  nowMs += 1_000;
  await own.call(`http://${PRIVATE}:${port}/`);
  assert.equal(own.refusals.length, 11);
  assert.deepEqual(own.refusals.at(-1), {
    code: "egress-refused",
    message: `literal ${PRIVATE}: loopback 127.0.0.0/8; tenant acme, http://${PRIVATE}:${port}`,
    count: 990,
  });
  await own.caller.close();
});

test("a server that resets what it accepts is no refusal of ours, and the next address is dialled", async () => {
  // The reset comes in the same turn as the connection: the socket has no peer any more.
  const dial = (address: string) => {
    const socket = connect({ host: address, port });
    if (address === PUBLIC) socket.prependOnceListener("connect", () => socket.resetAndDestroy());
    return socket;
  };
  const both = createEgressPolicy({ allow: "127.0.0.0/8:*" });
  const resolve = async (name: string) => (name === "two.test" ? [PUBLIC, PRIVATE] : [PUBLIC]);
  const own = openTestCaller({ policy: both, dial, resolve });
  assert.equal(endOf(await own.call(`http://one.test:${port}/`)), "connection-reset");
  assert.equal(endOf(await own.call(`http://two.test:${port}/`)), 200);
  assert.deepEqual(own.refusals, []);
  await own.caller.close();
});

for (const [timeoutMs, dead] of [
  [1_000, 1],
  [1_000, 3],
  [5_000, 1],
  [5_000, 3],
  [30_000, 3],
] as const)
  test(`of ${dead + 1} addresses only the last answers: it is called, of ${timeoutMs} ms there is time left`, async () => {
    const clock = new ManualClock();
    const dialled: string[] = [];
    const addresses = Array.from({ length: dead + 1 }, (_, i) => `127.0.0.${dead + 1 - i}`);
    const own = openTestCaller({
      clock,
      policy: createEgressPolicy({ allow: "127.0.0.0/8:*" }),
      resolve: async () => addresses,
      dial: (address) => {
        dialled.push(address);
        // Those before the last take no notice of it.
        return address === PUBLIC ? connect({ host: address, port }) : new Socket();
      },
    });
    const call = own.call(`http://many.test:${port}/`, { timeoutMs });
    for (let atMs = 0; dialled.length <= dead && atMs < timeoutMs; atMs += 50)
      await clock.advance(50);
    assert.deepEqual(dialled, addresses);
    assert.ok(clock.monotonicMs() <= Math.min(timeoutMs * (dead / (dead + 2)), dead * 5_000) + 50);
    assert.equal(endOf(await call), 200);
    await own.caller.close();
  });

test("an address behind which none is left has all the time that the call has", async () => {
  const clock = new ManualClock();
  const own = openTestCaller({
    clock,
    policy: createEgressPolicy({ allow: "127.0.0.0/8:*" }),
    resolve: async () => [PUBLIC],
    dial: (host) => {
      const socket = new Socket();
      clock.setTimer(20_000, () => socket.connect({ host, port }));
      return socket;
    },
  });
  const call = own.call(`http://far.test:${port}/`, { timeoutMs: 30_000 });
  await clock.advance(20_000);
  assert.equal(endOf(await call), 200);
  await own.caller.close();
});
