/** Create with a key, many at once, quotas. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { ANSWER_BYTES_MAX } from "#core/domain/limits.ts";
import { openApiInMemory } from "#test/support/api-in-memory.ts";
import { assertDetail } from "#test/support/task-requests.ts";
import { taskSchema } from "../_shared/task-schema.ts";
import { check } from "../_shared/validate.ts";
import { answerBytesOf } from "./bulk-answer.ts";

const HOURLY = {
  schedule: { type: "every", seconds: 3_600 },
  request: { url: "https://example.com/hook", body: "x" },
};
const ACME = "acme" as TenantId;

const keyed = (key: string) => ({ headers: { "idempotency-key": key } });

test("the same key and body get the same answer, and one task, whatever has become of it", async () => {
  await using api = await openApiInMemory();
  const post = (body: object, key: string) => api.acme("POST", "/v1/tasks", body, keyed(key));
  const first = await post({ ...HOURLY, name: "a" }, "k1");
  assert.equal(first.status, 201);
  assert.equal(first.headers.get("idempotency-replayed"), null);
  await api.acme("DELETE", `/v1/tasks/${first.body.id}`);
  await api.clock.advance(23 * 3_600_000);
  const again = await post({ ...HOURLY, name: "a" }, "k1");
  assert.deepEqual([again.status, again.text], [201, first.text]);
  for (const name of ["etag", "location"])
    assert.equal(again.headers.get(name), first.headers.get(name));
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal((await api.acme("GET", "/v1/tasks")).body.items.length, 0);
  assertDetail(await post({ ...HOURLY, name: "b" }, "k1"), 422, /^Idempotency-Key: /);
  assert.equal((await post({ ...HOURLY, name: "a" }, "k2")).status, 201);
  assert.equal((await api.as("other")("POST", "/v1/tasks", HOURLY, keyed("k1"))).status, 201);
  await api.clock.advance(3_600_001);
  assertDetail(await post({ ...HOURLY, name: "a" }, "k1"), 409, /has this name/);
});

test("a key answers alike when the task could not be made any more: its window is over, a quota is lower", async () => {
  await using api = await openApiInMemory();
  const endAt = "2026-06-01T09:10:00Z";
  const body = { ...HOURLY, schedule: { type: "every", seconds: 60 }, endAt };
  const create = (key: string, as = api.acme, changes = {}) =>
    as("POST", "/v1/tasks", { ...body, ...changes }, keyed(key));
  const first = await create("k");
  assert.equal(first.status, 201, first.text);
  await api.control.setQuotas(ACME, { minIntervalSeconds: 600 });
  await api.clock.advance(61_000);
  const assertReplay = async () => {
    const again = await create("k");
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
  };
  await assertReplay();
  assertDetail(await create("new"), 422, /minIntervalSeconds/);
  await api.control.setQuotas(ACME, { minIntervalSeconds: null });
  await api.clock.advance(3_600_000);
  await assertReplay();
  assertDetail(await create("k", api.acme, { name: "b" }), 422, /^Idempotency-Key: /);
  for (const as of [api.acme, api.as("other")])
    assertDetail(await create("new", as), 422, /^endAt|^schedule/);
  assertDetail(await create("k", api.as("other")), 422, /^endAt|^schedule/);
  assert.equal((await api.acme("GET", "/v1/tasks")).body.items.length, 1);
});

test("a create that fails uses up no key; keys have bounds", async () => {
  await using api = await openApiInMemory();
  await api.acme("POST", "/v1/tasks", { ...HOURLY, name: "taken" });
  const refused = await api.acme("POST", "/v1/tasks", { ...HOURLY, name: "taken" }, keyed("k"));
  assertDetail(refused, 409, /has this name/);
  assert.equal((await api.acme("POST", "/v1/tasks", HOURLY, keyed("k"))).status, 201);
  assert.equal((await api.acme("POST", "/v1/tasks", HOURLY, keyed("x".repeat(255)))).status, 201);
  for (const key of ["", "x".repeat(256), "a b"])
    assertDetail(await api.acme("POST", "/v1/tasks", HOURLY, keyed(key)), 422, /visible ASCII/);
});

test("bodies under a key are compared as JSON: blanks do not count, the order of fields does", async () => {
  await using api = await openApiInMemory();
  const secretHeaders = { "x-token": "s3cret" };
  const withSecrets = { ...HOURLY, request: { ...HOURLY.request, secretHeaders } };
  for (const [key, body] of Object.entries({ plain: HOURLY, secret: withSecrets })) {
    const { schedule, request } = body;
    const post = (raw: string) => api.acme("POST", "/v1/tasks", undefined, { ...keyed(key), raw });
    const first = await post(JSON.stringify({ schedule, request }));
    assert.equal(first.status, 201, first.text);
    const again = await post(`\n ${JSON.stringify({ schedule, request }, null, "\t ")} `);
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    const turned = await post(JSON.stringify({ request, schedule }));
    assertDetail(turned, 422, /^Idempotency-Key: has been used with another body/);
  }
});

test("while the first request with a key is in work, create, many at once and /run are 409, and say when to ask again", async () => {
  await using api = await openApiInMemory();
  const { id } = (await api.acme("POST", "/v1/tasks", HOURLY)).body;
  const { tasks } = api.shards.forTenant(ACME);
  // Nothing interleaves in memory: another transaction would hold the key's row.
  tasks.create = async () => ({ kind: "key-in-work" });
  tasks.createMany = async () => ({ kind: "key-in-work" });
  tasks.runNow = async () => ({ kind: "key-in-work" });
  for (const [path, body] of [
    ["/v1/tasks", HOURLY],
    ["/v1/tasks/bulk", { items: [HOURLY] }],
    [`/v1/tasks/${id}/run`, {}],
  ] as const) {
    const answer = await api.acme("POST", path, body, keyed("k"));
    assertDetail(answer, 409, /^the first request with this Idempotency-Key is still in work$/);
    assert.equal(answer.headers.get("retry-after"), "1");
  }
});

test("/run with a key makes one job, of that task", async () => {
  await using api = await openApiInMemory();
  const run = async (id: string, body: object) =>
    api.acme("POST", `/v1/tasks/${id}/run`, body, keyed("k"));
  const { id } = (await api.acme("POST", "/v1/tasks", HOURLY)).body;
  const first = await run(id, {});
  assert.equal(first.status, 202);
  await api.acme("PATCH", `/v1/tasks/${id}`, { request: { body: "y" } });
  const again = await run(id, {});
  assert.deepEqual([again.status, again.text], [202, first.text]);
  assert.equal(again.headers.get("location"), `/v1/jobs/${first.body.id}`);
  assert.equal((await api.acme("GET", `/v1/tasks/${id}/jobs`)).body.items.length, 1);
  assertDetail(await run(id, { request: { body: "z" } }), 422, /another body/);
  const other = (await api.acme("POST", "/v1/tasks", HOURLY)).body;
  assert.notEqual((await run(other.id, {})).body.id, first.body.id);
});

test("many at once: each item stands for itself", async () => {
  await using api = await openApiInMemory();
  await api.acme("POST", "/v1/tasks", { ...HOURLY, name: "taken" });
  const items = [
    { ...HOURLY, name: "a" },
    { ...HOURLY, name: "taken" },
    { ...HOURLY, schedule: { type: "cron", expression: "0 0 30 2 *" } },
    { ...HOURLY, name: "a" },
    { ...HOURLY, request: { url: "https://example.com/", body: "x".repeat(262_145) } },
    7,
    HOURLY,
  ];
  const { status, body } = await api.acme("POST", "/v1/tasks/bulk", { items });
  assert.equal(status, 200);
  assert.deepEqual(
    body.items.map((item: { status: number }) => item.status),
    [201, 409, 422, 409, 413, 422, 201],
  );
  assert.equal(body.items[2].problem.errors[0].field, "schedule.expression");
  assert.equal(body.items[5].problem.detail, "must be an object");
  const made = (await api.acme("GET", `/v1/tasks/${body.items[0].task.id}`)).body;
  assert.deepEqual(made, body.items[0].task);
  assert.equal((await api.acme("GET", "/v1/tasks")).body.items.length, 3);
});

test("who asks for a name that is taken is told by which task: create, PATCH, many at once", async () => {
  await using api = await openApiInMemory();
  const { id } = (await api.acme("POST", "/v1/tasks", { ...HOURLY, name: "taken" })).body;
  const other = (await api.acme("POST", "/v1/tasks", HOURLY)).body;
  const body = { ...HOURLY, name: "taken" };
  for (const refused of [
    await api.acme("POST", "/v1/tasks", body),
    await api.acme("PATCH", `/v1/tasks/${other.id}`, { name: "taken" }),
  ]) {
    assertDetail(refused, 409, /has this name/);
    assert.equal(refused.body.taskId, id);
  }
  const items = [{ ...HOURLY, name: "new" }, body, { ...HOURLY, name: "new" }];
  const [made, ...others] = (await api.acme("POST", "/v1/tasks/bulk", { items })).body.items;
  const owners = others.map((item: { problem: { taskId: string } }) => item.problem.taskId);
  assert.deepEqual(owners, [id, made.task.id]);
});

test("many at once under a key are made once; a repeat gets the first answer, refusals too", async () => {
  await using api = await openApiInMemory();
  const bulk = (items: unknown, key = "k", as = api.acme) =>
    as("POST", "/v1/tasks/bulk", { items }, keyed(key));
  const countOf = async () => (await api.acme("GET", "/v1/tasks")).body.items.length;
  const { id } = (await api.acme("POST", "/v1/tasks", { ...HOURLY, name: "taken" })).body;
  const endAt = "2026-06-01T09:10:00Z";
  const minutely = { ...HOURLY, schedule: { type: "every", seconds: 60 }, endAt };
  const items = [minutely, { ...HOURLY, name: "taken" }, 7, minutely];
  const first = await bulk(items);
  assert.equal(first.headers.get("idempotency-replayed"), null);
  await api.acme("DELETE", `/v1/tasks/${id}`);
  const assertReplay = async () => {
    const again = await bulk(items);
    assert.deepEqual([again.status, again.text], [200, first.text]);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
  };
  await assertReplay();
  assert.equal(await countOf(), 2);
  assertDetail(await bulk([minutely]), 422, /^Idempotency-Key: has been used with another body/);
  assertDetail(await bulk(items, "a b"), 422, /visible ASCII/);
  assert.equal((await bulk(items, "k", api.as("other"))).body.items[0].status, 201);
  // None of them could be made any more.
  await api.clock.advance(3_600_000);
  await assertReplay();
  assert.equal(await countOf(), 2);
  for (const each of (await bulk([minutely], "late")).body.items) assert.equal(each.status, 422);
  assert.equal((await bulk([HOURLY], "late")).body.items[0].status, 201);
});

test("many at once has bounds: 1 to 200 items, 4 MB", async () => {
  await using api = await openApiInMemory();
  const bulk = (items: unknown) => api.acme("POST", "/v1/tasks/bulk", { items });
  assert.equal((await bulk(Array.from({ length: 200 }, () => HOURLY))).status, 200);
  assertDetail(await bulk(Array.from({ length: 201 }, () => HOURLY)), 422, /at most 200 items/);
  assertDetail(await bulk([]), 422, /^items: must not be empty$/);
  assertDetail(await bulk({}), 422, /must be a list/);
  const large = { ...HOURLY, request: { ...HOURLY.request, body: "x".repeat(220_000) } };
  assertDetail(await bulk(Array.from({ length: 20 }, () => large)), 413, /at most 4194304/);
});

test("many at once whose answer would be too large make nothing; what is answered keeps the bound", async () => {
  await using api = await openApiInMemory();
  const bulk = (items: unknown[]) => api.acme("POST", "/v1/tasks/bulk", { items });
  const tasksOf = async () => (await api.acme("GET", "/v1/tasks")).body.items.length;
  // Bodies that are JSON themselves: what they take in the answer, as text in text in text.
  const task = (bodyBytes: number) => ({
    ...HOURLY,
    request: { ...HOURLY.request, body: '["a","b"],'.repeat(bodyBytes / 10) },
  });
  const refused = await bulk(Array.from({ length: 200 }, () => task(14_200)));
  assert.equal(refused.status, 413);
  assertDetail(refused, 413, /^the answer would have \d+ bytes, .*fewer tasks/);
  assert.equal(await tasksOf(), 0);
  const answered = await bulk(Array.from({ length: 200 }, () => task(13_500)));
  assert.equal(answered.status, 200);
  assert.ok(answered.body.items.every(({ status }: { status: number }) => status === 201));
  assert.ok(Buffer.byteLength(JSON.stringify(answered.text)) <= ANSWER_BYTES_MAX);
});

test("what is reckoned of an answer before the tasks are made is not less than it comes to", async () => {
  await using api = await openApiInMemory();
  const secretHeaders = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`x-${i}`, "s"]));
  const auth = { type: "basic", username: "u", password: "p" };
  const all = [
    HOURLY,
    { ...HOURLY, request: { ...HOURLY.request, secretHeaders } },
    { ...HOURLY, request: { ...HOURLY.request, auth } },
    {
      ...HOURLY,
      name: '"\\'.repeat(60),
      description: '"'.repeat(2_000),
      startAt: "2027-01-01T00:00:00Z",
    },
    { ...HOURLY, request: { url: "https://example.com/ü", bodyBase64: "AAAA", method: "PUT" } },
    { ...HOURLY, schedule: { type: "cron", expression: "0 9 * * 1", timezone: "europe/madrid" } },
    { ...HOURLY, schedule: { type: "cron", expression: "0 0 30 2 *" } },
    { ...HOURLY, retry: { maxAttempts: 3, retryOn: ["429", "5xx", "timeout"] } },
    { ...HOURLY, priority: 7, x: 1 },
  ];
  for (const item of all) {
    const { body } = await api.acme("POST", "/v1/tasks/bulk", { items: [item] });
    const came = Buffer.byteLength(JSON.stringify(JSON.stringify(body.items[0])));
    const reckoned = answerBytesOf(check(taskSchema, item));
    assert.ok(came <= reckoned, `${came} bytes, ${reckoned} reckoned: ${JSON.stringify(item)}`);
    assert.ok(reckoned <= came + 10_000, "not far more either");
  }
});

test("quotas name limit and use: tasks 429, body and interval 422", async () => {
  await using api = await openApiInMemory();
  const client = api.as("acme", ["read", "write"]);
  await api.control.setQuotas(ACME, { tasksMax: 2, bodyBytesMax: 3, minIntervalSeconds: 60 });
  await api.clock.advance(60_000);
  const post = (fields: object) => client("POST", "/v1/tasks", { ...HOURLY, ...fields });
  const { id } = (await post({ name: "a" })).body;
  assert.equal((await client("PUT", "/v1/tasks/by-name/b", HOURLY)).status, 201);
  const full = await post({});
  assertDetail(full, 429, /has 2 tasks, of at most 2/);
  assert.ok(Number(full.headers.get("retry-after")) > 0);
  assertDetail(await client("PUT", "/v1/tasks/by-name/c", HOURLY), 429, /tasksMax/);
  assert.equal((await client("PUT", "/v1/tasks/by-name/b", HOURLY)).status, 200);
  const often = { schedule: { type: "every", seconds: 59 } };
  assertDetail(await post(often), 422, /^schedule.seconds: runs 59 s apart.* 60 s/);
  assertDetail(await client("PATCH", `/v1/tasks/${id}`, often), 422, /minIntervalSeconds/);
  const long = { request: { url: "https://example.com/", body: "long" } };
  assertDetail(await post(long), 422, /^request.body: has 4 bytes.* 3 /);
  assertDetail(
    await client("POST", `/v1/tasks/${id}/run`, { request: { body: "long" } }),
    422,
    /4/,
  );
  const { body } = await client("POST", "/v1/tasks/bulk", {
    items: [{ ...HOURLY, ...long }, HOURLY],
  });
  assert.deepEqual(
    body.items.map((item: { status: number }) => item.status),
    [422, 429],
  );
  await api.control.setQuotas(ACME, { tasksMax: 4 });
  await api.clock.advance(60_000);
  const { items } = (await client("POST", "/v1/tasks/bulk", { items: [HOURLY, HOURLY, HOURLY] }))
    .body;
  assert.match(items[2].problem.detail, /has 4 tasks, of at most 4/);
});

test("a completed task that goes on counts as a new one: by PATCH and PUT; a pause is never refused", async () => {
  await using api = await openApiInMemory();
  await api.control.setQuotas(ACME, { tasksMax: 1 });
  const ended = (await api.acme("POST", "/v1/tasks", { ...HOURLY, name: "a" })).body;
  const { tables } = api.shards;
  const complete = () => {
    const task = tables.tasks.get(ended.id);
    assert.ok(task);
    tables.tasks.set(task.id, { ...task, status: "completed", nextRunAtMs: null });
  };
  complete();
  const open = (await api.acme("POST", "/v1/tasks", { ...HOURLY, name: "b" })).body;
  const { schedule } = HOURLY;
  const path = `/v1/tasks/${ended.id}`;
  const patch = () => api.acme("PATCH", path, { schedule: { ...schedule, seconds: 7_200 } });
  const full = await patch();
  assertDetail(full, 429, /has 1 tasks, of at most 1 \(quota tasksMax\)/);
  assert.equal(full.headers.get("retry-after"), "60");
  const put = { ...HOURLY, schedule: { ...schedule, seconds: 7_200 } };
  assertDetail(await api.acme("PUT", "/v1/tasks/by-name/a", put), 429, /tasksMax/);
  const { id } = (await api.acme("POST", `${path}/run`)).body;
  const job = tables.jobs.get(id);
  assert.ok(job);
  const ahead = { trigger: "schedule", scheduledAtMs: api.clock.nowMs() + 20_000 } as const;
  tables.jobs.set(job.id, { ...job, ...ahead });
  assert.equal((await api.acme("POST", `${path}/pause`)).status, 200);
  complete();
  assert.equal((await api.acme("PATCH", path, { description: "d" })).status, 200);
  await api.acme("DELETE", `/v1/tasks/${open.id}`);
  const revived = await patch();
  assert.deepEqual([revived.status, revived.body.status], [200, "active"]);
});

test("a quota lowered since stands in no other change's way", async () => {
  await using api = await openApiInMemory();
  const { id } = (await api.acme("POST", "/v1/tasks", HOURLY)).body;
  await api.control.setQuotas(ACME, { tasksMax: 0, bodyBytesMax: 0, minIntervalSeconds: 86_400 });
  await api.clock.advance(60_000);
  const path = `/v1/tasks/${id}`;
  for (const patch of [
    { tags: ["x"] },
    { captureResponse: false },
    { request: { headers: { "x-a": "1" } } },
    { request: { url: "https://example.com/other", body: "x" } },
    { timeoutSeconds: 7 },
  ]) {
    const { status, text } = await api.acme("PATCH", path, patch);
    assert.equal(status, 200, text);
  }
  for (const request of [{ body: "y" }, { bodyBase64: "eA==" }])
    assertDetail(await api.acme("PATCH", path, { request }), 422, /bodyBytesMax/);
  const schedule = { type: "every", seconds: 3_601 };
  assertDetail(await api.acme("PATCH", path, { schedule }), 422, /minIntervalSeconds/);
  assert.equal((await api.acme("PATCH", path, { request: { body: null } })).status, 200);
});

test("captureResponse is a task's own, and part of what its versions keep", async () => {
  await using api = await openApiInMemory();
  const off = { ...HOURLY, captureResponse: false };
  const { id, captureResponse } = (await api.acme("POST", "/v1/tasks", off)).body;
  assert.equal(captureResponse, false);
  const path = `/v1/tasks/${id}`;
  assert.equal(
    (await api.acme("PATCH", path, { request: { body: "y" } })).body.captureResponse,
    false,
  );
  assert.equal(
    (await api.acme("PATCH", path, { captureResponse: null })).body.captureResponse,
    true,
  );
  const { body } = await api.acme("GET", path);
  assert.deepEqual([body.captureResponse, body.version], [true, 3]);
  assert.deepEqual(Object.keys(body.request).sort(), ["body", "headers", "method", "url"]);
});
