/** What create answers: every field, as given or by default. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { taskPatchSchema } from "#functions/_shared/task-schema.ts";
import { openApiInMemory } from "#test/support/api-in-memory.ts";
import { assertProblem, created, DAILY, MINIMAL } from "#test/support/task-requests.ts";

test("create answers every field, with its default where none was given", async () => {
  await using api = await openApiInMemory();
  const answer = await api.acme("POST", "/v1/tasks", MINIMAL);
  assert.equal(answer.status, 201);
  const etag = `"1-${answer.body.id.slice(-8)}"`;
  assert.equal(answer.headers.get("etag"), etag);
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
  assert.deepEqual([got.status, got.headers.get("etag"), got.body], [200, etag, answer.body]);
});

test("create keeps what was given, every field of it, and so does a PATCH", async () => {
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
    retry: { maxAttempts: 1, initialDelaySeconds: 604_800, maxDelaySeconds: 604_800 },
    captureResponse: false,
    catchUp: "none",
    startAt: "2026-06-01T11:00:00+02:00",
    endAt: "2026-07-01T00:00:00Z",
  };
  assert.deepEqual(Object.keys(given).sort(), Object.keys(taskPatchSchema.shape).sort());
  const body = await created(api.acme, given);
  assert.deepEqual(body.request, { ...given.request, body: null });
  assert.equal(body.schedule.anchor, "1970-01-01T00:00:00.000Z");
  assert.equal(body.startAt, "2026-06-01T09:00:00.000Z");
  assert.equal(body.nextRunAt, "2026-06-01T09:15:00.000Z");
  assert.partialDeepStrictEqual(body.retry, given.retry);
  const { schedule: _1, request: _2, retry: _3, startAt: _4, endAt, ...asGiven } = given;
  assert.partialDeepStrictEqual(body, { ...asGiven, endAt: "2026-07-01T00:00:00.000Z" });
  const other = await created(api.acme, MINIMAL);
  const { name: _5, ...patch } = given;
  const patched = await api.acme("PATCH", `/v1/tasks/${other.id}`, patch);
  assert.equal(patched.status, 200);
  const { id: _6, name: _7, version: _8, ...settings } = body;
  assert.partialDeepStrictEqual(patched.body, { ...settings, version: 2 });
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
