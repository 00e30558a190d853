/** What the cache of versions keeps, and what it forgets to stay within its bytes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskId } from "#core/domain/ids.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import { VersionCache } from "./version-cache.ts";

const BYTES_MAX = 100_000;
const KEPT_MAX = 2_000;

/** How many versions of this request are kept. */
function keptOf(request: Partial<HttpRequest>): number {
  const cache = new VersionCache(BYTES_MAX);
  const ids = Array.from({ length: KEPT_MAX }, (_, n) => `task${n}` as TaskId);
  const whole = {
    ...{ method: "POST", url: "https://example.com/", headers: {}, body: null, bodyBase64: null },
    ...request,
  };
  for (const taskId of ids)
    cache.keep({ taskId, requestVersion: 1, request: whole, retry: RETRY_DEFAULT });
  const kept = ids.filter((taskId) => cache.find(taskId, 1) !== null);
  assert.deepEqual(kept, ids.slice(ids.length - kept.length), "the oldest go first");
  return kept.length;
}

test("everything of a version that may be long counts, wherever it stands", () => {
  const long = "x".repeat(2_000);
  const client = { type: "oauth2", tokenUrl: "", clientId: "", scope: null } as const;
  const requests: Record<string, Partial<HttpRequest>> = {
    url: { url: long },
    headerName: { headers: { [long]: "" } },
    headerValue: { headers: { "x-a": long } },
    body: { body: long },
    bodyBase64: { bodyBase64: long },
    secretHeader: { secretHeaders: [long] },
    username: { auth: { type: "basic", username: long } },
    tokenUrl: { auth: { ...client, tokenUrl: long } },
    clientId: { auth: { ...client, clientId: long } },
    scope: { auth: { ...client, scope: long } },
  };
  for (const [where, request] of Object.entries(requests)) {
    const kept = keptOf(request);
    assert.ok(kept >= BYTES_MAX / 5_000 && kept <= BYTES_MAX / 4_000, `${where}: ${kept}`);
  }
});

test("many short names count for more than their characters: a text is an object", () => {
  const names = Array.from({ length: 50 }, (_, n) => `x-${n}`);
  const heldBytes = 50 * 30;
  assert.ok(keptOf({ secretHeaders: names }) <= BYTES_MAX / heldBytes);
  const headers = Object.fromEntries(names.map((name) => [name, ""]));
  assert.ok(keptOf({ headers }) <= BYTES_MAX / (2 * heldBytes));
  assert.ok(keptOf({}) >= BYTES_MAX / 700);
});

test("what was found last stays longest, and what is too large alone is not kept", () => {
  const cache = new VersionCache(3_000);
  const version = (n: number, url = "") => ({
    taskId: `task${n}` as TaskId,
    requestVersion: 1,
    request: { method: "GET", url, headers: {}, body: null, bodyBase64: null },
    retry: RETRY_DEFAULT,
  });
  const has = (n: number) => cache.find(`task${n}` as TaskId, 1) !== null;
  for (let n = 1; n <= 5; n++) cache.keep(version(n));
  assert.ok(has(1));
  cache.keep(version(6));
  assert.deepEqual([1, 2, 3, 4, 5, 6].map(has), [true, false, true, true, true, true]);
  cache.keep(version(7, "x".repeat(1_500)));
  assert.deepEqual([1, 3, 4, 5, 6, 7].map(has), [true, true, true, true, true, false]);
});
