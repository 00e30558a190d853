import type { TaskId } from "#core/domain/ids.ts";
import type { Revocation } from "#core/ports/job-store.ts";
import type { HeldJob } from "./held-jobs.ts";

/** Whether a revocation names a job that was claimed at or before it. */
export function namedBy(
  revocations: readonly Revocation[],
): (held: Pick<HeldJob, "job" | "claimedAtMs">) => boolean {
  const byTask = new Map<TaskId, Revocation[]>();
  for (const revocation of revocations) {
    const list = byTask.get(revocation.taskId);
    if (list === undefined) byTask.set(revocation.taskId, [revocation]);
    else list.push(revocation);
  }
  return ({ job, claimedAtMs }) =>
    (byTask.get(job.taskId) ?? []).some(
      ({ jobId, atMs }) => (jobId === null || jobId === job.id) && claimedAtMs <= atMs,
    );
}
