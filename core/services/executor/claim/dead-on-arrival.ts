/** How a job ends whose request cannot be read, whatever attempts it has left: nothing was called, and nothing ever could be. */
import type { JobResult } from "#core/ports/job-store.ts";
import { type Claimed, dueMsOf, heldKey } from "../hold/held-job.ts";

/** `claimedAtMs` and `nowMs` are of the database's clock. */
export function deadOnArrival(claimed: Omit<Claimed, "version">, nowMs: number): JobResult {
  const { job, claimedAtMs } = claimed;
  const startedAtMs = Math.floor(nowMs);
  return {
    ...heldKey(claimed),
    record: {
      attempt: job.attempt,
      claimedAtMs,
      startedAtMs,
      lagMs: startedAtMs - dueMsOf(job),
      durationMs: 0,
      statusCode: null,
      error: "version-missing",
      responseBody: null,
    },
    kind: "fail",
    retryAtMs: startedAtMs,
    retryQueue: job.queue,
    finalReason: "its request version does not exist",
    maybeDead: true,
  };
}
