import assert from "node:assert/strict";
import { test } from "node:test";
import { payloadFaults } from "./payload-faults.ts";
import type { HttpRequest } from "./task.ts";

const REQUEST: HttpRequest = {
  ...{ method: "POST", url: "https://example.com/hook", headers: {} },
  ...{ body: null, bodyBase64: null },
};
const fieldsOf = (payload: object | null, changes: object) =>
  payloadFaults(payload, { ...REQUEST, ...changes }).map(({ field }) => field);

test("a run by hand lays any header over a request but the task's secrets", () => {
  const headers = { Authorization: "Bearer a", "x-key": "b" };
  assert.deepEqual(fieldsOf({ headers }, {}), []);
  assert.deepEqual(fieldsOf({ headers }, { auth: { type: "bearer" } }), [
    "request.headers.Authorization",
  ]);
  assert.deepEqual(fieldsOf({ headers }, { secretHeaders: ["X-Key"] }), ["request.headers.x-key"]);
});

test("a body of either kind is laid over a request whose method carries one", () => {
  for (const body of [{ body: "" }, { bodyBase64: "AA==" }]) {
    assert.deepEqual(fieldsOf(body, {}), []);
    for (const method of ["GET", "HEAD"])
      assert.deepEqual(fieldsOf(body, { method }), ["request.body"]);
  }
  for (const nothing of [null, {}, { headers: { a: "b" } }])
    assert.deepEqual(fieldsOf(nothing, { method: "GET" }), []);
});
