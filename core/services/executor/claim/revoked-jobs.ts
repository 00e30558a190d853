import type { JobId, TaskId } from "#core/domain/ids.ts";
import type { Revocation } from "#core/ports/job-store.ts";

/** Whether a revocation names a job, claimed before it or after it. */
export function jobsNamedBy(
  revocations: readonly Revocation[],
): (job: { readonly id: JobId; readonly taskId: TaskId }) => boolean {
  const tasks = new Set<TaskId>();
  const jobs = new Set<JobId>();
  for (const { taskId, jobId } of revocations) {
    if (jobId === null) tasks.add(taskId);
    else jobs.add(jobId);
  }
  return ({ id, taskId }) => tasks.has(taskId) || jobs.has(id);
}
