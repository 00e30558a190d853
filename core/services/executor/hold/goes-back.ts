/** Which of the jobs in hand go back unsent; what each is for, and when, is said where it is asked. */
import type { LimitKey } from "#core/domain/call-limit.ts";
import { BACKSTOP_GUARD_MS, CLAIM_AHEAD_MS, POLL_PERIOD_MS_MAX } from "#core/domain/limits.ts";
import type { HeldJob } from "./held-job.ts";

/** Before the backstop of a job that waits: less would be too little for a call, or for the next look. */
const BACKSTOP_LEFT_MS = BACKSTOP_GUARD_MS + 2 * POLL_PERIOD_MS_MAX;
/** No claim goes further ahead. */
const CLAIMED_AHEAD_MS_MAX = POLL_PERIOD_MS_MAX + CLAIM_AHEAD_MS;

/** Limited, and let go. */
export function isAdmitted({ phase, job }: HeldJob): boolean {
  return job.limitKey !== null && (phase === "ready" || phase === "preparing");
}

/** Of one of these lines, and held back by its limits. */
export function isHeldIn(keys: ReadonlySet<LimitKey>): (held: HeldJob) => boolean {
  return ({ phase, job: { limitKey } }) =>
    limitKey !== null && keys.has(limitKey) && (phase === "limited" || phase === "early");
}

/** It has waited for its limits or a slot for so long that its call might not end before its backstop. */
export function isNearBackstop(nowMs: number): (held: HeldJob) => boolean {
  return ({ phase, job }) =>
    (phase === "limited" || phase === "ready") &&
    nowMs + job.timeoutMs + BACKSTOP_LEFT_MS > job.dueAtMs;
}

/** No claim would take it yet: the database's clock was set back. */
export function isFarAhead(nowMs: number): (held: HeldJob) => boolean {
  return ({ phase, job }) => phase === "early" && job.runAtMs > nowMs + CLAIMED_AHEAD_MS_MAX;
}
