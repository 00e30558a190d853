/**
 * Whether a failed call is made again, and when. Every failure is retried but 410 Gone, one whose answer says `Webhook-Stop: true`, and
 * secrets that are for another origin by now; a task can narrow that with `retryOn`. Delays: exponential backoff with jitter, capped,
 * never overflowing.
 */
import { assert } from "./assert.ts";
import type { CallError } from "./call-error.ts";
import { RETRY_DELAY_MS_MAX } from "./limits.ts";

export interface RetryPolicy {
  /** Calls altogether, 1 to ATTEMPTS_MAX. */
  readonly maxAttempts: number;
  readonly initialDelaySeconds: number;
  readonly factor: number;
  readonly maxDelaySeconds: number;
  /** Share of the delay by which it varies at random, both ways: 0 to 1. */
  readonly jitter: number;
  /** The failures after which another call is made: classes and status codes that match RETRY_ON. Left out: after all of them. */
  readonly retryOn?: readonly string[];
}

/**
 * `timeout`: no whole answer in time. `network`: no answer for any other reason. `3xx` (redirects are never followed), `4xx`, `5xx`
 * and single codes: what was answered. A success needs no retry, and 410 never gets one.
 */
export const RETRY_ON = /^(network|timeout|3xx|4xx|5xx|3\d\d|40\d|41[1-9]|4[2-9]\d|[5-9]\d\d)$/;

export const RETRY_DEFAULT: RetryPolicy = {
  maxAttempts: 5,
  initialDelaySeconds: 10,
  factor: 3,
  maxDelaySeconds: 21_600,
  jitter: 0.2,
};

/** How one HTTP call ended. */
export type CallEnd =
  | {
      readonly kind: "answered";
      readonly statusCode: number;
      readonly retryAfterMs: number | null;
      /** The answer asks for no further call: see asksToStop. */
      readonly stop?: boolean;
    }
  | { readonly kind: "failed"; readonly error: CallError };

export type Verdict =
  | { readonly kind: "success" }
  | { readonly kind: "failure"; readonly retryAfterMs: number | null }
  | { readonly kind: "final"; readonly reason: string };

/** "Sun, 06 Nov 1994 08:49:37 GMT": the only date form that senders may write. */
const HTTP_DATE =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Delay in ms that a `Retry-After` header asks for: seconds or an HTTP date. Null for anything else (negative, fractions,
 * more digits than a sensible delay has, a date in the past).
 */
export function parseRetryAfter(value: string, nowMs: number): number | null {
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  if (!HTTP_DATE.test(text)) return null;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) || atMs <= nowMs ? null : atMs - nowMs;
}

/** Whether the values of an answer's `Webhook-Stop` headers end the job, should it not have succeeded. */
export function asksToStop(values: readonly string[]): boolean {
  return values.some((value) => value.trim().toLowerCase() === "true");
}

/** Whether an answer of this status ends its job well. */
export function isSuccess(statusCode: number): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** A success is one whatever else the answer says; `final` is what no further call follows, with the reason the job gets. */
export function judge(end: CallEnd, { retryOn }: Pick<RetryPolicy, "retryOn">): Verdict {
  if (end.kind === "failed") {
    // Not the endpoint's doing, nor the tenant's.
    if (end.error === "secrets-unavailable") return { kind: "failure", retryAfterMs: null };
    if (end.error === "secret-other-origin")
      return { kind: "final", reason: "not called: its task's secrets are for another origin now" };
    const kind = end.error === "timeout" ? "timeout" : "network";
    const said = kind === end.error ? kind : `${kind} (${end.error})`;
    return retryOn === undefined || retryOn.includes(kind)
      ? { kind: "failure", retryAfterMs: null }
      : { kind: "final", reason: `not retried: retryOn has no ${said}` };
  }
  const { statusCode, retryAfterMs, stop } = end;
  if (isSuccess(statusCode)) return { kind: "success" };
  if (statusCode === 410) return { kind: "final", reason: "endpoint answered 410 Gone" };
  if (stop === true)
    return { kind: "final", reason: `endpoint answered ${statusCode} with Webhook-Stop` };
  const names = [String(statusCode), `${Math.floor(statusCode / 100)}xx`];
  return retryOn === undefined || names.some((name) => retryOn.includes(name))
    ? { kind: "failure", retryAfterMs }
    : { kind: "final", reason: `not retried: retryOn has no ${statusCode}` };
}

/**
 * Delay in ms before the call after the `failures`-th failed one (1 for the first).
 * `unit` is random in [0, 1). A `Retry-After` only lengthens it, and never beyond the policy's maximum.
 */
export function retryDelayMs(
  policy: RetryPolicy,
  failures: number,
  unit: number,
  retryAfterMs: number | null,
): number {
  assert(failures >= 1, "a retry follows a failure");
  assert(unit >= 0 && unit < 1, "unit is random in [0, 1)");
  const capMs = Math.min(policy.maxDelaySeconds * 1_000, RETRY_DELAY_MS_MAX);
  // A factor may grow beyond all numbers, and no delay at all times that is not a number.
  const initialMs = policy.initialDelaySeconds * 1_000;
  const base = initialMs === 0 ? 0 : Math.min(initialMs * policy.factor ** (failures - 1), capMs);
  const varied = base * (1 + policy.jitter * (2 * unit - 1));
  const asked = retryAfterMs === null ? 0 : Math.min(Math.max(0, retryAfterMs), capMs);
  return Math.round(Math.min(Math.max(varied, asked), capMs));
}
