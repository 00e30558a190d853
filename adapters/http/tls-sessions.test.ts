/** When a new connection takes up the session of an earlier one, what it never does, and what becomes of the call where that fails. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { getCACertificates, setDefaultCACertificates, type TlsOptions } from "node:tls";
import { inspect } from "node:util";
import type { TenantId } from "#core/domain/ids.ts";
import { endOf, openTestCaller } from "#test/egress/call.ts";
import { makeCertificates, readCertificate } from "#test/egress/certificates.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import type { CallerOptions } from "./caller.ts";
import { createEgressPolicy } from "./egress-policy.ts";
import { TlsSessions } from "./tls-sessions.ts";

const HOUR_MS = 3_600_000;
/** OpenSSL's SSL_OP_NO_TICKET. */
const NO_TICKET = 1 << 14;
const dir = mkdtempSync(join(tmpdir(), "sessions-"));
makeCertificates(dir, ["DNS:a.test", "DNS:b.test"]);
const certificate = readCertificate(dir);
const trusted = readFileSync(join(dir, "ca.pem"), "utf8");
/** Of an authority that nobody trusts. */
const elsewhere = mkdtempSync(join(dir, "worthless-"));
makeCertificates(elsewhere, ["DNS:a.test"]);
const worthless = readCertificate(elsewhere);
/** Its page says whether the session was new. */
const S_SERVER = "s_server -accept 0 -www -tls1_3 -cert server.pem -key server.key".split(" ");
const usual = getCACertificates("default");
setDefaultCACertificates([...usual, trusted]);
after(() => rmSync(dir, { recursive: true, force: true }));

const kinds: Record<string, TlsOptions> = {
  "TLS 1.3": { minVersion: "TLSv1.3" },
  "TLS 1.2, tickets": { maxVersion: "TLSv1.2" },
  "TLS 1.2, ids": { maxVersion: "TLSv1.2", secureOptions: NO_TICKET },
};

interface Endpoint extends AsyncDisposable {
  readonly port: number;
  /** Of each connection that came as far as that, whether it took up a session. */
  readonly resumed: boolean[];
  /** Ends connections that took one up, before their request is read. */
  tripsOver: boolean;
}

/** Ends each connection with its answer; knows no session of another. */
async function serve(options: TlsOptions = {}, onPort = 0): Promise<Endpoint> {
  const server = createServer({ ...certificate, ...options }, (request, response) => {
    request.resume();
    response.writeHead(200, { connection: "close" }).end("here");
  });
  const byId = new Map<string, Buffer>();
  server.on("newSession", (id: Buffer, session: Buffer, done: () => void) => {
    byId.set(id.toString("hex"), session);
    done();
  });
  server.on("resumeSession", (id: Buffer, done: (error: null, session: Buffer | null) => void) =>
    done(null, byId.get(id.toString("hex")) ?? null),
  );
  const resumed: boolean[] = [];
  server.on("secureConnection", (socket) => {
    resumed.push(socket.isSessionReused());
    if (endpoint.tripsOver && socket.isSessionReused()) socket.destroy();
  });
  server.listen(onPort, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const endpoint: Endpoint = {
    port,
    resumed,
    tripsOver: false,
    async [Symbol.asyncDispose]() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return endpoint;
}

const logged: unknown[] = [];
function open(options: Partial<CallerOptions> = {}) {
  const own = openTestCaller({
    policy: createEgressPolicy({ allow: "127.0.0.0/8:*" }),
    resolve: async () => ["127.0.0.1"],
    logger: {
      info: (...line) => void logged.push(line),
      warn: (...line) => void logged.push(line),
      error: (...line) => void logged.push(line),
    },
    ...options,
  });
  const call = async (port: number, host = "a.test", tenant = "acme") =>
    endOf(await own.call(`https://${host}:${port}/`, { tenantId: tenant as TenantId }));
  return {
    caller: own.caller,
    ask: own.call,
    call,
    [Symbol.asyncDispose]: () => own.caller.close(),
  };
}

for (const [kind, options] of Object.entries(kinds)) {
  test(`${kind}: a tenant's next connection to an origin takes up the session of the last`, async () => {
    await using endpoint = await serve(options);
    await using own = open();
    for (let i = 0; i < 4; i++) assert.equal(await own.call(endpoint.port), 200);
    assert.deepEqual(endpoint.resumed, [false, true, true, true]);
  });

  test(`${kind}: no session serves another tenant, host, port or caller`, async () => {
    await using endpoint = await serve(options);
    await using another = await serve(options);
    await using own = open();
    await using stranger = open();
    assert.equal(await own.call(endpoint.port), 200);
    assert.equal(await own.call(endpoint.port, "a.test", "globex"), 200);
    assert.equal(await own.call(endpoint.port, "b.test"), 200);
    assert.equal(await own.call(another.port), 200);
    assert.equal(await stranger.call(endpoint.port), 200);
    assert.deepEqual([endpoint.resumed, another.resumed], [[false, false, false, false], [false]]);
    assert.equal(await own.call(endpoint.port, "a.test", "globex"), 200);
    assert.equal(endpoint.resumed.at(-1), true);
  });

  test(`${kind}: a certificate that is refused is refused again`, async () => {
    await using endpoint = await serve(options);
    await using own = open();
    for (let i = 0; i < 3; i++) assert.equal(await own.call(endpoint.port, "c.test"), "tls");
    assert.equal(await own.call(endpoint.port), 200);
    setDefaultCACertificates(usual);
    await using distrustful = open();
    setDefaultCACertificates([...usual, trusted]);
    for (let i = 0; i < 3; i++) assert.equal(await distrustful.call(endpoint.port), "tls");
    assert.equal(endpoint.resumed.includes(true), false);
  });

  test(`${kind}: a certificate that is no good any more is refused where its server knows the session no more`, async () => {
    await using before = await serve(options);
    await using own = open();
    for (let i = 0; i < 2; i++) assert.equal(await own.call(before.port), 200);
    await before[Symbol.asyncDispose]();
    await using restarted = await serve({ ...options, ...worthless }, before.port);
    for (let i = 0; i < 2; i++) assert.equal(await own.call(restarted.port), "tls");
    assert.deepEqual(before.resumed, [false, true]);
  });

  test(`${kind}: a server that knows no session any more is called all the same`, async () => {
    await using before = await serve(options);
    const clock = new ManualClock();
    await using own = open({ clock });
    for (let i = 0; i < 2; i++) assert.equal(await own.call(before.port), 200);
    await before[Symbol.asyncDispose]();
    await using restarted = await serve(options, before.port);
    for (const ms of [0.6 * HOUR_MS, 0, 0.6 * HOUR_MS]) {
      await clock.advance(ms);
      assert.equal(await own.call(restarted.port), 200);
    }
    assert.deepEqual(
      [before.resumed, restarted.resumed],
      [
        [false, true],
        [false, true, true],
      ],
    );
  });

  test(`${kind}: after an hour the certificate is looked at again, however many sessions came of it`, async () => {
    await using endpoint = await serve(options);
    const clock = new ManualClock();
    await using own = open({ clock });
    for (const ms of [0, 0.4 * HOUR_MS, 0.4 * HOUR_MS, 0.4 * HOUR_MS, 0.4 * HOUR_MS]) {
      await clock.advance(ms);
      assert.equal(await own.call(endpoint.port), 200);
    }
    assert.deepEqual(endpoint.resumed, [false, true, true, false, true]);
  });

  test(`${kind}: a server whose handshake ends over a session is asked again without one`, async (t) => {
    await using endpoint = await serve(options);
    let cuts = 0;
    let hangs = false;
    let dialled = 0;
    const front = createTcp((socket) => {
      socket.on("error", () => {});
      if (hangs) return;
      if (cuts-- > 0) socket.once("data", () => socket.resetAndDestroy());
      else {
        const behind = connect(endpoint.port, "127.0.0.1").on("error", () => {});
        socket.pipe(behind).pipe(socket);
      }
    });
    t.after(() => front.close());
    front.listen(0, "127.0.0.1");
    await once(front, "listening");
    const { port } = front.address() as AddressInfo;
    const dial = (address: string) => {
      dialled++;
      return connect(port, address);
    };
    await using own = open({ dial });
    const ends: (string | number)[] = [];
    for (cuts of [1, 0, 1, 2]) ends.push(await own.call(port));
    assert.deepEqual(ends, ["connection-reset", 200, 200, "connection-reset"]);
    assert.equal(await own.call(port), 200);
    cuts = 2;
    own.caller.prepare?.("acme" as TenantId, `https://a.test:${port}/`);
    const signal = AbortSignal.timeout(5_000);
    while (cuts > 0) await once(front, "connection", { signal });
    assert.equal(await own.call(port), 200);
    [hangs, dialled] = [true, 0];
    const late = await own.ask(`https://a.test:${port}/`, { timeoutMs: 100 });
    assert.deepEqual([endOf(late), dialled], ["timeout", 1]);
    hangs = false;
    assert.equal(await own.call(port), 200);
    assert.deepEqual(endpoint.resumed, Array(5).fill(false), "what failed is forgotten");
  });

  test(`${kind}: a session whose connection brings no answer costs one attempt`, async () => {
    await using endpoint = await serve(options);
    await using own = open();
    assert.equal(await own.call(endpoint.port), 200);
    endpoint.tripsOver = true;
    assert.equal(await own.call(endpoint.port), "connection-reset");
    assert.equal(await own.call(endpoint.port), 200);
    assert.deepEqual(endpoint.resumed, [false, true, false]);
  });
}

test("a server that gives a new session for each that is taken up does not put off the look at its certificate", async (t) => {
  const server = spawn("openssl", S_SERVER, {
    cwd: dir,
    stdio: ["ignore", "pipe", "ignore"],
  });
  t.after(() => server.kill());
  let port = "";
  for await (const line of createInterface(server.stdout)) {
    port = /^ACCEPT .*:(\d+)$/.exec(line)?.[1] ?? "";
    if (port !== "") break;
  }
  const clock = new ManualClock();
  await using own = open({ clock });
  const resumed: boolean[] = [];
  for (const hours of [0, 0.4, 0.4, 0.4, 0.4]) {
    await clock.advance(hours * HOUR_MS);
    const outcome = await own.ask(`https://a.test:${port}/`, {
      method: "GET",
      body: null,
      responseBytesMax: 65_536,
    });
    assert.equal(endOf(outcome), 200);
    resumed.push(outcome.kind === "answered" && outcome.responseBody.includes("Reused, TLSv1.3"));
  }
  assert.deepEqual(resumed, [false, true, true, false, true]);
});

test("nothing of a session is logged", () => {
  assert.deepEqual(logged, []);
  const sessions = new TlsSessions(2, new ManualClock());
  sessions.keep("acme https://a.test", Buffer.from("canary"), 0);
  const told = inspect(sessions, { showHidden: true, depth: null }) + JSON.stringify(sessions);
  assert.equal(/canary|63 61 6e|99,97,110/.test(told), false, told);
});

test("so many sessions are kept, each in memory of its own; the one used longest ago goes first", () => {
  const sessions = new TlsSessions(2, new ManualClock());
  for (const key of ["a", "b"]) sessions.keep(key, Buffer.from(key), 0);
  assert.equal(sessions.find("a")?.bytes.buffer.byteLength, 1);
  sessions.keep("c", Buffer.from("c"), 0);
  assert.deepEqual(
    ["a", "b", "c"].map((key) => sessions.find(key)?.bytes.toString()),
    ["a", undefined, "c"],
  );
  sessions.keep("a", Buffer.from("newer"), 0);
  assert.equal(sessions.find("a")?.bytes.toString(), "newer");
  sessions.forget("a");
  assert.equal(sessions.find("a"), null);
  assert.equal(sessions.size, 1);
});

test("those that have had their time go, asked for or not", async () => {
  const clock = new ManualClock();
  const sessions = new TlsSessions(10, clock);
  for (const key of ["a", "b", "c"]) sessions.keep(key, Buffer.from(key), 0);
  await clock.advance(HOUR_MS - 1);
  assert.notEqual(sessions.find("a"), null);
  await clock.advance(1);
  assert.equal(sessions.find("a"), null);
  assert.equal(sessions.size, 2);
  sessions.keep("d", Buffer.from("d"), HOUR_MS);
  assert.equal(sessions.size, 1);
});
