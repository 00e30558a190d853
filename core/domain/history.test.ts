import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { cutToBytes, historyEntryOf, historyOrderOf, historyRequestOf } from "./history.ts";
import { makeTaskId, type TenantId } from "./ids.ts";
import type { Job } from "./job.ts";
import { makeManualJob } from "./make-job.ts";
import type { DueTask, HttpRequest } from "./task.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const request = (changes: Partial<HttpRequest>): HttpRequest => ({
  method: "POST",
  url: "https://a.example/",
  headers: {},
  body: null,
  bodyBase64: null,
  ...changes,
});

function job(changes: Partial<Job>): Job {
  const task: DueTask = {
    id: makeTaskId(1_780_000_000_000, 1, new Uint8Array(8)),
    tenantId: "acme" as TenantId,
    schedule: { type: "every", seconds: 60, anchor: "1970-01-01T00:00:00.000Z" },
    priority: "normal",
    catchUp: "all",
    startAtMs: null,
    endAtMs: null,
    nextRunAtMs: null,
    requestVersion: 1,
    timeoutMs: 1_000,
    maxAttempts: 3,
  };
  return { ...makeManualJob(task, "manual", 1_780_000_100_000, 5, null), ...changes };
}

test("a body of 256 bytes is kept, a longer one as its size and hash", () => {
  const kept = historyRequestOf(request({ body: "é".repeat(128) }), sha256);
  assert.deepEqual([kept.body?.length, kept.bodyBytes, kept.bodySha256], [128, 256, null]);
  const body = `${"é".repeat(128)}x`;
  const dropped = historyRequestOf(request({ body }), sha256);
  assert.deepEqual(dropped, {
    ...request({}),
    bodyBytes: 257,
    bodySha256: createHash("sha256").update(body).digest("hex"),
  });
});

test("a binary body is measured and hashed as the bytes that were sent", () => {
  const bytes = Buffer.alloc(300, 0xff);
  const { bodyBase64, bodyBytes, bodySha256 } = historyRequestOf(
    request({ bodyBase64: bytes.toString("base64") }),
    sha256,
  );
  assert.deepEqual([bodyBase64, bodyBytes, bodySha256], [null, 300, sha256(bytes)]);
});

test("a payload keeps its headers when its body is too long to keep", () => {
  const long = job({ payload: { headers: { a: "b" }, body: "x".repeat(257) } });
  const entry = historyEntryOf(long, null, sha256);
  assert.deepEqual(entry.job.payload, { headers: { a: "b" } });
  assert.deepEqual(entry.payloadBody, { bytes: 257, sha256: sha256(Buffer.alloc(257, "x")) });
  const short = job({ payload: { body: "x" } });
  assert.deepEqual(historyEntryOf(short, null, sha256), {
    job: short,
    request: null,
    payloadBody: null,
  });
});

test("128 bytes of a success's response are kept, 1 KiB of a failure's", () => {
  const record = (statusCode: number | null) => ({
    attempt: 1,
    startedAtMs: 1,
    lagMs: 1,
    durationMs: 1,
    statusCode,
    error: null,
    responseBody: "a".repeat(5_000),
  });
  const attempts = { "1": record(500), "2": record(null), "3": record(200), "4": record(302) };
  const kept = Object.values(historyEntryOf(job({ attempts }), null, sha256).job.attempts);
  assert.deepEqual(
    kept.map(({ responseBody }) => responseBody?.length),
    [1_024, 1_024, 128, 1_024],
  );
});

test("text is cut to bytes, never inside a character", () => {
  assert.equal(cutToBytes("né", 2), "n");
  assert.equal(cutToBytes("né", 3), "né");
  assert.equal(cutToBytes("🚀🚀", 7), "🚀");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat({ max: 60 }), (text, bytesMax) => {
      const cut = cutToBytes(text, bytesMax);
      assert(text.startsWith(cut));
      assert(Buffer.byteLength(cut) <= bytesMax);
      const [next = ""] = text.slice(cut.length);
      assert(next === "" || Buffer.byteLength(cut + next) > bytesMax, "nothing more would fit");
    }),
  );
});

test("what is archived later is above what was archived before, and in one millisecond the later claim", () => {
  const order = (dueAtMs: number, claimNo: number) => historyOrderOf(job({ dueAtMs, claimNo }));
  assert(order(1_780_000_000_001, 0) > order(1_780_000_000_000, 5_000));
  assert(order(1_780_000_000_000, 2) > order(1_780_000_000_000, 1));
  assert.equal(order(1_780_000_000_000, 7), 1_780_000_000_000_007);
});
