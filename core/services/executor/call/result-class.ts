import type { CallOutcome } from "#core/ports/caller.ts";
import type { CounterName } from "#core/ports/metrics.ts";

/** Failures with a class of their own, by code; any other happened on the way. */
const CLASSES: Readonly<Record<string, CounterName>> = {
  timeout: "results_timeout",
  interrupted: "interrupted",
  "destination-not-allowed": "results_refused",
  "request-invalid": "results_refused",
  "auth-failed": "results_refused",
  "secret-missing": "results_refused",
  "secret-other-origin": "results_refused",
  "secret-unreadable": "results_secrets",
  "secrets-unavailable": "results_secrets",
};

/** The counter of an attempt's end. */
export function resultClass(outcome: CallOutcome): CounterName {
  if (outcome.kind === "failed") return CLASSES[outcome.error] ?? "results_network";
  const { statusCode } = outcome;
  if (statusCode >= 200 && statusCode < 300) return "results_2xx";
  if (statusCode < 400) return "results_3xx";
  return statusCode < 500 ? "results_4xx" : "results_5xx";
}
