/** A secret is sent only to the origin for which it was given: who may write a task cannot aim the secrets that it has elsewhere. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiAnswer } from "#test/support/api-client.ts";
import { type ApiInMemory, openApiInMemory } from "#test/support/api-in-memory.ts";

const HOOK = "https://example.com/hook";
const ELSEWHERE = [
  "https://evil.example/hook",
  "https://sub.example.com/hook",
  "http://example.com/hook",
  "https://example.com:8443/hook",
];
const HERE = [
  "https://example.com/another?x=1",
  "HTTPS://EXAMPLE.com:443/hook",
  "https://example.com./hook",
];
const CLIENT = {
  type: "oauth2",
  tokenUrl: "https://login.example.com/token",
  clientId: "client",
  clientSecret: "plain-secret",
};
const GIVEN = { secretHeaders: { "X-A": "plain-a", "X-B": "plain-b" }, auth: CLIENT };
const FIELDS = ["secretHeaders.X-A", "secretHeaders.X-B", "auth.fingerprint"];

const put = (api: ApiInMemory, request: object) =>
  api.acme("PUT", "/v1/tasks/by-name/a", {
    schedule: { type: "every", seconds: 3_600 },
    request: { url: HOOK, ...request },
  });

async function open() {
  const api = await openApiInMemory();
  const { status, body: task } = await put(api, GIVEN);
  assert.equal(status, 201);
  const path = `/v1/tasks/${task.id}`;
  const patch = (request: object) => api.acme("PATCH", path, { request });
  const read = async () => (await api.acme("GET", path)).body;
  return { api, task, path, patch, read, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

function assertRefused(answer: ApiAnswer, fields: readonly string[]): void {
  assert.equal(answer.status, 422, answer.text);
  const { errors } = answer.body as { errors: { field: string; message: string }[] };
  assert.deepEqual(
    errors.map(({ field }) => field),
    fields.map((field) => `request.${field}`),
  );
  for (const { message } of errors)
    assert.match(message, /^give the secret itself, .* another scheme, host or port/);
  assert.doesNotMatch(answer.text, /plain/);
}

test("an edit that moves the request to another origin names each secret that it keeps", async () => {
  await using world = await open();
  const { api, task, patch, read } = world;
  const { secretHeaders, auth } = task.request;
  for (const url of ELSEWHERE) {
    assertRefused(await patch({ url }), FIELDS);
    assertRefused(await patch({ url, secretHeaders, auth }), FIELDS);
    assertRefused(await put(api, { url, secretHeaders, auth }), FIELDS);
    assertRefused(await patch({ url, secretHeaders: { "x-a": "plain-new" } }), FIELDS.slice(1));
    assertRefused(await patch({ url, secretHeaders: null }), FIELDS.slice(2));
    assertRefused(await patch({ url, auth: null }), FIELDS.slice(0, 2));
  }
  await api.acme("POST", `${world.path}/pause`);
  assertRefused(await patch({ url: ELSEWHERE[0] }), FIELDS);
  assert.deepEqual((await read()).request, task.request);
});

test("with its secrets given anew, be they the same, or taken away, a request may go anywhere", async () => {
  for (const url of ELSEWHERE)
    for (const [given, names] of [
      [{ secretHeaders: { "X-A": "new-a", "X-B": "plain-b" }, auth: CLIENT }, ["X-A", "X-B"]],
      [{ secretHeaders: { "X-A": null, "X-B": "plain-b" }, auth: null }, ["X-B"]],
      [{ secretHeaders: null, auth: null }, []],
    ] as const) {
      await using world = await open();
      const answer = await world.patch({ url, ...given });
      assert.equal(answer.status, 200, answer.text);
      const { request } = await world.read();
      assert.equal(request.url, url);
      assert.deepEqual(Object.keys(request.secretHeaders ?? {}), names);
    }
  await using world = await open();
  const [url] = ELSEWHERE;
  for (const request of [{ url, ...GIVEN }, { ...GIVEN }, { url }])
    assert.equal((await put(world.api, request)).status, 200);
});

test("within its origin a request keeps its secrets, however its URL is written", async () => {
  await using world = await open();
  for (const url of HERE) {
    const answer = await world.patch({ url });
    assert.equal(answer.status, 200, answer.text);
    const { url: written, ...rest } = answer.body.request;
    assert.deepEqual({ url: HOOK, ...rest }, world.task.request);
    assert.equal(written, url);
  }
});
