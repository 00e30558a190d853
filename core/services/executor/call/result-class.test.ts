import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallError } from "#core/domain/call-error.ts";
import type { CallOutcome } from "#core/ports/caller.ts";
import type { CounterName } from "#core/ports/metrics.ts";
import { resultClass } from "./result-class.ts";

function answered(statusCode: number): CallOutcome {
  return { kind: "answered", statusCode, retryAfterMs: null, responseBody: "", durationMs: 1 };
}

test("every attempt is counted in one class", () => {
  const classes = [100, 199, 200, 204, 299, 300, 307, 400, 410, 499, 500, 503, 599].map(
    (statusCode) => [statusCode, resultClass(answered(statusCode))],
  );
  assert.deepEqual(classes, [
    [100, "results_3xx"],
    [199, "results_3xx"],
    [200, "results_2xx"],
    [204, "results_2xx"],
    [299, "results_2xx"],
    [300, "results_3xx"],
    [307, "results_3xx"],
    [400, "results_4xx"],
    [410, "results_4xx"],
    [499, "results_4xx"],
    [500, "results_5xx"],
    [503, "results_5xx"],
    [599, "results_5xx"],
  ]);
  const failures: Readonly<Record<CallError, CounterName>> = {
    timeout: "results_timeout",
    interrupted: "interrupted",
    dns: "results_network",
    "connection-refused": "results_network",
    "connection-reset": "results_network",
    tls: "results_network",
    protocol: "results_network",
    network: "results_network",
    "destination-not-allowed": "results_refused",
    "request-invalid": "results_refused",
    "auth-failed": "results_refused",
    "secret-missing": "results_refused",
    "secret-other-origin": "results_refused",
    "secret-unreadable": "results_secrets",
    "secrets-unavailable": "results_secrets",
    "version-missing": "results_refused",
  };
  for (const error of Object.keys(failures) as CallError[])
    assert.equal(resultClass({ kind: "failed", error, durationMs: 1 }), failures[error], error);
});
