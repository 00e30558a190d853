/** One connection against a server that writes raw bytes, ends and resets where it likes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { systemClock } from "#adapters/system/clock.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { Connection } from "./connection.ts";
import { ResponseParser } from "./response-parser.ts";

const OK = "HTTP/1.1 200 OK\r\n";
const WHOLE = `${OK}content-length: 3\r\n\r\nabc`;
const REQUEST = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}";

const server = createServer({ allowHalfOpen: true, noDelay: true });

before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

after(() => void server.close());

/** A connection, and the server's end of it. */
async function open(clock = systemClock): Promise<{ connection: Connection; peer: Socket }> {
  const accepted = once(server, "connection");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  const [peer] = (await accepted) as [Socket];
  peer.on("error", () => {});
  const connection = new Connection("a x", socket, clock);
  return { connection, peer };
}

/** What comes of one exchange, whatever the server does at its first bytes. */
async function exchange(answer: (peer: Socket) => void, request: string | Buffer = REQUEST) {
  const { connection, peer } = await open();
  peer.once("data", () => answer(peer));
  const parser = new ResponseParser("POST", 100);
  try {
    await connection.exchange(request, parser);
    return { status: parser.statusCode, body: parser.body };
  } catch (error) {
    return (error as { code?: string }).code;
  } finally {
    connection.destroy();
    peer.destroy();
  }
}

const gone = (connection: Connection) =>
  new Promise<void>((resolve) => {
    connection.onGone = () => resolve();
  });

test("wherever the server ends, what is not whole is no answer", async () => {
  const chunked = `HTTP/1.1 100 \r\n\r\n${OK}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`;
  for (const text of [WHOLE, chunked])
    for (let length = 1; length < text.length; length++)
      for (const end of ["end", "resetAndDestroy"] as const) {
        const answer = (peer: Socket) => {
          if (end === "end") peer.end(text.slice(0, length));
          else peer.write(text.slice(0, length), () => peer.resetAndDestroy());
        };
        assert.equal(await exchange(answer), "ECONNRESET", `${end} after ${length}`);
      }
  const untilClose = `${OK}\r\nabc`;
  const ended = await exchange((peer) => peer.end(untilClose));
  assert.deepEqual(ended, { status: 200, body: "abc" });
});

test("an answer that comes before a large body is read is read, and its connection not used again", async () => {
  const { connection, peer } = await open();
  const parser = new ResponseParser("POST", 100);
  const answered = connection.exchange(Buffer.alloc(8 << 20, "x"), parser);
  peer.write(`HTTP/1.1 413 \r\ncontent-length: 0\r\n\r\n`);
  await answered;
  assert.equal(parser.statusCode, 413);
  assert.equal(connection.isReady(), false);
  connection.destroy();
  peer.destroy();
});

test("a server that ends without reading fails the exchange, with no error left over", async () => {
  for (const end of ["destroy", "resetAndDestroy"] as const) {
    const answer = (peer: Socket) => void peer[end]();
    assert.match(
      String(await exchange(answer, Buffer.alloc(1 << 20, "x"))),
      /^(?:ECONNRESET|EPIPE)$/,
    );
  }
});

test("bytes, an end or a reset while nobody has asked end the connection", async () => {
  for (const late of [
    (peer: Socket) => void peer.write("x"),
    (peer: Socket) => void peer.end(),
    (peer: Socket) => peer.resetAndDestroy(),
  ]) {
    const { connection, peer } = await open();
    peer.once("data", () => peer.write(WHOLE));
    await connection.exchange(REQUEST, new ResponseParser("POST", 100));
    assert.equal(connection.isReady(), true);
    const isGone = gone(connection);
    late(peer);
    await isGone;
    assert.equal(connection.isReady(), false);
    const again = connection.exchange(REQUEST, new ResponseParser("POST", 100));
    await assert.rejects(again, { code: "ECONNRESET" });
    peer.destroy();
  }
});

test("it stays for 4 s, or for less or up to 10 s where the server says so; one that was never used too", async () => {
  for (const [header, staysMs] of [
    ["", 4_000],
    ["keep-alive: timeout=5\r\n", 3_000],
    ["keep-alive: timeout=75\r\n", 10_000],
    [null, 4_000],
  ] as const) {
    const clock = new ManualClock();
    const { connection, peer } = await open(clock);
    if (header !== null) {
      peer.once("data", () => peer.write(`${OK}${header}content-length: 0\r\n\r\n`));
      await connection.exchange(REQUEST, new ResponseParser("POST", 100));
    }
    await clock.advance(staysMs - 1);
    assert.equal(connection.isReady(), true, `${header}`);
    await clock.advance(1);
    assert.equal(connection.isReady(), false, `${header}`);
    connection.destroy();
    peer.destroy();
  }
});

test("it ends 5 minutes after it was opened, however busy it is", async () => {
  const clock = new ManualClock();
  const { connection, peer } = await open(clock);
  peer.on("data", () => peer.write(WHOLE));
  for (let i = 0; i < 100; i++) {
    assert.equal(connection.isReady(), true, `${i}`);
    await connection.exchange(REQUEST, new ResponseParser("POST", 100));
    await clock.advance(3_000);
  }
  assert.equal(connection.isReady(), false);
  connection.destroy();
  peer.destroy();
});
