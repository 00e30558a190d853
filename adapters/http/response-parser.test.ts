/** Responses, good and bad, one by one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ResponseParser } from "./response-parser.ts";

const KEEP_BYTES = 100;

type Read =
  | { readonly status: number; readonly body: string; readonly keepAliveMs: number | null }
  | "incomplete"
  | "refused";

/** What comes of `text`, cut at `cuts`, after which the other side ends. */
function read(text: string, cuts: readonly number[] = [], method = "POST"): Read {
  const bytes = Buffer.from(text, "latin1");
  const parser = new ResponseParser(method, KEEP_BYTES);
  let complete = false;
  let from = 0;
  try {
    for (const to of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
      if (to <= from || complete) continue;
      complete = parser.feed(bytes.subarray(from, to));
      from = to;
    }
    if (!complete && !parser.end()) return "incomplete";
  } catch {
    return "refused";
  }
  const { statusCode: status, body } = parser;
  // What comes in a later piece is the connection's affair.
  const keepAliveMs = from < bytes.length ? 0 : parser.keepAliveMs;
  return { status, body, keepAliveMs };
}

const OK = "HTTP/1.1 200 OK\r\n";

test("a body ends where its length, its last chunk or its connection does", () => {
  for (const [text, body, keepAliveMs] of [
    [`${OK}content-length: 2\r\n\r\nok`, "ok", null],
    [`${OK}Content-Length: 0\r\n\r\n`, "", null],
    [`${OK}Transfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n00\r\nx: y\r\n\r\n`, "ok", null],
    [`${OK}\r\nok`, "ok", 0],
    ["HTTP/1.1 204\r\n\r\n", "", null],
    ["HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "", null],
    ["HTTP/1.1 304 \r\ncontent-length: 7\r\n\r\n", "", null],
    ["HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", "ok", 0],
    [`HTTP/1.1 103 Early\r\nlink: x\r\n\r\n${OK}content-length: 2\r\n\r\nok`, "ok", null],
    [`${OK}connection: x, Close\r\ncontent-length: 2\r\n\r\nok`, "ok", 0],
    [`${OK}keep-alive: timeout=5, max=9\r\ncontent-length: 2\r\n\r\nok`, "ok", 3_000],
    [`${OK}connection: close\r\nkeep-alive: timeout=5\r\ncontent-length: 2\r\n\r\nok`, "ok", 0],
    [`${OK}keep-alive: max=9\r\ncontent-length: \t 2 \t\r\n\r\nok`, "ok", null],
    [`${OK}keep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok`, "ok", 0],
    [`${OK}content-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n`, "ok", 0],
  ] as const)
    assert.partialDeepStrictEqual(read(text), { body, keepAliveMs }, text);
  assert.partialDeepStrictEqual(read(`${OK}content-length: 2\r\n\r\n`, [], "HEAD"), { body: "" });
});

test("what could be read in two ways is refused", () => {
  for (const text of [
    "what?\r\n\r\n",
    "HTTP/2 200 OK\r\n\r\n",
    "HTTP/1.1 099 OK\r\n\r\n",
    "HTTP/1.1  200 OK\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    `${OK}content-length: 2\r\ncontent-length: 3\r\n\r\nok`,
    `${OK}content-length: \xa02\r\n\r\nok`,
    `${OK}content-length: +2\r\n\r\nok`,
    `${OK}content-length: 2, 3\r\n\r\nok`,
    `${OK}content-length: 2,\r\n\r\nok`,
    `${OK}transfer-encoding: gzip\r\n\r\nok`,
    `${OK}transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n`,
    `${OK}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`,
    `${OK}transfer-encoding: \xa0chunked\r\n\r\n0\r\n\r\n`,
    `${OK}transfer-encoding : chunked\r\n\r\n0\r\n\r\n`,
    `${OK}x: a\r\n b\r\n\r\n`,
    `${OK}x: a\rb\r\n\r\n`,
    `${OK}x: a\nb: c\r\n\r\n`,
    `${OK}x: a\0b\r\n\r\n`,
    `${OK}: a\r\n\r\n`,
    `${OK}transfer-encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n`,
    `${OK}transfer-encoding: chunked\r\n\r\n0\r\nno trailer\r\n\r\n`,
    `${OK}transfer-encoding: chunked\r\n\r\n-2\r\nok\r\n0\r\n\r\n`,
    `${OK}transfer-encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n`,
    `${OK}transfer-encoding: chunked\r\n\r\n2\nok\r\n0\r\n\r\n`,
  ])
    assert.equal(read(text), "refused", JSON.stringify(text));
});

test("what servers send against the rules is read as all do, and costs the connection", () => {
  const chunks = "2\r\nok\r\n0\r\n\r\n";
  for (const text of [
    `${OK}content-length: 2\r\ncontent-length: 2\r\n\r\nok`,
    `${OK}content-length: 2, 2\r\n\r\nok`,
    `${OK}content-length: 7\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`,
    `${OK}transfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n${chunks}`,
    `${OK}transfer-encoding: x, Chunked\r\n\r\n${chunks}`,
    `${OK}transfer-encoding: chunked\r\n\r\n2 ;a="b"\r\nok\r\n0\r\n\r\n`,
    `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`,
    `${OK}transfer-encoding: identity\r\ncontent-length: 2\r\n\r\nok`,
    `${OK}transfer-encoding: identity\r\n\r\nok`,
  ])
    assert.deepEqual(read(text), { status: 200, body: "ok", keepAliveMs: 0 }, JSON.stringify(text));
  for (const header of ["content-length: 2", "transfer-encoding: chunked"])
    assert.partialDeepStrictEqual(read(`HTTP/1.1 204 \r\n${header}\r\n\r\n`), {
      body: "",
      keepAliveMs: 0,
    });
});

test("what is no HTTP is refused when its first bytes have come", () => {
  for (const text of ["SSH-2.0-x", "H\r\n", "HTTP/1.1 200 OK\n", "HTTP/1.1 2\r\n", "\0"])
    assert.equal(read(text), "refused", JSON.stringify(text));
  for (const text of ["H", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nx\n"])
    assert.equal(read(text), "incomplete", JSON.stringify(text));
});

test("a head of blanks is read in no time", () => {
  const blanks = " ".repeat(16_000);
  const startMs = performance.now();
  for (const header of [
    `x: a${blanks}b`,
    `connection: ,${blanks},`,
    `keep-alive: ${blanks}timeout`,
  ])
    for (let i = 0; i < 10; i++)
      assert.partialDeepStrictEqual(read(`${OK}${header}\r\ncontent-length: 0\r\n\r\n`), {
        status: 200,
      });
  // Milliseconds; in time that grows with the square of the length, seconds.
  assert.ok(performance.now() - startMs < 500);
});

test("only the final response says when to try again, or to stop", () => {
  const parser = new ResponseParser("POST", KEEP_BYTES);
  const early = "HTTP/1.1 103 Early\r\nretry-after: 9\r\nwebhook-stop: true\r\n\r\n";
  assert.ok(parser.feed(Buffer.from(`${early}${OK}content-length: 0\r\n\r\n`)));
  assert.deepEqual([parser.retryAfter, parser.stop], [null, []]);
});

test("heads, trailers and lines between chunks are bounded, whatever they come in", () => {
  const long = "x".repeat(16_384);
  for (const text of [
    `${OK}x: ${long}`,
    `${OK}x: ${long}\r\n\r\n`,
    `${OK}${"a: b\r\n".repeat(4_000)}`,
    "HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000),
    `${OK}transfer-encoding: chunked\r\n\r\n2;${long}`,
    `${OK}transfer-encoding: chunked\r\n\r\n0\r\n${"a: b\r\n".repeat(4_000)}`,
  ])
    assert.equal(read(text), "refused", text.slice(0, 60));
  const extended = `1;${"x".repeat(1_000)}\r\ny\r\n`;
  assert.partialDeepStrictEqual(
    read(`${OK}transfer-encoding: chunked\r\n\r\n${extended.repeat(70)}`),
    { status: 200, keepAliveMs: 0 },
  );
  const endless = read(`${OK}content-length: 1000000\r\n\r\n${"y".repeat(70_000)}`);
  assert.deepEqual(endless, { status: 200, body: "y".repeat(KEEP_BYTES), keepAliveMs: 0 });
});

test("of a body in pieces as much is kept as of one that comes at once", () => {
  const head = `${OK}content-length: 150\r\n\r\n`;
  const text = `${head}${"y".repeat(70)}${"z".repeat(80)}`;
  const kept = { body: `${"y".repeat(70)}${"z".repeat(30)}`, keepAliveMs: null };
  for (const cuts of [[], [head.length + 70]])
    assert.partialDeepStrictEqual(read(text, cuts), kept);
});

test("in pieces of a byte each it takes no longer than its bytes are worth", () => {
  const end = `${"z".repeat(3_000)}\r\ncontent-length: 0\r\n\r\n`;
  const filled = "y".repeat(12_000);
  for (const before of [
    `${OK}x: ${filled}`,
    `HTTP/1.1 200 ${filled}`,
    `${OK}transfer-encoding: chunked\r\n\r\n0\r\nx: ${filled}`,
  ]) {
    const cuts = Array.from(end, (_, at) => before.length + at);
    const took = Array.from({ length: 5 }, () => {
      const startMs = cpuMs();
      assert.notEqual(read(before + end, cuts), "refused");
      return cpuMs() - startMs;
    });
    // Some 4 ms; when all that has come is copied and looked through at each piece, 20.
    assert.ok(Math.min(...took) < 12, `${took} ms`);
  }
});

/** The machine may be busy with other tests. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

test("of more than 4,096 pieces no head is put together, and of a body what has come counts", () => {
  const everywhere = (text: string) => [...Array(text.length).keys()];
  const head = `${OK}x: ${"y".repeat(4_050)}\r\ncontent-length: 2\r\n\r\n`;
  assert.partialDeepStrictEqual(read(`${head}ok`, [...everywhere(head), head.length]), {
    status: 200,
    body: "ok",
  });
  const long = `${OK}x: ${"y".repeat(4_100)}\r\ncontent-length: 2\r\n\r\nok`;
  assert.equal(read(long, everywhere(long)), "refused");
  for (const text of [
    `${OK}content-length: 6000\r\n\r\n${"y".repeat(6_000)}`,
    `${OK}\r\n${"y".repeat(6_000)}`,
    `${OK}transfer-encoding: chunked\r\n\r\n1770\r\n${"y".repeat(6_000)}\r\n0\r\n\r\n`,
  ]) {
    const cut = { status: 200, body: "y".repeat(KEEP_BYTES), keepAliveMs: 0 };
    assert.deepEqual(read(text, everywhere(text)), cut);
  }
  const chunks = `${OK}transfer-encoding: chunked\r\n\r\n${"1\r\ny\r\n".repeat(2_000)}0\r\n\r\n`;
  assert.partialDeepStrictEqual(read(chunks), { status: 200, keepAliveMs: 0 });
});
