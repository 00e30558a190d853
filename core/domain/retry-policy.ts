/** When a failed call is made again: exponential backoff with jitter, capped, never overflowing. */
import { assert } from "./assert.ts";
import { ATTEMPTS_MAX, RETRY_DELAY_MS_MAX } from "./limits.ts";

export interface RetryPolicy {
  /** Calls altogether, 1 to ATTEMPTS_MAX. */
  readonly maxAttempts: number;
  readonly initialDelaySeconds: number;
  readonly factor: number;
  readonly maxDelaySeconds: number;
  /** Share of the delay by which it varies at random, both ways: 0 to 1. */
  readonly jitter: number;
}

export const RETRY_DEFAULT: RetryPolicy = {
  maxAttempts: 5,
  initialDelaySeconds: 10,
  factor: 3,
  maxDelaySeconds: 21_600,
  jitter: 0.2,
};

/** How one HTTP call ended. `error` is a stable code such as `timeout`, `connection-refused`. */
export type CallEnd =
  | { readonly kind: "answered"; readonly statusCode: number; readonly retryAfterMs: number | null }
  | { readonly kind: "failed"; readonly error: string };

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

/** 2xx is a success, 410 Gone ends the job, everything else is retried. */
export function judge(end: CallEnd): Verdict {
  if (end.kind === "failed") return { kind: "failure", retryAfterMs: null };
  if (end.statusCode >= 200 && end.statusCode < 300) return { kind: "success" };
  if (end.statusCode === 410) return { kind: "final", reason: "endpoint answered 410 Gone" };
  return { kind: "failure", retryAfterMs: end.retryAfterMs };
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
  const exponent = Math.min(failures - 1, ATTEMPTS_MAX * 4);
  // A factor may grow beyond all numbers, and no delay at all times that is not a number.
  const initialMs = policy.initialDelaySeconds * 1_000;
  const base = initialMs === 0 ? 0 : Math.min(initialMs * policy.factor ** exponent, capMs);
  const varied = base * (1 + policy.jitter * (2 * unit - 1));
  const asked = retryAfterMs === null ? 0 : Math.min(Math.max(0, retryAfterMs), capMs);
  return Math.round(Math.min(Math.max(varied, asked), capMs));
}
