import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiAnswer, ApiClient } from "#test/support/api-client.ts";
import { openApiInMemory } from "#test/support/api-in-memory.ts";

const DAILY = { type: "cron", expression: "0 9 * * *", timezone: "Europe/Madrid" };
const MINIMAL = { schedule: DAILY, request: { url: "https://example.com/hook" } };

async function created(client: ApiClient, fields: object = {}): Promise<ApiAnswer["body"]> {
  const answer = await client("POST", "/v1/tasks", { ...MINIMAL, ...fields });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

function assertProblem(answer: ApiAnswer, status: number, fields?: readonly string[]): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
  assert.equal(answer.body.type, "about:blank");
  assert.equal(answer.body.status, status);
  assert.ok(answer.body.title.length > 0 && answer.body.detail.length > 0);
  if (fields !== undefined)
    assert.deepEqual(
      answer.body.errors.map(({ field }: { field: string }) => field),
      fields,
      answer.text,
    );
}

test("create answers every field, with its default where none was given", async () => {
  await using api = await openApiInMemory();
  const answer = await api.acme("POST", "/v1/tasks", MINIMAL);
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get("etag"), '"1"');
  assert.equal(answer.headers.get("location"), `/v1/tasks/${answer.body.id}`);
  assert.match(answer.body.id, /^task_[0-9a-z]{26}$/);
  assert.deepEqual(answer.body, {
    id: answer.body.id,
    name: answer.body.id,
    description: null,
    tags: [],
    status: "active",
    schedule: DAILY,
    priority: "normal",
    request: { method: "POST", url: "https://example.com/hook", headers: {}, body: null },
    timeoutSeconds: 30,
    retry: {
      maxAttempts: 5,
      initialDelaySeconds: 10,
      factor: 3,
      maxDelaySeconds: 21_600,
      jitter: 0.2,
      retryOn: null,
    },
    captureResponse: true,
    catchUp: "all",
    startAt: null,
    endAt: null,
    nextRunAt: "2026-06-02T07:00:00.000Z",
    error: null,
    version: 1,
    createdAt: "2026-06-01T09:00:00.000Z",
    updatedAt: "2026-06-01T09:00:00.000Z",
  });
  const got = await api.acme("GET", `/v1/tasks/${answer.body.id}`);
  assert.deepEqual([got.status, got.headers.get("etag"), got.body], [200, '"1"', answer.body]);
});

test("create keeps what was given", async () => {
  await using api = await openApiInMemory();
  const given = {
    name: "digest",
    description: "of the day\nin two lines",
    tags: ["a", "b"],
    schedule: { type: "every", seconds: 900 },
    priority: "critical",
    request: {
      method: "PUT",
      url: "https://example.com/é?q=1",
      headers: { "Content-Type": "text/plain", "x-latin": "é" },
      bodyBase64: "AAEC/w==",
    },
    timeoutSeconds: 900,
    retry: { maxAttempts: 1 },
    catchUp: "none",
    startAt: "2026-06-01T11:00:00+02:00",
    endAt: "2026-07-01T00:00:00Z",
  };
  const body = await created(api.acme, given);
  assert.deepEqual(body.request, { ...given.request, body: null });
  assert.equal(body.schedule.anchor, "1970-01-01T00:00:00.000Z");
  assert.equal(body.startAt, "2026-06-01T09:00:00.000Z");
  assert.equal(body.nextRunAt, "2026-06-01T09:15:00.000Z");
  assert.equal(body.retry.maxAttempts, 1);
  for (const name of ["name", "description", "tags", "priority", "timeoutSeconds", "catchUp"])
    assert.deepEqual(body[name], given[name as keyof typeof given]);
});

test("what is retried is kept, changed as a whole, and null goes back to everything", async () => {
  await using api = await openApiInMemory();
  const retryOn = ["network", "timeout", "5xx", "429"];
  const { id, retry } = await created(api.acme, { retry: { retryOn } });
  assert.deepEqual(retry.retryOn, retryOn);
  const patched = async (fields: object) =>
    (await api.acme("PATCH", `/v1/tasks/${id}`, { retry: fields })).body;
  assert.deepEqual((await patched({ maxAttempts: 2 })).retry.retryOn, retryOn);
  assert.equal((await patched({ retryOn })).version, 2, "no change, no new version");
  assert.deepEqual((await patched({ retryOn: [] })).retry.retryOn, []);
  const { version, retry: all } = await patched({ retryOn: null });
  assert.equal(all.retryOn, null);
  assert.equal((await patched({ retryOn: null })).version, version);
});

test("an `at` in the past runs at once", async () => {
  await using api = await openApiInMemory();
  const body = await created(api.acme, { schedule: { type: "at", at: "2001-01-01T00:00:00Z" } });
  assert.equal(body.nextRunAt, body.createdAt);
  assert.equal(body.status, "active");
});

test("a name is unique among the tenant's live tasks, and free again after delete", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme, { name: "digest" });
  assertProblem(await api.acme("POST", "/v1/tasks", { ...MINIMAL, name: "digest" }), 409);
  await created(api.as("other"), { name: "digest" });
  const other = await created(api.acme, { name: "second" });
  assertProblem(await api.acme("PATCH", `/v1/tasks/${other.id}`, { name: "digest" }), 409);
  assert.equal((await api.acme("DELETE", `/v1/tasks/${id}`)).status, 204);
  const again = await created(api.acme, { name: "digest" });
  assert.notEqual(again.id, id);
});

const refused: readonly (readonly [string, object, readonly string[]])[] = [
  ["an unknown field", { colour: "red" }, ["colour"]],
  ["an unknown field inside", { retry: { tries: 3 } }, ["retry.tries"]],
  ["no schedule", { schedule: undefined }, ["schedule"]],
  ["no url", { request: {} }, ["request.url"]],
  ["null for what has no null", { request: null }, ["request"]],
  ["an empty name", { name: "" }, ["name"]],
  ["a name that is too long", { name: "x".repeat(201) }, ["name"]],
  ["a name of half a character", { name: "a\ud800" }, ["name"]],
  ["a name with a line break", { name: "a\nb" }, ["name"]],
  ["blanks around a name", { name: " a" }, ["name"]],
  ["a tag given twice", { tags: ["a", "b", "a"] }, ["tags.2"]],
  ["too many tags", { tags: Array.from({ length: 21 }, (_, i) => `t${i}`) }, ["tags"]],
  ["a priority of its own", { priority: "urgent" }, ["priority"]],
  ["timeout 0", { timeoutSeconds: 0 }, ["timeoutSeconds"]],
  ["timeout 901", { timeoutSeconds: 901 }, ["timeoutSeconds"]],
  ["a timeout as text", { timeoutSeconds: "30" }, ["timeoutSeconds"]],
  ["half a second", { timeoutSeconds: 1.5 }, ["timeoutSeconds"]],
  ["no attempt", { retry: { maxAttempts: 0 } }, ["retry.maxAttempts"]],
  ["21 attempts", { retry: { maxAttempts: 21 } }, ["retry.maxAttempts"]],
  ["a jitter over 1", { retry: { jitter: 1.1 } }, ["retry.jitter"]],
  ["a class of failures that there is not", { retry: { retryOn: ["6xx"] } }, ["retry.retryOn.0"]],
  ["410 among what is retried", { retry: { retryOn: ["5xx", "410"] } }, ["retry.retryOn.1"]],
  ["a status as a number", { retry: { retryOn: [429] } }, ["retry.retryOn.0"]],
  ["a class given twice", { retry: { retryOn: ["5xx", "5xx"] } }, ["retry.retryOn.1"]],
  ["a factor under 1", { retry: { factor: 0.5 } }, ["retry.factor"]],
  ["startAt without offset", { startAt: "2026-12-01T09:00:00" }, ["startAt"]],
  ["startAt on 30 February", { startAt: "2026-02-30T09:00:00Z" }, ["startAt"]],
  ["startAt as a number", { startAt: 1_780_000_000 }, ["startAt"]],
  [
    "endAt before startAt",
    { startAt: "2026-12-01T09:00:00Z", endAt: "2026-12-01T08:00:00Z" },
    ["endAt"],
  ],
  ["no occurrence in the window", { endAt: "2026-06-01T10:00:00Z" }, ["schedule"]],
  ["several faults at once", { name: 1, priority: 2 }, ["name", "priority"]],
];

for (const [what, fields, names] of refused) {
  test(`refused with 422: ${what}`, async () => {
    await using api = await openApiInMemory();
    assertProblem(await api.acme("POST", "/v1/tasks", { ...MINIMAL, ...fields }), 422, names);
  });
}

const requests: readonly (readonly [string, object, string])[] = [
  ["a relative url", { url: "/hook" }, "url"],
  ["another scheme", { url: "ftp://example.com/" }, "url"],
  ["a url without slashes", { url: "http:example.com" }, "url"],
  ["a user in the url", { url: "https://user:secret@example.com/" }, "url"],
  ["an empty user in the url", { url: "https://@example.com/" }, "url"],
  ["a line break in the url", { url: "https://example.com/\na" }, "url"],
  ["no host", { url: "https:///path" }, "url"],
  ["a port that is none", { url: "https://example.com:99999/" }, "url"],
  ["a url that is too long", { url: `https://example.com/${"x".repeat(4_096)}` }, "url"],
  ["a method of its own", { method: "TRACE" }, "method"],
  ["a method in lower case", { method: "post" }, "method"],
  ["a body with GET", { method: "GET", body: "x" }, "body"],
  ["two bodies", { body: "x", bodyBase64: "eA==" }, "bodyBase64"],
  ["no base64", { bodyBase64: "%%%" }, "bodyBase64"],
  ["base64 without padding", { bodyBase64: "eA" }, "bodyBase64"],
  ["half a character", { body: "\ud800" }, "body"],
  ["CR in a header", { headers: { "x-foo": "a\rb" } }, "headers.x-foo"],
  ["LF in a header", { headers: { "x-foo": "a\nb" } }, "headers.x-foo"],
  ["NUL in a header", { headers: { "x-foo": "a\0b" } }, "headers.x-foo"],
  ["a header outside Latin-1", { headers: { "x-foo": "€" } }, "headers.x-foo"],
  ["a header that is a number", { headers: { "x-foo": 1 } }, "headers.x-foo"],
  ["a header name with a blank", { headers: { "x foo": "a" } }, "headers.x foo"],
  ["Host", { headers: { Host: "evil.example" } }, "headers.Host"],
  ["Content-Length", { headers: { "content-length": "1" } }, "headers.content-length"],
  [
    "Transfer-Encoding",
    { headers: { "Transfer-Encoding": "chunked" } },
    "headers.Transfer-Encoding",
  ],
  ["Connection", { headers: { connection: "close" } }, "headers.connection"],
  ["our own header", { headers: { "Idempotency-Key": "1" } }, "headers.Idempotency-Key"],
  ["a header given twice", { headers: { "X-A": "1", "x-a": "2" } }, "headers.x-a"],
  ["headers that are too large", { headers: { "x-foo": "x".repeat(8_192) } }, "headers"],
];

for (const [what, request, field] of requests) {
  test(`refused request: ${what}`, async () => {
    await using api = await openApiInMemory();
    const body = { ...MINIMAL, request: { ...MINIMAL.request, ...request } };
    assertProblem(await api.acme("POST", "/v1/tasks", body), 422, [`request.${field}`]);
  });
}

test("a body of 256 KB is taken, one byte more is 413, counted in bytes", async () => {
  await using api = await openApiInMemory();
  const emoji = "😀".repeat(65_536);
  const post = (request: object) =>
    api.acme("POST", "/v1/tasks", { ...MINIMAL, request: { ...MINIMAL.request, ...request } });
  const taken = await post({ body: emoji });
  assert.equal(taken.status, 201);
  assert.equal((await api.acme("GET", `/v1/tasks/${taken.body.id}`)).body.request.body, emoji);
  const tooLarge = await post({ body: `${emoji}x` });
  assertProblem(tooLarge, 413, ["request.body"]);
  assertProblem(await post({ bodyBase64: Buffer.alloc(262_145).toString("base64") }), 413);
  assert.equal((await post({ bodyBase64: Buffer.alloc(262_144).toString("base64") })).status, 201);
});

test("a header called __proto__ is refused and not dropped", async () => {
  await using api = await openApiInMemory();
  const raw =
    '{"schedule":{"type":"every","seconds":60},"request":{"url":"https://a.example/","headers":{"__proto__":"x"}}}';
  assertProblem(await api.acme("POST", "/v1/tasks", undefined, { raw }), 400);
});

test("PATCH is a merge patch: the schedule is replaced whole, null goes back to the default", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme, {
    name: "digest",
    description: "old",
    timeoutSeconds: 60,
    request: {
      url: "https://example.com/",
      headers: { "Content-Type": "text/plain", "x-keep": "1", "x-drop": "1" },
      body: "text",
    },
  });
  const patched = await api.acme("PATCH", `/v1/tasks/${id}`, {
    description: null,
    timeoutSeconds: null,
    schedule: { type: "cron", expression: "0 10 * * *" },
    request: {
      headers: { "content-type": "application/json", "x-drop": null },
      bodyBase64: "eA==",
    },
    retry: { maxAttempts: 2 },
  });
  assert.equal(patched.status, 200, patched.text);
  assert.equal(patched.headers.get("etag"), '"2"');
  assert.equal(patched.body.version, 2);
  assert.equal(patched.body.name, "digest");
  assert.equal(patched.body.description, null);
  assert.equal(patched.body.timeoutSeconds, 30);
  assert.deepEqual(patched.body.schedule, {
    type: "cron",
    expression: "0 10 * * *",
    timezone: "UTC",
  });
  assert.equal(patched.body.nextRunAt, "2026-06-01T10:00:00.000Z");
  assert.deepEqual(patched.body.request, {
    method: "POST",
    url: "https://example.com/",
    headers: { "x-keep": "1", "content-type": "application/json" },
    body: null,
    bodyBase64: "eA==",
  });
  assert.deepEqual(patched.body.retry.maxAttempts, 2);
  assert.deepEqual((await api.acme("GET", `/v1/tasks/${id}`)).body, patched.body);
});

test("a PATCH that changes nothing keeps version, ETag and update time", async () => {
  await using api = await openApiInMemory();
  const body = await created(api.acme, { name: "digest" });
  await api.clock.advance(5_000);
  const { name, schedule, request, retry, tags, priority } = body;
  for (const patch of [{}, { name, schedule, request, retry, tags, priority }]) {
    const patched = await api.acme("PATCH", `/v1/tasks/${body.id}`, patch);
    assert.deepEqual([patched.status, patched.body], [200, body]);
  }
});

test("PATCH refuses what create refuses, and says which field", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme);
  const patch = (body: unknown) => api.acme("PATCH", `/v1/tasks/${id}`, body);
  assertProblem(await patch({ status: "paused" }), 422, ["status"]);
  assertProblem(await patch({ colour: null }), 422, ["colour"]);
  assertProblem(await patch({ request: { url: null } }), 422, ["request.url"]);
  assertProblem(await patch({ schedule: null }), 422, ["schedule"]);
  assertProblem(await patch({ schedule: { expression: "0 10 * * *" } }), 422, ["schedule.type"]);
  assertProblem(await patch({ request: "x" }), 422, ["request"]);
  assertProblem(await patch({ request: { headers: "x" } }), 422, ["request.headers"]);
  assertProblem(await patch([]), 422, [""]);
  assertProblem(await patch({ request: { body: "x".repeat(262_145) } }), 413);
  assert.equal((await api.acme("GET", `/v1/tasks/${id}`)).body.version, 1);
});

test("If-Match: the version asked for, any, or 412", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme);
  const patch = (etag: string, description: string) =>
    api.acme("PATCH", `/v1/tasks/${id}`, { description }, { headers: { "if-match": etag } });
  assert.equal((await patch('"1"', "a")).status, 200);
  const stale = await patch('"1"', "b");
  assertProblem(stale, 412);
  assert.equal(stale.headers.get("etag"), '"2"');
  assertProblem(await patch('W/"2"', "b"), 412);
  assert.equal((await patch("*", "b")).status, 200);
  const remove = (etag: string) =>
    api.acme("DELETE", `/v1/tasks/${id}`, undefined, { headers: { "if-match": etag } });
  assertProblem(await remove('"1"'), 412);
  assert.equal((await remove('"3"')).status, 204);
});

test("pause and resume: what passed is one cancelled row, the version moves, repeating changes nothing", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme, { schedule: { type: "every", seconds: 60 } });
  const post = (verb: string) => api.acme("POST", `/v1/tasks/${id}/${verb}`);
  const paused = await post("pause");
  assert.deepEqual(
    [paused.status, paused.body.status, paused.body.version, paused.body.nextRunAt],
    [200, "paused", 2, null],
  );
  assert.deepEqual((await post("pause")).body, paused.body);
  await api.clock.advance(150_000);
  const resumed = await post("resume");
  assert.deepEqual(
    [resumed.status, resumed.body.status, resumed.body.version, resumed.body.nextRunAt],
    [200, "active", 3, "2026-06-01T09:03:00.000Z"],
  );
  assert.deepEqual((await post("resume")).body, resumed.body);
  const jobs = (await api.acme("GET", `/v1/tasks/${id}/jobs`)).body.items;
  assert.equal(jobs.length, 1);
  assert.equal(jobs[0].status, "cancelled");
  assert.equal(jobs[0].reason, "task paused");
  assert.deepEqual(jobs[0].missed, {
    count: 2,
    from: "2026-06-01T09:01:00.000Z",
    to: "2026-06-01T09:02:00.000Z",
  });
});

test("an `at` that passes while paused completes the task; then pause and resume are 409", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme, { schedule: { type: "at", at: "2026-06-01T09:01:00Z" } });
  await api.acme("POST", `/v1/tasks/${id}/pause`);
  await api.clock.advance(120_000);
  const resumed = await api.acme("POST", `/v1/tasks/${id}/resume`);
  assert.deepEqual([resumed.body.status, resumed.body.nextRunAt], ["completed", null]);
  assertProblem(await api.acme("POST", `/v1/tasks/${id}/pause`), 409);
  assertProblem(await api.acme("POST", `/v1/tasks/${id}/resume`), 409);
  const patched = await api.acme("PATCH", `/v1/tasks/${id}`, {
    schedule: { type: "at", at: "2026-06-01T10:00:00Z" },
  });
  assert.deepEqual(
    [patched.body.status, patched.body.nextRunAt],
    ["active", "2026-06-01T10:00:00.000Z"],
  );
});

test("run makes a manual job at once, also of a paused or completed task, with what is laid over", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme, {
    request: {
      url: "https://example.com/",
      headers: { "Content-Type": "a", "x-b": "b" },
      body: "x",
    },
  });
  await api.acme("POST", `/v1/tasks/${id}/pause`);
  const ran = await api.acme("POST", `/v1/tasks/${id}/run`);
  assert.equal(ran.status, 202);
  assert.equal(ran.headers.get("location"), `/v1/jobs/${ran.body.id}`);
  assert.deepEqual(ran.body, {
    id: ran.body.id,
    taskId: id,
    trigger: "manual",
    status: "pending",
    priority: "normal",
    scheduledAt: "2026-06-01T09:00:00.000Z",
    runAt: "2026-06-01T09:00:00.000Z",
    attempt: 0,
    maxAttempts: 5,
    attempts: [],
    request: {
      method: "POST",
      url: "https://example.com/",
      headers: { "Content-Type": "a", "x-b": "b" },
      body: "x",
    },
    finishedAt: null,
    reason: null,
    retryOf: null,
    missed: null,
  });
  const over = await api.acme("POST", `/v1/tasks/${id}/run`, {
    request: { headers: { "content-type": "c" }, bodyBase64: "eQ==" },
  });
  assert.equal(over.status, 202);
  assert.deepEqual(over.body.request, {
    method: "POST",
    url: "https://example.com/",
    headers: { "x-b": "b", "content-type": "c" },
    body: null,
    bodyBase64: "eQ==",
  });
  const got = await api.acme("GET", `/v1/jobs/${over.body.id}`);
  assert.deepEqual(got.body, over.body);
});

test("run refuses other fields, reserved headers and a body where none is sent", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme, {
    request: { url: "https://example.com/", method: "GET" },
  });
  const run = (body: unknown) => api.acme("POST", `/v1/tasks/${id}/run`, body);
  assertProblem(await run({ url: "x" }), 422, ["url"]);
  assertProblem(await run({ request: { url: "x" } }), 422, ["request.url"]);
  assertProblem(await run({ request: { headers: { "x-attempt": "1" } } }), 422, [
    "request.headers.x-attempt",
  ]);
  assertProblem(await run({ request: { body: "x" } }), 422, ["request.body"]);
  assert.equal((await run({})).status, 202);
});

test("upcoming and preview: the next occurrences in the schedule's own time", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme);
  const upcoming = await api.acme("GET", `/v1/tasks/${id}/upcoming?count=2`);
  assert.deepEqual(upcoming.body, {
    items: [
      { at: "2026-06-02T07:00:00.000Z", local: "2026-06-02T09:00:00+02:00" },
      { at: "2026-06-03T07:00:00.000Z", local: "2026-06-03T09:00:00+02:00" },
    ],
    warnings: [],
  });
  const ten = await api.acme("GET", `/v1/tasks/${id}/upcoming`);
  assert.equal(ten.body.items.length, 10);
  assertProblem(await api.acme("GET", `/v1/tasks/${id}/upcoming?count=101`), 422, ["count"]);
  await api.acme("POST", `/v1/tasks/${id}/pause`);
  const paused = await api.acme("GET", `/v1/tasks/${id}/upcoming`);
  assert.match(paused.body.warnings[0], /paused/);
  const preview = await api.acme("POST", "/v1/schedules/preview", {
    schedule: DAILY,
    count: 1,
    after: "2026-12-01T08:00:00Z",
  });
  assert.equal(preview.status, 200);
  assert.deepEqual(preview.body.items, [
    { at: "2026-12-02T08:00:00.000Z", local: "2026-12-02T09:00:00+01:00" },
  ]);
  assertProblem(await api.acme("POST", "/v1/schedules/preview", { schedule: DAILY, n: 1 }), 422, [
    "n",
  ]);
});

test("list: newest first, by pages, filtered; cursors are bound to tenant and filter", async () => {
  await using api = await openApiInMemory();
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    const { id } = await created(api.acme, {
      tags: i % 2 === 0 ? ["even"] : [],
      request: { url: "https://example.com/", body: "é" },
    });
    ids.unshift(id);
    await api.clock.advance(1);
  }
  const list = (query: string) => api.acme("GET", `/v1/tasks?${query}`);
  const first = await list("limit=2");
  assert.deepEqual(
    first.body.items.map(({ id }: { id: string }) => id),
    ids.slice(0, 2),
  );
  assert.deepEqual(first.body.items[0].request, {
    method: "POST",
    url: "https://example.com/",
    headers: {},
    bodyBytes: 2,
  });
  const { nextCursor } = first.body;
  assert.match(nextCursor, /^[A-Za-z0-9_-]+$/);
  const second = await list(`limit=3&cursor=${nextCursor}`);
  assert.deepEqual(
    second.body.items.map(({ id }: { id: string }) => id),
    ids.slice(2),
  );
  assert.equal(second.body.nextCursor, null);
  const even = await list("tag=even&status=active&priority=normal");
  assert.equal(even.body.items.length, 3);
  assert.equal((await list("status=paused")).body.items.length, 0);
  assertProblem(await list(`tag=even&cursor=${nextCursor}`), 400);
  assertProblem(await api.as("other")("GET", `/v1/tasks?cursor=${nextCursor}`), 400);
  for (const garbled of ["x", "%00", `${nextCursor}A`, nextCursor.slice(1), "A".repeat(5_000)])
    assertProblem(await list(`cursor=${garbled}`), 400);
  for (const [query, field] of [
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["limit=1e2", "limit"],
    ["status=deleted", "status"],
    ["status=active&status=paused", "status"],
    ["colour=red", "colour"],
  ] as const)
    assertProblem(await list(query), 422, [field]);
});

test("a deleted task is gone, and its jobs are still there", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme);
  const job = (await api.acme("POST", `/v1/tasks/${id}/run`)).body;
  assert.equal((await api.acme("DELETE", `/v1/tasks/${id}`)).status, 204);
  for (const [method, path] of [
    ["GET", ""],
    ["PATCH", ""],
    ["DELETE", ""],
    ["POST", "/pause"],
    ["POST", "/resume"],
    ["POST", "/run"],
    ["GET", "/upcoming"],
  ] as const)
    assertProblem(
      await api.acme(method, `/v1/tasks/${id}${path}`, method === "PATCH" ? {} : undefined),
      404,
    );
  const read = await api.acme("GET", `/v1/jobs/${job.id}`);
  assert.deepEqual([read.body.status, read.body.reason], ["cancelled", "task deleted"]);
  assert.equal((await api.acme("GET", `/v1/tasks/${id}/jobs`)).body.items.length, 1);
});
