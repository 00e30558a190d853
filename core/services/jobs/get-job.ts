import type { JobId, TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { requestOfJob } from "#core/domain/request-of-job.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";

/** A job with what it sends; `request` is null when its version is gone. */
export interface JobWithRequest {
  readonly job: Job;
  readonly request: HttpRequest | null;
}

export interface JobServiceDeps {
  readonly shards: Shards;
}

/** A job of the tenant, also of a task that is deleted; null when there is none. */
export async function getJob(
  { shards }: JobServiceDeps,
  tenantId: TenantId,
  jobId: JobId,
): Promise<JobWithRequest | null> {
  const shard = shards.forJob(jobId);
  const job = await shard.jobs.find(tenantId, jobId);
  if (job === null) return null;
  const [found = null] = await withRequests(shard, [job]);
  return found;
}

/** Adds to each job the request of its version, all versions read at once. */
export async function withRequests(shard: Shard, jobs: readonly Job[]): Promise<JobWithRequest[]> {
  const keys = new Map(jobs.map((job) => [keyOf(job.taskId, job.taskVersion), job] as const));
  const versions =
    keys.size === 0
      ? []
      : await shard.tasks.loadVersions(
          [...keys.values()].map(({ taskId, taskVersion }) => ({
            taskId,
            requestVersion: taskVersion,
          })),
        );
  const byKey = new Map(
    versions.map((version) => [keyOf(version.taskId, version.requestVersion), version]),
  );
  return jobs.map((job) => {
    const version = byKey.get(keyOf(job.taskId, job.taskVersion));
    return { job, request: version === undefined ? null : requestOfJob(job, version.request) };
  });
}

function keyOf(taskId: string, version: number): string {
  return `${taskId} ${version}`;
}
