import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { LimitKey } from "#core/domain/call-limit.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import { makeJobId, makeTaskId, type TenantId, type WorkerId } from "#core/domain/ids.ts";
import { JOB_STATUSES, type Job, TRIGGERS } from "#core/domain/job.ts";
import { HISTORY_BODY_BYTES_MAX, HISTORY_ROW_BYTES_MAX } from "#core/domain/limits.ts";
import { priorityOfQueue } from "#core/domain/queue.ts";
import { entryOf, finishedJob, makeOwner, REQUEST } from "#test/contract/history-entries.ts";
import { keyspacesRowBytes } from "#test/support/keyspaces-row-size.ts";
import { decodeDocument, encodeDocument } from "./document.ts";
import { insertParams } from "./rows.ts";

const instantMs = fc.integer({ min: 0, max: 253_402_300_799_999 });
const count = fc.nat({ max: 100_000 });
/** Any text: lone surrogates, control characters, emoji. */
const text = fc.oneof(fc.string({ unit: "binary", maxLength: 400 }), fc.string({ maxLength: 400 }));
const taskId = fc
  .tuple(fc.integer({ min: 0, max: 2 ** 47 }), fc.uint8Array({ minLength: 8, maxLength: 8 }))
  .map(([ms, random]) => makeTaskId(ms, 77, random));

const tenths = count.map((ms) => ms / 10);
const phase = fc.option(tenths);
const sentRecord = {
  attempt: count,
  startedAtMs: instantMs,
  lagMs: fc.integer({ min: -1_000, max: 10 ** 9 }),
  durationMs: count,
  statusCode: fc.option(fc.integer({ min: 100, max: 999 })),
  error: fc.option(fc.constantFrom("timeout", "interrupted", "dns")),
  responseBody: fc.option(text),
};
const record = fc.record(
  {
    ...sentRecord,
    claimedAtMs: instantMs,
    timings: fc.tuple(phase, phase, phase, phase, tenths),
  },
  { requiredKeys: Object.keys(sentRecord) as (keyof typeof sentRecord)[] },
);
const headers = fc.dictionary(fc.string({ minLength: 1, maxLength: 10 }), text, { maxKeys: 4 });
const base64 = fc
  .uint8Array({ maxLength: 400 })
  .map((bytes) => Buffer.from(bytes).toString("base64"));
const payload = fc.record({ headers, body: text, bodyBase64: base64 }, { requiredKeys: [] });
const request = fc
  .record({
    method: fc.constantFrom("GET", "POST"),
    url: fc.webUrl(),
    headers,
    body: fc.option(text),
    bodyBase64: fc.option(base64),
  })
  // At most one of the two is set.
  .map((made) => (made.body === null ? made : { ...made, bodyBase64: null }));

const job: fc.Arbitrary<Job> = fc
  .record({
    owner: taskId,
    run: fc.nat({ max: 65_535 }),
    retryOf: fc.option(fc.tuple(instantMs, taskId)),
    onTime: fc.boolean(),
    fields: fc.record({
      taskVersion: count,
      trigger: fc.constantFrom(...TRIGGERS),
      status: fc.constantFrom(...JOB_STATUSES),
      queue: fc.nat({ max: 63 }),
      scheduledAtMs: instantMs,
      runAtMs: instantMs,
      dueAtMs: instantMs,
      claimNo: count,
      attempt: count,
      lost: fc.nat({ max: 5 }),
      maxAttempts: count,
      timeoutMs: count,
      workerId: fc.option(fc.constant("00112233445566778899aabbccddeeff" as WorkerId)),
      cancelReason: fc.option(text),
      attempts: fc.dictionary(fc.nat({ max: 2 ** 31 }).map(String), record, { maxKeys: 5 }),
      payload: fc.option(payload),
      finishedAtMs: fc.option(instantMs),
      reason: fc.option(text),
      covers: fc.option(
        fc.record(
          { count, fromMs: instantMs, toMs: instantMs, atLeast: fc.boolean() },
          { requiredKeys: ["count", "fromMs", "toMs"] },
        ),
      ),
      limitKey: fc.option(fc.constant("acme|https://api.example.com:443" as LimitKey)),
    }),
  })
  .map(({ owner, run, retryOf, onTime, fields }) => ({
    ...fields,
    id: makeJobId(fields.scheduledAtMs, owner, run),
    taskId: owner,
    tenantId: "acme" as TenantId,
    priority: priorityOfQueue(fields.queue),
    runAtMs: onTime ? fields.scheduledAtMs : fields.runAtMs,
    retryOf: retryOf === null ? null : makeJobId(retryOf[0], retryOf[1], 0),
  }));

const decoded = ({ job }: HistoryEntry, document: string) =>
  decodeDocument(
    { tenantId: job.tenantId, id: job.id, status: job.status, trigger: job.trigger },
    document,
  );

test("a job read back is the job that was written, whatever it holds", () => {
  fc.assert(
    fc.property(job, fc.option(request), (made, sent) => {
      const entry = entryOf(made, sent);
      assert.deepEqual(decoded(entry, encodeDocument(entry)), JSON.parse(JSON.stringify(entry)));
    }),
    { numRuns: 500 },
  );
});

test("of bodies that history does not keep their sizes and hashes are read back", () => {
  const [made] = fc.sample(job, { seed: 1, numRuns: 1 }) as [Job];
  const body = "x".repeat(HISTORY_BODY_BYTES_MAX + 1);
  const entry = entryOf({ ...made, payload: { body } }, { ...REQUEST, body });
  assert.equal(entry.payloadBody?.bytes, body.length);
  assert.equal(entry.request?.bodyBytes, body.length);
  assert.match(entry.request?.bodySha256 ?? "", /^[0-9a-f]{64}$/);
  assert.deepEqual(decoded(entry, encodeDocument(entry)), JSON.parse(JSON.stringify(entry)));
});

test("names such as __proto__ are names like any other", () => {
  const [made] = fc.sample(job, { seed: 1, numRuns: 1 }) as [Job];
  const headers = JSON.parse('{"__proto__":"a","constructor":"b"}');
  const sent = { method: "GET", url: "https://a.example/", headers, body: null, bodyBase64: null };
  const entry = entryOf({ ...made, payload: null }, sent);
  const { request } = decoded(entry, encodeDocument(entry));
  assert.deepEqual(Object.entries(request?.headers ?? {}), [
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
});

test("a usual row costs one write unit of Keyspaces: it stays under 1 KB", () => {
  const atMs = 1_795_979_452_328;
  const owner = makeOwner(atMs - 1);
  const usual = finishedJob({ ...owner, tenantId: "acme-production" as TenantId }, atMs);
  const [record] = Object.values(usual.attempts);
  assert(record !== undefined);
  const longest = { "1": { ...record, responseBody: "x".repeat(10_000) } };
  const limitKey = "acme-production|https://api.example.com:443" as LimitKey;
  for (const entry of [
    entryOf(usual),
    entryOf({ ...usual, attempts: longest }),
    entryOf({ ...usual, attempts: longest, limitKey }),
    entryOf(usual, { ...REQUEST, body: "x".repeat(10_000) }),
  ]) {
    const bytes = keyspacesRowBytes(insertParams(entry, 0));
    assert(bytes < 1_024, `${bytes} bytes`);
  }
});

test("no job is larger than a row may be", () => {
  const [made] = fc.sample(job, { seed: 1, numRuns: 1 }) as [Job];
  const worst = "\u0000";
  const attempts = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      String(index),
      {
        attempt: 1,
        claimedAtMs: 1,
        startedAtMs: 253_402_300_799_999,
        lagMs: 1,
        durationMs: 900_000,
        statusCode: 500,
        error: "request-invalid" as const,
        responseBody: worst.repeat(10_000),
        timings: [900_000.1, 900_000.1, 900_000.1, 900_000.1, 900_000.1] as const,
      },
    ]),
  );
  const headers = { x: worst.repeat(8_192) };
  const entry = entryOf(
    {
      ...made,
      finishedAtMs: 1_780_000_000_000,
      dueAtMs: 1_780_003_600_000,
      attempts,
      payload: { headers, body: worst.repeat(262_144) },
      reason: worst.repeat(200),
      cancelReason: worst.repeat(200),
    },
    {
      method: "POST",
      url: `https://a.example/${"x".repeat(4_000)}`,
      headers,
      body: worst.repeat(262_144),
      bodyBase64: null,
    },
  );
  const document = insertParams(entry, 0)[7] as string;
  assert(Buffer.byteLength(document) < HISTORY_ROW_BYTES_MAX / 2);
});

test("a row that is larger all the same is refused, naming the job only", () => {
  const [made] = fc.sample(job, { seed: 1, numRuns: 1 }) as [Job];
  const reason = "secret".repeat(200_000);
  assert.throws(
    () => insertParams({ job: { ...made, reason }, request: null, payloadBody: null }, 0),
    (error: Error) => error.name === "StoreRefused" && !error.message.includes("secret"),
  );
});
