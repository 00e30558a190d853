/** Holds an answer of the API against what its documentation promises. Every client of the tests does so with every answer. */
import assert from "node:assert/strict";
import { problemSchema } from "#functions/_shared/answer-types.ts";
import { CONTRACTS, openApiDocument } from "#functions/_shared/openapi.ts";
import { PROBLEM_TYPE } from "#functions/_shared/problem.ts";
import { ROUTES, type Route } from "#functions/_shared/routes.ts";
import { matchRoute } from "#local/gateway-routes.ts";

export interface CheckedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
}

/** What the gateway answers by itself, on any path. */
const OF_THE_GATEWAY = [400, 404, 405, 408, 413, 429, 431, 500, 504];

/** Fails when the status is not documented, or the body is not what the operation's contract says, to the field. */
export function checkAnswer(method: string, target: string, answer: CheckedAnswer): void {
  const [path = ""] = target.split("?");
  const match = matchRoute<Route>(ROUTES, method, path);
  const label = `${method} ${path} ${answer.status}`;
  assert.ok(answer.headers.get("x-request-id") || match.kind !== "found" || answer.status >= 400);
  if (answer.status >= 400) {
    assert.equal(answer.headers.get("content-type"), PROBLEM_TYPE, label);
    const checked = problemSchema.safeParse(answer.body);
    assert.ok(checked.success, `${label}: ${checked.error?.message} ${answer.text}`);
    if (OF_THE_GATEWAY.includes(answer.status)) return;
  }
  assert.ok(match.kind === "found", label);
  const { route } = match;
  const documented = openApiDocument().paths[route.path]?.[method.toLowerCase()]?.responses ?? {};
  assert.ok(String(answer.status) in documented, `${label}: not documented: ${answer.text}`);
  const contract = CONTRACTS[route.operation]?.answers[answer.status];
  if (contract === undefined) return;
  for (const name of contract.headers ?? [])
    assert.ok(answer.headers.has(name), `${label} ${name}`);
  const { schema, contentType = "application/json" } = contract;
  if (schema === null) {
    assert.equal(answer.text, "", label);
    return;
  }
  assert.equal(answer.headers.get("content-type")?.split(";")[0], contentType, label);
  const checked = schema.safeParse(contentType === "application/json" ? answer.body : answer.text);
  assert.ok(checked.success, `${label}: ${checked.error?.message} ${answer.text.slice(0, 2_000)}`);
}
