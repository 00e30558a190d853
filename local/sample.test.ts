import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { keyIdOfHash } from "#core/domain/key-id.ts";
import { type ApiInMemory, openApiInMemory } from "#test/support/api-in-memory.ts";
import { makeSample } from "./sample.ts";
import { LOCAL_KEY } from "./settings.ts";

const DEMO = "demo" as TenantId;
const KEY_HASH = createHash("sha256").update(LOCAL_KEY).digest("hex");
const TARGET = "http://127.0.0.1:1/sample";
/** Whoever called is remembered this long. */
const REMEMBERED_MS = 60_000;

async function openDemo() {
  const api = await openApiInMemory();
  api.control.addKey(KEY_HASH, DEMO, ["read", "write", "admin"]);
  // With a key that nobody revokes.
  const call = api.as(DEMO, ["read", "write"]);
  return { api, call, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

async function after(api: ApiInMemory, change: Promise<unknown>) {
  await change;
  await api.clock.advance(REMEMBERED_MS);
  return makeSample(api.url, TARGET);
}

test("is made once, called by its name later, and set back to what it is said to do", async () => {
  await using demo = await openDemo();
  const { api, call } = demo;
  const isThere = { line: "the task 'sample' calls a local endpoint every 5 s:", isCalled: true };
  assert.deepEqual(await makeSample(api.url, TARGET), isThere);
  assert.deepEqual(await makeSample(api.url, TARGET), isThere);
  const sample = async () => (await call("GET", "/v1/tasks")).body.items[0];
  const { id, version } = await sample();
  assert.equal(version, 1);

  await call("PATCH", `/v1/tasks/${id}`, { schedule: { type: "every", seconds: 3600 } });
  assert.deepEqual(await makeSample(api.url, `${TARGET}2`), isThere);
  const { schedule, request } = await sample();
  assert.partialDeepStrictEqual(
    { schedule, request },
    { schedule: { seconds: 5 }, request: { url: `${TARGET}2` } },
  );

  await call("POST", `/v1/tasks/${id}/pause`);
  const paused = await makeSample(api.url, TARGET);
  assert.deepEqual(paused, {
    line: "the task 'sample' is paused: it makes no calls",
    isCalled: false,
  });
});

test("is there still when a quota has been lowered since", async () => {
  await using demo = await openDemo();
  const { api } = demo;
  await makeSample(api.url, TARGET);
  const lowered = { minIntervalSeconds: 60, tasksMax: 0 };
  assert.equal((await after(api, api.control.setQuotas(DEMO, lowered))).isCalled, true);
});

test("what stands in its way is said with what to do, and no error", async () => {
  for (const [change, why] of [
    [({ control }) => control.setQuotas(DEMO, { minIntervalSeconds: 60 }), "422, .*60 s"],
    [({ control }) => control.setQuotas(DEMO, { tasksMax: 0 }), "429, .*quota tasksMax"],
    [({ control }) => control.setTenantStatus(DEMO, "disabled"), "403, .*disabled"],
    [({ control }) => control.revokeKey(keyIdOfHash(KEY_HASH)), "401, .*key"],
  ] satisfies [(api: ApiInMemory) => Promise<unknown>, string][]) {
    await using demo = await openDemo();
    const { line, isCalled } = await after(demo.api, change(demo.api));
    assert.match(line, new RegExp(`^no sample task: PUT \\S+/sample answered ${why}`));
    assert.match(line, /; all else runs \('npm run admin -- --help' lists what changes/);
    assert.equal(isCalled, false);
  }
  const { line } = await makeSample("http://127.0.0.1:9", TARGET);
  assert.match(line, /^no sample task: PUT \S+ got no answer of use; all else runs/);
});
