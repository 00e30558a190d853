/** PATCH as a merge patch, If-Match, and delete. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openApiInMemory } from "#test/support/api-in-memory.ts";
import { assertProblem, created } from "#test/support/task-requests.ts";

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
  assert.match(patched.headers.get("etag") ?? "", /^"2-/);
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

test("an expression that a new task may not have goes on as it is stored, under any other edit", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme, { schedule: { type: "cron", expression: "9 * * * *" } });
  const schedule = { type: "cron", expression: "0 9 * * ? *", timezone: "UTC" } as const;
  const { tasks } = api.shards.tables;
  for (const [key, task] of tasks) tasks.set(key, { ...task, schedule });
  const unchanged = await api.acme("PATCH", `/v1/tasks/${id}`, {});
  assert.deepEqual([unchanged.status, unchanged.body.version], [200, 1], unchanged.text);
  const patched = await api.acme("PATCH", `/v1/tasks/${id}`, { description: "new" });
  assert.deepEqual([patched.status, patched.body.schedule], [200, schedule], patched.text);
  assert.equal(patched.body.nextRunAt, unchanged.body.nextRunAt);
  const upcoming = await api.acme("GET", `/v1/tasks/${id}/upcoming?count=1`);
  assert.equal(upcoming.body.items[0].at, patched.body.nextRunAt);
  assert.match(upcoming.body.warnings.join(), /month "\?" .*six fields begin with seconds/);
  assertProblem(await api.acme("PATCH", `/v1/tasks/${id}`, { schedule }), 422, [
    "schedule.expression",
  ]);
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

test("If-Match: the version asked for, any, or 412; 422 for what is no ETag", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme);
  const patch = (etag: string, description: string) =>
    api.acme("PATCH", `/v1/tasks/${id}`, { description }, { headers: { "if-match": etag } });
  assert.equal((await patch('"1"', "a")).status, 200);
  const stale = await patch('"1"', "b");
  assertProblem(stale, 412);
  const etag = stale.headers.get("etag") ?? "";
  assert.equal(etag, `"2-${id.slice(-8)}"`);
  assert.equal((await patch(`"1", ${etag}`, "a")).status, 200);
  for (const other of ['W/"2"', `W/${etag}`, '"2-0m7k2c9x"']) {
    const refused = await patch(other, "b");
    assertProblem(refused, 412);
    assert.ok(refused.body.detail.includes(`has the ETag ${etag},`), refused.text);
  }
  for (const none of ['"1", "3"', '"1",W/"2"', '"x"', '""'])
    assertProblem(await patch(none, "b"), 412);
  for (const bad of ["2", '"2', '"1""2"', '"1" "2"', '"2", 2', '"2", *', "w/2", ",", "' '"])
    assertProblem(await patch(bad, "b"), 422, ["If-Match"]);
  assert.equal((await patch("*", "b")).status, 200);
  const remove = (etag: string) =>
    api.acme("DELETE", `/v1/tasks/${id}`, undefined, { headers: { "if-match": etag } });
  assert.equal((await patch('"1", "3"', "c")).status, 200);
  assertProblem(await remove('"1", "2"'), 412);
  assertProblem(await remove("4"), 422);
  assert.equal((await remove(',"x",W/"4" ,"4"')).status, 204);
});

test("a PATCH that gives both forms of the body is refused, whichever there is", async () => {
  await using api = await openApiInMemory();
  for (const own of [{}, { body: "a" }, { bodyBase64: "eA==" }]) {
    const request = { url: "https://example.com/hook", ...own };
    const { id } = await created(api.acme, { request });
    const both = { request: { body: "b", bodyBase64: "eQ==" } };
    assertProblem(await api.acme("PATCH", `/v1/tasks/${id}`, both), 422);
  }
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

test("secret headers that an edit keeps count too", async () => {
  await using api = await openApiInMemory();
  const request = { url: "https://example.com/hook", secretHeaders: { "x-0": "v".repeat(6_000) } };
  const schedule = { type: "every", seconds: 3_600 };
  const { id } = (await api.acme("POST", "/v1/tasks", { schedule, request })).body;
  const patch = (secretHeaders: Record<string, string | null>) =>
    api.acme("PATCH", `/v1/tasks/${id}`, { request: { secretHeaders } });
  const refused = await patch({ "x-1": "v".repeat(6_000) });
  assert.equal(refused.status, 422);
  assert.match(JSON.stringify(refused.body), /secretHeaders.*at most 8192 bytes/);
  assert.equal((await patch({ "x-0": null, "x-1": "v".repeat(6_000) })).status, 200);
  assert.equal((await patch({ "x-1": "w".repeat(6_000) })).status, 200);
});
