import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { RequestInvalid } from "./errors.ts";
import { requestText } from "./request-text.ts";

const POST = { method: "POST", headers: {}, body: null };

test("whatever names, values and body are, a server gets exactly them, or nothing is sent", async (t) => {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    seen.push([request, Buffer.concat(chunks)]);
    response.end();
    server.emit("seen");
  });
  const seen: [IncomingMessage, Buffer][] = [];
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1").resume();
  t.after(() => socket.destroy());
  const name = fc.oneof(
    fc.stringMatching(/^x-[a-z0-9!#$%&'*+.^_`|~-]{0,8}$/),
    fc.string({ maxLength: 4 }),
  );
  const value = fc.oneof(
    fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,20}$/),
    fc.string({ unit: "binary", maxLength: 6 }),
  );
  const body = fc.oneof(
    fc.constant(null),
    fc.string({ unit: "grapheme", maxLength: 50 }),
    fc.uint8Array({ maxLength: 50 }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("GET", "POST", "DELETE"),
      fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true }),
      body,
      async (method, headers, sent) => {
        let text: string | Buffer;
        try {
          text = requestText({ method, headers, body: sent }, `127.0.0.1:${port}`, "/a?b=c");
        } catch (error) {
          assert(error instanceof RequestInvalid);
          return;
        }
        const before = seen.length;
        socket.write(text);
        await once(server, "seen");
        await new Promise(setImmediate);
        const [request, got] = seen[before] ?? assert.fail("one request");
        assert.equal(seen.length, before + 1);
        assert.deepEqual([request.method, request.url], [method, "/a?b=c"]);
        const pairs = Object.entries(headers).flatMap(([key, of]) => [key, of.trim()]);
        const raw = request.rawHeaders.slice(4, 4 + pairs.length);
        assert.deepEqual(
          raw.map((part) => part.trim()),
          pairs,
        );
        assert.deepEqual(got, Buffer.from((sent ?? "") as string));
      },
    ),
    { numRuns: 300 },
  );
});

test("what would decide about the connection, or where the request ends, is refused", () => {
  for (const headers of [
    { "x\r\ny": "1" },
    { x: "1\r\ny: 2" },
    { x: "1\ny: 2" },
    { "": "1" },
    { "x ": "1" },
    { x: "€" },
    { Host: "other" },
    { "Content-Length": "0" },
    { "transfer-encoding": "chunked" },
    { connection: "x-kind" },
    { expect: "100-continue" },
  ])
    assert.throws(() => requestText({ ...POST, headers }, "a", "/"), RequestInvalid);
  for (const [method, path] of [
    ["CONNECT", "/"],
    ["GET /x HTTP/1.1\r\nGET", "/"],
    ["GET", "/ HTTP/1.1\r\n"],
    ["GET", "/é"],
  ] as const)
    assert.throws(() => requestText({ ...POST, method }, "a", path), RequestInvalid);
});

test("a connection that is asked to close is not asked to stay", () => {
  const text = requestText({ ...POST, method: "GET", headers: { Connection: "close" } }, "a", "/");
  assert.equal(String(text), "GET / HTTP/1.1\r\nhost: a\r\nConnection: close\r\n\r\n");
});

test("a request without a body says so where one is expected", () => {
  assert.equal(
    String(requestText(POST, "a.test:81", "/x")),
    "POST /x HTTP/1.1\r\nhost: a.test:81\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n",
  );
  assert.equal(
    String(requestText({ ...POST, method: "GET" }, "a.test", "/")),
    "GET / HTTP/1.1\r\nhost: a.test\r\nconnection: keep-alive\r\n\r\n",
  );
});
