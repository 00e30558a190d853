/** Responses as servers may write them, damaged ones too: in pieces of any size, and beside undici's parser, which is llhttp. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { Client } from "undici";
import { ResponseParser } from "./response-parser.ts";

const KEEP_BYTES = 100;
/** The same responses each time: a difference is to be found by who has made it. */
const SEED = 20_261_129;

interface Answer {
  readonly status: number;
  readonly body: string;
}
type Read = (Answer & { readonly isKept: boolean }) | "incomplete" | "refused";

/** What comes of `text`, cut at `cuts`, after which the other side ends. */
function read(text: string, method: string, cuts: readonly number[] = []): Read {
  const bytes = Buffer.from(text, "latin1");
  const parser = new ResponseParser(method, KEEP_BYTES);
  let isComplete = false;
  let from = 0;
  try {
    for (const to of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
      if (to <= from || isComplete) continue;
      isComplete = parser.feed(bytes.subarray(from, to));
      from = to;
    }
    if (!isComplete && !parser.end()) return "incomplete";
  } catch {
    return "refused";
  }
  const { statusCode: status, body, keepAliveMs } = parser;
  // What comes in a later piece is the connection's affair.
  return { status, body, isKept: from === bytes.length && keepAliveMs !== 0 };
}

/** Not 100, which undici refuses where it has not asked for it. */
const early = fc.constantFrom(
  "",
  "",
  "",
  "HTTP/1.1 103 Early\r\nlink: </x>\r\n\r\n",
  "HTTP/1.1 102 \r\ncontent-length: 3\r\n\r\n",
);
const statusLine = fc.constantFrom(
  ...Array<string>(6).fill("HTTP/1.1 200 OK"),
  "HTTP/1.1 404",
  "HTTP/1.1 500 ",
  "HTTP/1.1 204 No Content",
  "HTTP/1.1 205 Reset Content",
  "HTTP/1.1 304 Not Modified",
  "HTTP/1.1 429 \xc3\xa9",
  "HTTP/1.0 200 OK",
  "http/1.1 200 OK",
  "HTTP/1.1 101 Switching Protocols",
);
const header = fc.constantFrom(
  ...Array<string>(9).fill("date: Sun, 29 Nov 2026 08:49:37 GMT"),
  "X-A:b",
  "x: \t",
  "x:",
  "x: \xe9\xff",
  "x: a\x7fb",
  "x: a\r\n b",
  "x y: z",
  "x : z",
  "connection: keep-alive",
  "Connection: close",
  "connection: close, upgrade",
  "keep-alive: timeout=5",
  "upgrade: h2c",
  "content-encoding: gzip",
);
const codings = fc.constantFrom(
  "transfer-encoding: chunked",
  "Transfer-Encoding:Chunked ",
  "transfer-encoding: gzip, chunked",
  "transfer-encoding: chunked, chunked",
  "transfer-encoding: chunked, gzip",
  "transfer-encoding: identity",
  "transfer-encoding: gzip",
  "transfer-encoding: \xa0chunked",
  "transfer-encoding: xchunked",
  "transfer-encoding : chunked",
);
const body = fc.oneof(
  fc.constantFrom("", "ok", "0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"),
  fc.string({ unit: "binary-ascii", maxLength: 200 }),
);
const lengthOf = (size: number) => [
  `content-length: ${size}`,
  `Content-Length:${size}`,
  `content-length: 0${size}`,
  `content-length: ${size}, ${size}`,
  `content-length: +${size}`,
  `content-length: \xa0${size}`,
  `content-length: ${size + 3}`,
  "content-length: ",
];

const response = fc
  .record({
    early,
    statusLine,
    headers: fc.array(header, { maxLength: 2 }),
    lengths: fc.array(fc.nat(7), { maxLength: 2 }),
    codings: fc.array(codings, { maxLength: 2 }),
    framing: fc.constantFrom("length", "length", "chunked", "chunked", "close", "any"),
    body,
    isInChunks: fc.boolean(),
    pieces: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 5 }),
    extension: fc.constantFrom("", "", "", "", "", ";a", ";a=b", ';a="b c"', " "),
    trailer: fc.constantFrom("", "", "t: v\r\n"),
    after: fc.constantFrom("", "", "", "", "", "", "x", "\r\n", "HTTP/1.1 200 OK\r\n\r\n"),
  })
  .map((of) => {
    const { framing, headers } = of;
    const lengths = lengthOf(of.body.length);
    const framed: string[] = [];
    if (framing === "length") framed.push(lengths[0] ?? "");
    if (framing === "chunked") framed.push("transfer-encoding: chunked");
    if (framing === "any") framed.push(...of.lengths.map((n) => lengths[n] ?? ""), ...of.codings);
    const head = [of.statusLine, ...headers, ...framed].join("\r\n");
    const isInChunks = framing === "chunked" || (framing === "any" && of.isInChunks);
    return `${of.early}${head}\r\n\r\n${isInChunks ? inChunks(of) : of.body}${of.after}`;
  });

function inChunks(of: { body: string; pieces: number[]; extension: string; trailer: string }) {
  let text = "";
  let left = of.body;
  for (const size of [...of.pieces, left.length]) {
    const piece = left.slice(0, size);
    left = left.slice(size);
    if (piece !== "") text += `${piece.length.toString(16)}${of.extension}\r\n${piece}\r\n`;
  }
  return `${text}0\r\n${of.trailer}\r\n`;
}

const damages = fc.array(
  fc.record({
    at: fc.nat(400),
    length: fc.nat(2),
    to: fc.constantFrom("", "\r", "\n", "\r\n", "\0", " ", "0", ":", ",", "\x0b", "\xff"),
  }),
  { maxLength: 2 },
);

/** Half of them with a few characters changed. */
const damaged = fc.oneof(
  response,
  fc.tuple(response, damages).map(([text, changes]) => {
    let changed = text;
    for (const { at, length, to } of changes) {
      const place = at % Math.max(1, changed.length);
      changed = changed.slice(0, place) + to + changed.slice(place + length);
    }
    return changed;
  }),
);
const method = fc.constantFrom("POST", "POST", "POST", "HEAD");

test("into what pieces a response is cut makes no difference", () => {
  const cuts = fc.array(fc.nat(500), { maxLength: 30 });
  fc.assert(
    fc.property(damaged, method, cuts, (text, of, at) => {
      const whole = withoutKept(read(text, of));
      const everywhere = [...Array(text.length).keys()];
      assert.deepEqual(withoutKept(read(text, of, at)), whole);
      assert.deepEqual(withoutKept(read(text, of, everywhere)), whole);
    }),
    { numRuns: 1_000, seed: SEED },
  );
});

function withoutKept(read: Read): Answer | string {
  return typeof read === "string" ? read : { status: read.status, body: read.body };
}

test("whatever is read, undici reads in the same way; what it refuses costs the connection at least", async (t) => {
  const texts: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (request) => {
      const index = Number(/^\w+ \/(\d+)/.exec(String(request))?.[1]);
      socket.end(texts[index] ?? "", "latin1");
    });
  });
  server.listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const count = { kept: 0, read: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(damaged, method, async (text, of) => {
      const ours = read(text, of);
      if (typeof ours === "string") count.refused++;
      else if (ours.isKept) count.kept++;
      else count.read++;
      if (typeof ours === "string") return;
      const theirs = await readByUndici(origin, of, texts.push(text) - 1);
      if (theirs === "refused" && !ours.isKept) return;
      assert.deepEqual(withoutKept(ours), theirs);
    }),
    { numRuns: 1_000, seed: SEED },
  );
  t.diagnostic(JSON.stringify(count));
  assert.ok(Math.min(...Object.values(count)) > 70, JSON.stringify(count));
});

async function readByUndici(origin: string, of: string, index: number): Promise<Answer | string> {
  const client = new Client(origin, { allowH2: false });
  try {
    const answer = await client.request({ path: `/${index}`, method: of as "POST" });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    return { status: answer.statusCode, body: bytes.subarray(0, KEEP_BYTES).toString("utf8") };
  } catch {
    return "refused";
  } finally {
    await client.destroy();
  }
}
