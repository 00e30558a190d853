/** PUT by name: makes a task or replaces it, under If-Match and If-None-Match. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { QUOTAS_DEFAULT } from "#core/domain/quotas.ts";
import type { TaskServiceDeps } from "#core/services/tasks/task-settings.ts";
import { openApiInMemory } from "#test/support/api-in-memory.ts";
import { assertDetail } from "#test/support/task-requests.ts";
import { putOperation } from "./create-operations.ts";

const HOURLY = {
  schedule: { type: "every", seconds: 3_600 },
  request: { url: "https://example.com/hook", body: "x" },
};
const ACME = "acme" as TenantId;

test("PUT makes the task of that name, then replaces it as a whole, and keeps its id", async () => {
  await using api = await openApiInMemory();
  const path = `/v1/tasks/by-name/${encodeURIComponent("nightly/digest ü")}`;
  const made = await api.acme("PUT", path, { ...HOURLY, tags: ["x"], priority: "high" });
  assert.equal(made.status, 201);
  assert.equal(made.body.name, "nightly/digest ü");
  assert.equal(made.headers.get("location"), `/v1/tasks/${made.body.id}`);
  const same = await api.acme("PUT", path, { ...HOURLY, tags: ["x"], priority: "high" });
  assert.deepEqual([same.status, same.body], [200, made.body]);
  const replaced = await api.acme("PUT", path, { ...HOURLY, name: "nightly/digest ü" });
  assert.deepEqual(
    [replaced.status, replaced.body.id, replaced.body.tags, replaced.body.priority],
    [200, made.body.id, [], "normal"],
  );
  assert.match(replaced.headers.get("etag") ?? "", /^"2-/);
  assert.equal(replaced.body.nextRunAt, made.body.nextRunAt);
  assertDetail(await api.acme("PUT", path, { ...HOURLY, name: "other" }), 422, /^name: /);
  assertDetail(await api.acme("PUT", "/v1/tasks/by-name/%20a", HOURLY), 422, /^name: /);
  assertDetail(await api.acme("PUT", path, {}), 422, /required/);
});

test("PUT of the same numbers, spelled in another way, changes no version", async () => {
  await using api = await openApiInMemory();
  const path = "/v1/tasks/by-name/digest";
  const put = async (jitter: string) => {
    const raw = JSON.stringify({ ...HOURLY, retry: { jitter: "JITTER" } });
    return api.acme("PUT", path, undefined, { raw: raw.replace('"JITTER"', jitter) });
  };
  for (const jitter of ["0", "-0.0", "0e1", "-0"])
    assert.equal((await put(jitter)).body.version, 1, jitter);
});

test("PUT finds by its encoded name what POST has made, and decodes a name once", async () => {
  await using api = await openApiInMemory();
  for (const name of ["nightly digest", "100%25", "a+b@c", "日本語/ü", "...", ".a"]) {
    const made = await api.acme("POST", "/v1/tasks", { ...HOURLY, name });
    const path = `/v1/tasks/by-name/${encodeURIComponent(name)}`;
    const put = await api.acme("PUT", path, { ...HOURLY, name });
    assert.deepEqual([put.status, put.body.id, put.body.name], [200, made.body.id, name], put.text);
  }
});

test("PUT with a name that cannot be decoded is 400, also where the gateway lets it pass", async () => {
  const request = {
    principal: { tenantId: ACME, scopes: ["write"], quotas: QUOTAS_DEFAULT },
    pathParameters: { name: "50%" },
    query: {},
    json: HOURLY,
    bodyBytes: 1,
    deadlineMs: 1_000,
    abandoned: undefined,
    header: () => undefined,
  } as const;
  await assert.rejects(putOperation({} as TaskServiceDeps, request), { status: 400 });
});

test("PUT honours If-Match and If-None-Match", async () => {
  await using api = await openApiInMemory();
  const path = "/v1/tasks/by-name/digest";
  const put = (headers: Record<string, string>) => api.acme("PUT", path, HOURLY, { headers });
  assertDetail(await put({ "if-match": '"1"' }), 412, /no task of this name/);
  assertDetail(await put({ "if-match": "*" }), 412, /no task of this name/);
  assertDetail(await put({ "if-none-match": '"1"' }), 422, /only be \*/);
  for (const both of ['"1"', "*"])
    assertDetail(await put({ "if-none-match": "*", "if-match": both }), 422, /with If-Match/);
  assert.equal((await put({ "if-none-match": "*" })).status, 201);
  const exists = await put({ "if-none-match": "*" });
  const etag = exists.headers.get("etag") ?? "";
  assertDetail(exists, 412, new RegExp(`has the ETag ${etag},`));
  assertDetail(await put({ "if-match": '"7"' }), 412, new RegExp(etag));
  assert.equal((await put({ "if-match": etag })).status, 200);
  assertDetail(await put({ "if-match": "1" }), 422, /^If-Match: has to be an ETag in its quotes/);
  assert.equal((await put({ "if-match": '"1"' })).status, 200);
  assert.equal((await put({ "if-match": '"7", "1"' })).status, 200);
  assert.equal((await put({ "if-match": "*" })).status, 200);
});

test("an ETag is of a task, not of its name: the one that is made under the name of another has its own", async () => {
  await using api = await openApiInMemory();
  const path = "/v1/tasks/by-name/digest";
  const first = await api.acme("PUT", path, HOURLY);
  const headers = { "if-match": first.headers.get("etag") ?? "" };
  assert.equal((await api.acme("PUT", path, HOURLY, { headers })).status, 200);
  await api.acme("DELETE", `/v1/tasks/${first.body.id}`);
  const second = await api.acme("PUT", path, { ...HOURLY, description: "another's" });
  assert.deepEqual([second.status, second.body.version], [201, first.body.version]);
  const stale = await api.acme("PUT", path, HOURLY, { headers });
  assert.equal(stale.status, 412);
  assert.equal(stale.headers.get("etag"), second.headers.get("etag"));
  const byId = `/v1/tasks/${second.body.id}`;
  for (const method of ["PATCH", "DELETE"])
    assert.equal((await api.acme(method, byId, {}, { headers })).status, 412, method);
  assert.deepEqual((await api.acme("GET", byId)).body, second.body);
});

test("20 PUTs of one new name at once: one makes it, all succeed", async () => {
  await using api = await openApiInMemory();
  const puts = Array.from({ length: 20 }, () =>
    api.acme("PUT", "/v1/tasks/by-name/digest", HOURLY),
  );
  const answers = await Promise.all(puts);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [
    ...Array.from({ length: 19 }, () => 200),
    201,
  ]);
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
});
