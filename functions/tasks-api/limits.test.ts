/** Call limits in the API: set, listed, taken away; and what a job says that waits for one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointKey, type LimitKey, tenantKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import {
  LIMIT_CONCURRENCY_MAX,
  LIMIT_WAITING_COUNTED_MAX,
  LIMITS_SET_MAX,
} from "#core/domain/limits.ts";
import { openApiInMemory } from "#test/support/api-in-memory.ts";

const ENDPOINT = "https://api.example.com";
const ACME = "acme" as TenantId;

function keyOf(url: string): LimitKey {
  const key = endpointKey(ACME, url);
  assert(key !== null);
  return key;
}

test("a limit is set, replaced as a whole, listed and taken away", async () => {
  await using api = await openApiInMemory();
  const put = await api.acme("PUT", "/v1/limits", {
    endpoint: "HTTPS://API.example.com:443/",
    concurrency: 5,
  });
  assert.equal(put.status, 200, put.text);
  const limit = {
    ...{ endpoint: ENDPOINT, concurrency: 5, perSecond: null },
    ...{ maxConcurrency: null, maxPerSecond: null, waiting: 0 },
    updatedAt: "2026-06-01T09:00:00.000Z",
  };
  assert.deepEqual(put.body, limit);
  const again = await api.acme("PUT", "/v1/limits", { endpoint: ENDPOINT, perSecond: 0.5 });
  assert.deepEqual(again.body, { ...limit, concurrency: null, perSecond: 0.5 });
  const all = await api.acme("PUT", "/v1/limits", { endpoint: null, concurrency: 7 });
  assert.deepEqual(all.body, { ...limit, endpoint: null, concurrency: 7 });
  const listed = await api.acme("GET", "/v1/limits");
  assert.deepEqual(listed.body, { items: [all.body, again.body], nextCursor: null });
  assert.deepEqual((await api.as("other")("GET", "/v1/limits")).body.items, []);
  const path = `/v1/limits?endpoint=${encodeURIComponent(ENDPOINT)}`;
  assert.equal((await api.acme("DELETE", path)).status, 204);
  assert.equal((await api.acme("DELETE", path)).status, 404);
  assert.equal((await api.as("other")("DELETE", "/v1/limits")).status, 404);
  assert.equal((await api.acme("DELETE", "/v1/limits")).status, 204);
  assert.deepEqual((await api.acme("GET", "/v1/limits")).body.items, []);
});

test("what is not an endpoint, or not a number of calls, is refused by name", async () => {
  await using api = await openApiInMemory();
  const refused = async (body: object, field: string, message: RegExp) => {
    const { status, text, body: problem } = await api.acme("PUT", "/v1/limits", body);
    assert.equal(status, 422, text);
    const fields = problem.errors.map((error: { field: string }) => error.field);
    assert.deepEqual(fields, [field], text);
    assert.match(problem.errors[0].message, message);
  };
  const one = { concurrency: 1 };
  await refused({ endpoint: `${ENDPOINT}/path`, ...one }, "endpoint", /scheme, host and port only/);
  await refused({ endpoint: `${ENDPOINT}/?`, ...one }, "endpoint", /scheme, host and port only/);
  await refused({ endpoint: `${ENDPOINT}?a=1`, ...one }, "endpoint", /scheme, host and port only/);
  await refused({ endpoint: `${ENDPOINT}#a`, ...one }, "endpoint", /scheme, host and port only/);
  await refused({ endpoint: "https://a:b@example.com", ...one }, "endpoint", /user name/);
  await refused({ endpoint: "ftp://example.com", ...one }, "endpoint", /http or https/);
  await refused({ endpoint: "example.com", ...one }, "endpoint", /http or https/);
  await refused({ endpoint: "", ...one }, "endpoint", /http or https/);
  const long = `https://${"a.".repeat(150)}example.com`;
  await refused({ endpoint: long, ...one }, "endpoint", /too long/);
  await refused({ ...one }, "endpoint", /required/);
  await refused({ endpoint: ENDPOINT }, "concurrency", /perSecond/);
  await refused({ endpoint: ENDPOINT, concurrency: null, perSecond: null }, "concurrency", /both/);
  await refused({ endpoint: ENDPOINT, concurrency: 0 }, "concurrency", /at least 1/);
  await refused({ endpoint: ENDPOINT, concurrency: 1.5 }, "concurrency", /whole number/);
  const over = LIMIT_CONCURRENCY_MAX + 1;
  await refused({ endpoint: ENDPOINT, concurrency: over }, "concurrency", /at most/);
  await refused({ endpoint: ENDPOINT, perSecond: 0.001 }, "perSecond", /at least 0.01/);
  await refused({ endpoint: ENDPOINT, perSecond: 1_001 }, "perSecond", /at most 1000/);
  await refused({ endpoint: ENDPOINT, ...one, waiting: 1 }, "waiting", /not a known field/);
  assert.equal((await api.acme("DELETE", "/v1/limits?endpoint=nowhere")).status, 422);
});

test("a tenant may set so many limits: one that is set may change, the operator's caps do not count", async () => {
  await using api = await openApiInMemory();
  const { limits } = api.shards.forTenant(ACME);
  const urlOf = (n: number) => `https://h${n}.example.com`;
  for (let n = 1; n < LIMITS_SET_MAX; n++) await limits.put(keyOf(urlOf(n)), { perSecond: 1 });
  for (const url of [urlOf(0), ENDPOINT]) await limits.put(keyOf(url), { maxConcurrency: 9 });
  const other = "other" as TenantId;
  await limits.put(tenantKey(other), { perSecond: 1 });
  const put = (endpoint: string | null) =>
    api.acme("PUT", "/v1/limits", { endpoint, concurrency: 1 });
  assert.equal((await put(null)).status, 200);
  for (const endpoint of [ENDPOINT, "https://new.example.com"]) {
    const refused = await put(endpoint);
    assert.equal(refused.status, 429, refused.text);
    assert.match(refused.body.detail, /has set 1000 limits, of at most 1000/);
    assert.equal(refused.headers.get("retry-after"), "60");
  }
  for (const endpoint of [null, urlOf(7)]) assert.equal((await put(endpoint)).status, 200);
  assert.equal((await api.acme("DELETE", `/v1/limits?endpoint=${urlOf(7)}`)).status, 204);
  assert.equal((await put(ENDPOINT)).status, 200);
});

test("setting needs the scope write, listing read", async () => {
  await using api = await openApiInMemory();
  const limit = { endpoint: null, concurrency: 1 };
  assert.equal((await api.as("acme", ["read"])("PUT", "/v1/limits", limit)).status, 403);
  assert.equal((await api.as("acme", ["read"])("DELETE", "/v1/limits")).status, 403);
  assert.equal((await api.as("acme", ["write"])("GET", "/v1/limits")).status, 403);
  assert.equal((await api.as("acme", ["write"])("PUT", "/v1/limits", limit)).status, 200);
});

test("the list goes on page by page, the tenant's own limit first", async () => {
  await using api = await openApiInMemory();
  const long = `https://${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.example.com`;
  for (const endpoint of ["http://b.example.com:8080", long, null, "https://c.example.com"])
    await api.acme("PUT", "/v1/limits", { endpoint, concurrency: 1 });
  const seen: (string | null)[] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor === null ? "" : `&cursor=${cursor}`;
    const page = await api.acme("GET", `/v1/limits?limit=1${from}`);
    assert.equal(page.status, 200, page.text);
    seen.push(...page.body.items.map(({ endpoint }: { endpoint: string }) => endpoint));
    if (cursor !== null)
      assert.equal((await api.as("other")("GET", `/v1/limits?limit=1${from}`)).status, 400);
    cursor = page.body.nextCursor;
  } while (cursor !== null);
  assert.deepEqual(seen, [null, "http://b.example.com:8080", long, "https://c.example.com"]);
});

test("the operator's caps are shown, and stay when the tenant takes its own limit away", async () => {
  await using api = await openApiInMemory();
  const key = keyOf(ENDPOINT);
  await api.shards.forTenant(ACME).limits.put(key, { maxConcurrency: 3, maxPerSecond: 10 });
  const path = `/v1/limits?endpoint=${encodeURIComponent(ENDPOINT)}`;
  assert.equal((await api.acme("DELETE", path)).status, 404, "the tenant has set nothing");
  const put = await api.acme("PUT", "/v1/limits", { endpoint: ENDPOINT, concurrency: 9 });
  assert.deepEqual([put.body.maxConcurrency, put.body.maxPerSecond], [3, 10]);
  assert.equal((await api.acme("DELETE", path)).status, 204);
  const [left] = (await api.acme("GET", "/v1/limits")).body.items;
  assert.deepEqual(
    [left.concurrency, left.perSecond, left.maxConcurrency, left.maxPerSecond],
    [null, null, 3, 10],
  );
});

test("a job of a limited endpoint waits, says for what, is filtered by it, counted and cancelled as any other", async () => {
  await using api = await openApiInMemory();
  await api.acme("PUT", "/v1/limits", { endpoint: ENDPOINT, concurrency: 1 });
  const made = await api.acme("POST", "/v1/tasks", {
    schedule: { type: "every", seconds: 3_600 },
    request: { url: `${ENDPOINT}/hook` },
  });
  const ran = await api.acme("POST", `/v1/tasks/${made.body.id}/run`);
  assert.equal(ran.status, 202, ran.text);
  const reason = `waiting: limit of ${ENDPOINT}`;
  assert.deepEqual(
    [ran.body.status, ran.body.reason, ran.body.limit],
    ["waiting", reason, ENDPOINT],
  );
  const path = `/v1/jobs/${ran.body.id}`;
  assert.deepEqual((await api.acme("GET", path)).body, ran.body);
  const list = async (status: string) =>
    (await api.acme("GET", `/v1/tasks/${made.body.id}/jobs?status=${status}`)).body.items;
  assert.deepEqual((await list("waiting"))[0].reason, reason);
  assert.deepEqual(await list("pending"), []);
  const [{ waiting }] = (await api.acme("GET", "/v1/limits")).body.items;
  assert.equal(waiting, 1);
  const cancelled = await api.acme("POST", `${path}/cancel`);
  assert.deepEqual(
    [cancelled.status, cancelled.body.status, cancelled.body.reason, cancelled.body.limit],
    [200, "cancelled", "cancelled by caller", ENDPOINT],
  );
});

test("where only all calls are limited the reason says so; waiting jobs are counted up to a bound", async () => {
  await using api = await openApiInMemory();
  await api.acme("PUT", "/v1/limits", { endpoint: null, perSecond: 1 });
  const made = await api.acme("POST", "/v1/tasks", {
    schedule: { type: "every", seconds: 3_600 },
    request: { url: `${ENDPOINT}/hook` },
  });
  const { body } = await api.acme("POST", `/v1/tasks/${made.body.id}/run`);
  assert.deepEqual([body.reason, body.limit], ["waiting: limit of all calls", "all calls"]);
  const { limits } = api.shards.forTenant(ACME);
  const counted = await limits.countWaiting([tenantKey(ACME)], LIMIT_WAITING_COUNTED_MAX);
  assert.equal(counted.get(tenantKey(ACME)), 1);
});
