import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointKey, type LimitKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { openApiInMemory } from "#test/support/api-in-memory.ts";

const ACME = "acme" as TenantId;
const TASK = { schedule: { type: "every", seconds: 3_600 } };

test("with caps for each endpoint, every way of writing a task's URL sets them, before the task has jobs", async () => {
  await using api = await openApiInMemory();
  await api.control.setEndpointLimit(ACME, { concurrency: 3 });
  const { limits } = api.shards.forTenant(ACME);
  const capOf = async (url: string) => {
    const key = endpointKey(ACME, url) as LimitKey;
    return (await limits.find(key))?.maxConcurrency ?? null;
  };
  const made = await api.acme("POST", "/v1/tasks", {
    ...TASK,
    request: { url: "https://one.example.com/a" },
  });
  assert.equal(await capOf("https://one.example.com"), 3);
  const ran = await api.acme("POST", `/v1/tasks/${made.body.id}/run`);
  assert.equal(ran.body.status, "waiting");
  const items = ["two", "three"].map((host) => ({
    ...TASK,
    request: { url: `https://${host}.example.com` },
  }));
  await api.acme("POST", "/v1/tasks/bulk", { items });
  assert.equal(await capOf("https://two.example.com"), 3);
  assert.equal(await capOf("https://three.example.com"), 3);
  const path = `/v1/tasks/${made.body.id}`;
  await api.acme("PATCH", path, { request: { url: "https://four.example.com" } });
  assert.equal(await capOf("https://four.example.com"), 3);
  await api.acme("PUT", "/v1/tasks/by-name/five", {
    ...TASK,
    request: { url: "https://five.example.com" },
  });
  await api.acme("PUT", "/v1/tasks/by-name/five", {
    ...TASK,
    request: { url: "https://six.example.com" },
  });
  assert.equal(await capOf("https://five.example.com"), 3);
  assert.equal(await capOf("https://six.example.com"), 3);
});

test("what is refused leaves no caps behind", async () => {
  await using api = await openApiInMemory();
  await api.control.createTenant("full" as TenantId, "full");
  for (const id of ["full", ACME] as TenantId[])
    await api.control.setEndpointLimit(id, { concurrency: 3 });
  const toHost = (host: string) => ({ request: { url: `https://${host}.example.com` } });
  const { id } = (await api.acme("POST", "/v1/tasks", { ...TASK, ...toHost("one"), name: "a" }))
    .body;
  await api.control.setQuotas("full" as TenantId, { tasksMax: 0 });
  const full = api.as("full");
  const stale = { headers: { "if-match": '"7"' } };
  const answers = [
    await full("PATCH", `/v1/tasks/${id}`, toHost("two")),
    await full("POST", "/v1/tasks", { ...TASK, ...toHost("three") }),
    await full("PUT", "/v1/tasks/by-name/x", { ...TASK, ...toHost("four") }),
    await api.acme("PATCH", `/v1/tasks/${id}`, toHost("five"), stale),
    await api.acme("PUT", "/v1/tasks/by-name/a", { ...TASK, ...toHost("six") }, stale),
    await api.acme("POST", "/v1/tasks", { ...TASK, ...toHost("seven"), name: "a" }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [404, 429, 429, 412, 412, 409],
  );
  const bulk = { items: [{ ...TASK, ...toHost("eight") }] };
  await full("POST", "/v1/tasks/bulk", bulk);
  const keysOf = async (tenantId: TenantId) =>
    (await api.shards.forTenant(tenantId).limits.list(tenantId, null, 9)).map(({ key }) => key);
  assert.deepEqual(await keysOf("full" as TenantId), []);
  assert.deepEqual(await keysOf(ACME), [endpointKey(ACME, "https://one.example.com")]);
});

test("an endpoint with caps of its own keeps them; without caps for each there is no limit", async () => {
  await using api = await openApiInMemory();
  const { limits } = api.shards.forTenant(ACME);
  const key = endpointKey(ACME, "https://one.example.com") as LimitKey;
  await limits.put(key, { maxPerSecond: 9 });
  await api.acme("POST", "/v1/tasks", { ...TASK, request: { url: "https://two.example.com" } });
  assert.equal((await limits.list(ACME, null, 9)).length, 1);
  await api.control.setEndpointLimit(ACME, { concurrency: 3 });
  await api.clock.advance(60_000);
  await api.acme("POST", "/v1/tasks", { ...TASK, request: { url: "https://one.example.com" } });
  const limit = await limits.find(key);
  assert.deepEqual([limit?.maxConcurrency, limit?.maxPerSecond], [null, 9]);
});
