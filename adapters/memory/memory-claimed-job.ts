/** A job as its holder gets it, and a claim as it stands before its COMMIT is answered. */
import type { Job } from "#core/domain/job.ts";
import type { ClaimedJob, ClaimRequest, UnknownClaim } from "#core/ports/job-store.ts";

export function claimedJob(job: Job): ClaimedJob {
  return {
    id: job.id,
    taskId: job.taskId,
    tenantId: job.tenantId,
    taskVersion: job.taskVersion,
    trigger: job.trigger,
    queue: job.queue,
    scheduledAtMs: job.scheduledAtMs,
    runAtMs: job.runAtMs,
    dueAtMs: job.dueAtMs,
    claimNo: job.claimNo,
    attempt: job.attempt,
    lost: job.lost,
    maxAttempts: job.maxAttempts,
    timeoutMs: job.timeoutMs,
    limitKey: job.limitKey,
  };
}

export function unknownClaim(
  { workerId }: Pick<ClaimRequest, "workerId">,
  jobs: readonly Job[],
  claimedAtMs: number,
): UnknownClaim {
  return { workerId, claimedAtMs, jobs: jobs.map(claimedJob) };
}
