import type { CallError } from "#core/domain/call-error.ts";
import { isSuccess } from "#core/domain/retry-policy.ts";
import type { CallOutcome } from "#core/ports/caller.ts";
import type { CounterName } from "#core/ports/metrics.ts";

const CLASSES: Readonly<Record<CallError, CounterName>> = {
  timeout: "results_timeout",
  dns: "results_network",
  "destination-not-allowed": "results_refused",
  "connection-refused": "results_network",
  "connection-reset": "results_network",
  tls: "results_network",
  protocol: "results_network",
  "request-invalid": "results_refused",
  network: "results_network",
  interrupted: "interrupted",
  "auth-failed": "results_refused",
  "secret-missing": "results_refused",
  "secret-other-origin": "results_refused",
  "secret-unreadable": "results_secrets",
  "secrets-unavailable": "results_secrets",
  "version-missing": "results_refused",
};

/** The counter of an attempt's end. */
export function resultClass(outcome: CallOutcome): CounterName {
  if (outcome.kind === "failed") return CLASSES[outcome.error];
  const { statusCode } = outcome;
  if (isSuccess(statusCode)) return "results_2xx";
  if (statusCode < 400) return "results_3xx";
  return statusCode < 500 ? "results_4xx" : "results_5xx";
}
