/** Pause, resume, and run at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openApiInMemory } from "#test/support/api-in-memory.ts";
import { assertProblem, created } from "#test/support/task-requests.ts";

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

test("a task of more jobs than one request gets through: 503 says what is so, and the same request goes on", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme, { schedule: { type: "every", seconds: 60 } });
  const [shard] = api.shards.all();
  assert(shard !== undefined);
  const { tasks } = shard;
  const edit = tasks.edit.bind(tasks);
  let left = 3;
  tasks.edit = async (...asked) => {
    const result = await edit(...asked);
    const changed = result.kind === "written" || result.kind === "unchanged";
    return changed && left > 0 ? { ...result, jobsLeft: true } : result;
  };
  tasks.goOnWithJobs = async () => {
    if (left === 0) return "none";
    await api.clock.advance(20_000);
    left--;
    return left === 0 ? "done" : "more";
  };
  const paused = await api.acme("POST", `/v1/tasks/${id}/pause`);
  assertProblem(paused, 503);
  assert.match(paused.body.detail, /^the task is paused, .*cancelled; ask the same again/);
  assert.equal(paused.headers.get("retry-after"), "1");
  assert.equal((await api.acme("GET", `/v1/tasks/${id}`)).body.status, "paused");
  assertProblem(await api.acme("POST", `/v1/tasks/${id}/pause`), 503);
  assert.equal((await api.acme("POST", `/v1/tasks/${id}/pause`)).status, 200);
  left = 3;
  // Once it is deleted each request goes on with its jobs, whatever version it names.
  const remove = (etag: string) =>
    api.acme("DELETE", `/v1/tasks/${id}`, undefined, { headers: { "if-match": etag } });
  assertProblem(await remove('"1"'), 412);
  assert.match((await remove('"2"')).body.detail, /^the task is deleted, .*cancelled/);
  assertProblem(await remove('"2"'), 503);
  assert.equal((await remove('"1"')).status, 204);
  assertProblem(await remove('"2"'), 404);
});

for (const [verb, method, suffix] of [
  ["paused", "POST", "/pause"],
  ["resumed", "POST", "/resume"],
  ["deleted", "DELETE", ""],
] as const)
  test(`however many jobs are left, a request by which its task is ${verb} says so in time`, async () => {
    await using api = await openApiInMemory();
    const { id } = await created(api.acme);
    if (verb === "resumed") await api.acme("POST", `/v1/tasks/${id}/pause`);
    const [shard] = api.shards.all();
    assert(shard !== undefined);
    const { tasks } = shard;
    const edit = tasks.edit.bind(tasks);
    tasks.edit = async (...asked) => {
      const result = await edit(...asked);
      return result.kind === "written" ? { ...result, jobsLeft: true } : result;
    };
    // As slow as a group may be, and the last one begins just before time is up.
    tasks.goOnWithJobs = async () => {
      await api.clock.advance(4_990);
      return "more";
    };
    const askedMs = api.clock.monotonicMs();
    const answer = await api.acme(method, `/v1/tasks/${id}${suffix}`);
    assertProblem(answer, 503);
    assert.match(answer.body.detail, new RegExp(`^the task is ${verb}, but it has more jobs`));
    const tookMs = api.clock.monotonicMs() - askedMs;
    assert.ok(tookMs > 20_000 && tookMs < 28_000, `${tookMs} ms`);
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
    limit: null,
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
