import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { testMysqlUrl } from "#test/support/mysql.ts";
import { openTcpProxy, type TcpProxy, type TcpProxyOptions } from "#test/support/tcp-proxy.ts";

const DEADLINE_MS = 10_000;
const echo = createServer({ noDelay: true }, (socket) => {
  socket.on("error", () => {});
  socket.pipe(socket);
});
let echoPort = 0;

before(async () => {
  echo.listen(0, "127.0.0.1");
  await once(echo, "listening");
  echoPort = (echo.address() as AddressInfo).port;
});
after(() => echo.close());

async function dial(proxy: TcpProxy): Promise<Socket> {
  const socket = connect({ port: proxy.port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Ms from a byte sent to the same byte back. */
async function roundTripMs(socket: Socket): Promise<number> {
  const startMs = performance.now();
  socket.write("x");
  await once(socket, "data", { signal: AbortSignal.timeout(DEADLINE_MS) });
  return performance.now() - startMs;
}

async function withProxy(
  options: Omit<TcpProxyOptions, "targetPort">,
  use: (proxy: TcpProxy) => Promise<void>,
): Promise<void> {
  const proxy = await openTcpProxy({ targetPort: echoPort, readsStatements: false, ...options });
  try {
    await use(proxy);
  } finally {
    await proxy.close();
  }
}

describe("TCP proxy", { timeout: 30_000 }, () => {
  it("adds 1 ms to a round trip, to 0.3 ms, and 10 ms as well", () =>
    withProxy({}, async (proxy) => {
      const socket = await dial(proxy);
      const tripsMs = new Map<number, number[]>([0, 1, 10].map((ms) => [ms, []]));
      for (let round = 0; round < 150; round++)
        for (const [addedMs, list] of tripsMs) {
          proxy.setRoundTripMs(addedMs);
          list.push(await roundTripMs(socket));
        }
      // Some trips are undisturbed even on a machine that does other things.
      const best = (ms: number) => (tripsMs.get(ms) ?? []).toSorted((a, b) => a - b)[4] ?? 0;
      for (const addedMs of [1, 10]) {
        assert.ok(
          Math.min(...(tripsMs.get(addedMs) ?? [])) >= addedMs,
          "never less than asked for",
        );
        const addsMs = best(addedMs) - best(0);
        assert.ok(Math.abs(addsMs - addedMs) < 0.3, `${addedMs} ms became ${addsMs.toFixed(3)}`);
      }
      socket.destroy();
    }));

  it("keeps bytes in order and whole, with latency", () =>
    withProxy({ roundTripMs: 2 }, async (proxy) => {
      const socket = await dial(proxy);
      const sent = Buffer.alloc(8 * 1024 * 1024, "0123456789abcdef_");
      const received: Buffer[] = [];
      let bytes = 0;
      const whole = Promise.withResolvers<void>();
      socket.on("data", (chunk) => {
        received.push(chunk);
        bytes += chunk.length;
        if (bytes >= sent.length) whole.resolve();
      });
      socket.write(sent);
      await whole.promise;
      assert.ok(Buffer.concat(received).equals(sent));
      socket.destroy();
    }));

  it("stands still and goes on", () =>
    withProxy({}, async (proxy) => {
      const socket = await dial(proxy);
      await roundTripMs(socket);
      proxy.pause();
      const back = once(socket, "data");
      socket.write("x");
      const first = await Promise.race([
        back,
        new Promise((wake) => setTimeout(wake, 100, "still")),
      ]);
      assert.equal(first, "still");
      proxy.resume();
      assert.equal(String((await back)[0]), "x");
      socket.destroy();
    }));

  it("keeps answers back while what is said arrives, and lets them go on", () =>
    withProxy({}, async (proxy) => {
      const heard = new Promise<void>((resolve) =>
        echo.once("connection", (socket: Socket) => socket.once("data", () => resolve())),
      );
      const socket = await dial(proxy);
      proxy.pause("answers");
      const back = once(socket, "data");
      socket.write("x");
      await heard;
      assert.equal(socket.bytesRead, 0);
      proxy.resume();
      assert.equal(String((await back)[0]), "x");
      socket.destroy();
    }));

  it("resets what is open, refuses what comes, and takes it again on its port", () =>
    withProxy({}, async (proxy) => {
      const socket = await dial(proxy);
      await roundTripMs(socket);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      await proxy.refuse(true);
      proxy.resetAll();
      await closed;
      assert.equal(proxy.open, 0);
      const refused = connect({ port: proxy.port, host: "127.0.0.1" });
      const [error] = await once(refused, "error");
      assert.equal(error.code, "ECONNREFUSED");
      await proxy.refuse(false);
      const again = await dial(proxy);
      await roundTripMs(again);
      again.destroy();
    }));
});

describe("TCP proxy in front of MySQL", { timeout: 30_000 }, () => {
  const url = new URL(testMysqlUrl());
  const table = `proxy_${process.pid}`;
  let proxy: TcpProxy;
  const run = async (port: number, statements: readonly string[]): Promise<RowDataPacket[]> => {
    const uri = new URL(url);
    uri.port = String(port);
    const connection = await createConnection({ uri: uri.href });
    connection.on("error", () => {});
    try {
      let rows: RowDataPacket[] = [];
      for (const sql of statements) [rows] = await connection.query<RowDataPacket[]>(sql);
      return rows;
    } finally {
      connection.destroy();
    }
  };
  const insert = (n: number) => ["BEGIN", `INSERT INTO ${table}.t VALUES (${n})`, "COMMIT"];
  const countOf = async (n: number): Promise<number> => {
    const rows = await run(Number(url.port), [
      `SELECT COUNT(*) AS n FROM ${table}.t WHERE n = ${n}`,
    ]);
    return Number(rows[0]?.n);
  };

  before(async () => {
    proxy = await openTcpProxy({ targetPort: Number(url.port), targetHost: url.hostname });
    await run(proxy.port, [`CREATE DATABASE ${table}`, `CREATE TABLE ${table}.t (n INT)`]);
  });
  after(async () => {
    await proxy.close();
    await run(Number(url.port), [`DROP DATABASE ${table}`]);
  });

  it("loses the answer of a COMMIT that has happened, once, of the transaction that was named", async () => {
    const fault = proxy.addFault({
      kind: "cut-answer",
      at: "COMMIT",
      inTransactionWith: "INSERT INTO",
    });
    await run(proxy.port, ["BEGIN", "SELECT 1", "COMMIT"]);
    assert.equal(fault.struck, 0);
    await assert.rejects(run(proxy.port, insert(1)));
    await fault.happened;
    assert.equal(await countOf(1), 1);
    await run(proxy.port, insert(2));
    assert.equal(fault.struck, 1);
  });

  it("cuts before a statement: it has not happened", async () => {
    proxy.addFault({ kind: "cut-before", at: "COMMIT", from: 2 });
    await run(proxy.port, insert(3));
    await assert.rejects(run(proxy.port, insert(4)));
    assert.deepEqual([await countOf(3), await countOf(4)], [1, 0]);
  });

  it("tells a statement in a transaction from one that stands alone", async () => {
    const fault = proxy.addFault({ kind: "cut-answer", at: "INSERT INTO", alone: true });
    await run(proxy.port, insert(6));
    assert.equal(fault.struck, 0);
    await assert.rejects(run(proxy.port, [`INSERT INTO ${table}.t VALUES (7)`]));
    assert.equal(await countOf(7), 1);
  });

  it("makes a connection that is open read-only, in the middle of its work, and not those to come", async () => {
    const uri = new URL(url);
    uri.port = String(proxy.port);
    const old = await createConnection({ uri: uri.href });
    old.on("error", () => {});
    await old.query(`INSERT INTO ${table}.t VALUES (8)`);
    proxy.makeOpenOnesReadOnly();
    const [rows] = await old.query<RowDataPacket[]>("SELECT 1 AS one");
    assert.equal(rows[0]?.one, 1);
    await assert.rejects(old.query(`INSERT INTO ${table}.t VALUES (8)`), { errno: 1792 });
    await run(proxy.port, insert(8));
    assert.equal(await countOf(8), 2);
    old.destroy();
  });

  it("holds a statement until its client is gone", async () => {
    const fault = proxy.addFault({ kind: "hold", at: "COMMIT" });
    const uri = new URL(url);
    uri.port = String(proxy.port);
    const connection = await createConnection({ uri: uri.href });
    connection.on("error", () => {});
    const sending = (async () => {
      for (const sql of insert(5)) await connection.query(sql);
    })();
    sending.catch(() => {});
    await fault.happened;
    connection.destroy();
    // Its row lock is free only once the server has rolled back.
    await run(Number(url.port), [`LOCK TABLES ${table}.t WRITE`]);
    assert.equal(await countOf(5), 0);
  });
});
