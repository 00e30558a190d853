import assert from "node:assert/strict";
import { test } from "node:test";
import { matchRoute } from "./gateway-routes.ts";

const ROUTES = [
  { method: "GET", path: "/v1/tasks/{taskId}" },
  { method: "POST", path: "/v1/tasks/bulk" },
  { method: "POST", path: "/v1/tasks/{taskId}/pause" },
  { method: "PUT", path: "/v1/tasks/by-name/{name}" },
];

test("a path that is written out is another resource than one with a parameter, as in API Gateway", () => {
  const found = (method: string, path: string) => {
    const match = matchRoute(ROUTES, method, path);
    return match.kind === "found" ? match.route.path : match;
  };
  assert.equal(found("POST", "/v1/tasks/bulk"), "/v1/tasks/bulk");
  assert.deepEqual(found("GET", "/v1/tasks/bulk"), { kind: "method-not-allowed", allow: ["POST"] });
  assert.equal(found("GET", "/v1/tasks/x"), "/v1/tasks/{taskId}");
  assert.equal(found("PUT", "/v1/tasks/by-name/pause"), "/v1/tasks/by-name/{name}");
  assert.deepEqual(found("POST", "/v1/tasks/by-name/pause"), {
    kind: "method-not-allowed",
    allow: ["PUT"],
  });
  assert.equal(found("POST", "/v1/tasks/x/pause"), "/v1/tasks/{taskId}/pause");
});

test("a parameter is handed on as it was sent, encoded, as in API Gateway", () => {
  const match = matchRoute(ROUTES, "PUT", "/v1/tasks/by-name/a%2Fb%20%C3%BC+c@d");
  assert.ok(match.kind === "found");
  assert.deepEqual(match.pathParameters, { name: "a%2Fb%20%C3%BC+c@d" });
  for (const name of ["%zz", "%ff", "a%"])
    assert.equal(matchRoute(ROUTES, "PUT", `/v1/tasks/by-name/${name}`).kind, "malformed");
});
