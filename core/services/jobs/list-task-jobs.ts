import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { TaskJobsFilter } from "#core/ports/job-store.ts";
import type { JobServiceDeps, JobWithRequest } from "./get-job.ts";
import { withRequests } from "./get-job.ts";

/**
 * Up to `limit` jobs of a task, newest first, with ids below `before`; `more` tells whether any follow. The task may be deleted;
 * null when the tenant never had it.
 */
export async function listTaskJobs(
  { shards }: JobServiceDeps,
  tenantId: TenantId,
  taskId: TaskId,
  filter: TaskJobsFilter,
  before: JobId | null,
  limit: number,
): Promise<{ readonly items: readonly JobWithRequest[]; readonly more: boolean } | null> {
  const shard = shards.forTask(taskId);
  if (!(await shard.tasks.exists(tenantId, taskId))) return null;
  const found = await shard.jobs.listByTask(tenantId, taskId, filter, before, limit + 1);
  const items = await withRequests(shard, found.slice(0, limit));
  return { items, more: found.length > limit };
}
