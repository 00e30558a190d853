/** When an executor polls: each has its place in a period that all share, by its rank among those that live. */
import { POLL_PERIOD_MS, POLL_PERIOD_MS_MAX } from "#core/domain/limits.ts";
import type { Poll } from "#core/ports/job-store.ts";

/** After a take of limited jobs that may have been too small, the next poll comes so soon. */
const POLL_AGAIN_MS = 20;
/** Of the period, the least that is between a claim and the next poll, however long claims take. */
const PAUSE_ONE_IN = 10;

/** Five polls a second altogether for up to ten executors; none is ever more than two seconds behind. */
export function pollPeriodMs({ liveWorkers }: Pick<Poll, "liveWorkers">): number {
  return Math.min(POLL_PERIOD_MS_MAX, POLL_PERIOD_MS * Math.max(1, liveWorkers));
}

/** Ms until the next poll, when `spentMs` have passed since the last one; `soon`: lines want another before its place. */
export function untilNextPollMs(poll: Poll, spentMs: number, soon: boolean): number {
  const periodMs = pollPeriodMs(poll);
  const placeMs = Math.max(periodMs / PAUSE_ONE_IN, untilPlace(poll, periodMs) - spentMs);
  return soon ? Math.min(POLL_AGAIN_MS, placeMs) : placeMs;
}

/** Ms from the poll's now to the next instant of this executor's place in the period; one that is near is this poll's own. */
function untilPlace(poll: Poll, periodMs: number): number {
  const placeMs = (poll.rank * periodMs) / Math.max(1, poll.liveWorkers);
  const intoMs = poll.nowMs % periodMs;
  const leftMs = (placeMs - intoMs + periodMs) % periodMs;
  return leftMs < periodMs / PAUSE_ONE_IN ? leftMs + periodMs : leftMs;
}
