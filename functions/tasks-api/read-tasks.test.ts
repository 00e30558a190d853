/** Lists by pages, and occurrences to come. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openApiInMemory } from "#test/support/api-in-memory.ts";
import { assertProblem, created, DAILY } from "#test/support/task-requests.ts";

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
  const most = await api.acme("GET", `/v1/tasks/${id}/upcoming?count=100`);
  assert.equal(most.body.items.length, 100);
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

test("the preview of an `at` that has passed says that a task made with it runs at once", async () => {
  await using api = await openApiInMemory();
  const preview = async (at: string, after?: string) => {
    const schedule = { type: "at", at };
    return (await api.acme("POST", "/v1/schedules/preview", { schedule, after })).body;
  };
  for (const at of ["2026-06-01T08:59:59Z", "2026-06-01T09:00:00Z"]) {
    const warnings = ["the time has passed: a task that POST makes with it runs at once"];
    assert.deepEqual(await preview(at), { items: [], warnings });
    const { nextRunAt } = await created(api.acme, { schedule: { type: "at", at } });
    assert.equal(nextRunAt, "2026-06-01T09:00:00.000Z");
  }
  assert.deepEqual((await preview("2026-06-01T09:00:01Z")).warnings, []);
  const none = await preview("2026-06-01T09:00:01Z", "2026-06-01T10:00:00Z");
  assert.deepEqual(none, { items: [], warnings: [] });
});

test("a task is read by its name as by its id; without a name it is called by the id", async () => {
  await using api = await openApiInMemory();
  const read = (name: string, as = api.acme) =>
    as("GET", `/v1/tasks/by-name/${encodeURIComponent(name)}`);
  for (const name of ["nightly digest", "100%25", "a/b?c#d", "日本語", "jobs"]) {
    const { id } = await created(api.acme, { name });
    const [byId, byName] = [await api.acme("GET", `/v1/tasks/${id}`), await read(name)];
    assert.deepEqual([byName.status, byName.body], [200, byId.body], name);
    assert.equal(byName.headers.get("etag"), byId.headers.get("etag"));
    assertProblem(await read(name, api.as("other")), 404);
    await api.acme("DELETE", `/v1/tasks/${id}`);
    assertProblem(await read(name), 404);
  }
  const { id } = await created(api.acme);
  assert.equal((await read(id)).body.id, id);
  assert.equal((await read(id, api.as("acme", ["read"]))).status, 200);
  assertProblem(await read(id, api.as("acme", ["write"])), 403);
  assertProblem(await read("Nightly digest"), 404);
  assertProblem(await read(" a"), 422, ["name"]);
  assertProblem(await api.acme("GET", `/v1/tasks/by-name/${id}?limit=1`), 422, ["limit"]);
  for (const path of ["/v1/tasks/by-name/", "/v1/tasks/by-name/a/b"])
    assertProblem(await api.acme("GET", path), 404);
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
    ["tag=even&tag=odd", "tag"],
    ["colour=red", "colour"],
  ] as const)
    assertProblem(await list(query), 422, [field]);
});
