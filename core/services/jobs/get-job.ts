import type { HistoryRequest } from "#core/domain/history.ts";
import type { JobId, TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { requestOfJob } from "#core/domain/request-of-job.ts";
import { type HttpRequest, versionKey } from "#core/domain/task.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";
import { type HistoryReaderDeps, readHistory } from "./read-history.ts";

/** A job with what it sends; `request` is null when its version is gone. */
export interface JobWithRequest {
  readonly job: Job;
  /** Of an archived job: as history keeps it, a long body as hash and size. */
  readonly request: HttpRequest | HistoryRequest | null;
}

export interface JobServiceDeps extends HistoryReaderDeps {
  readonly shards: Shards;
}

export type FoundJob =
  | ({ readonly kind: "found" } & JobWithRequest)
  | { readonly kind: "not-found" }
  /** MySQL does not have it, and history cannot be asked. */
  | { readonly kind: "history-away" };

/**
 * A job of the tenant, wherever it is, also of a task that is deleted. MySQL first: a job that leaves MySQL is in history before.
 */
export async function getJob(
  deps: JobServiceDeps,
  tenantId: TenantId,
  jobId: JobId,
): Promise<FoundJob> {
  const shard = deps.shards.forJob(jobId);
  const job = await shard.jobs.find(tenantId, jobId);
  if (job !== null) {
    const [found = { job, request: null }] = await withRequests(shard, [job]);
    return { kind: "found", ...found };
  }
  const read = await readHistory(deps, (history) => history.find(tenantId, jobId));
  if (read.kind === "away") return { kind: "history-away" };
  const entry = read.value;
  return entry === null
    ? { kind: "not-found" }
    : { kind: "found", job: entry.job, request: entry.request };
}

/** Adds to each job the request of its version, all versions read at once; `sizes`: for lists, see TaskStore.loadVersions. */
export async function withRequests(
  shard: Shard,
  jobs: readonly Job[],
  bodies: "whole" | "sizes" = "whole",
): Promise<JobWithRequest[]> {
  const keys = new Map(jobs.map((job) => [versionKey(job.taskId, job.taskVersion), job] as const));
  const versions =
    keys.size === 0
      ? []
      : await shard.tasks.loadVersions(
          [...keys.values()].map(({ taskId, taskVersion }) => ({
            taskId,
            requestVersion: taskVersion,
          })),
          bodies,
        );
  const byKey = new Map(
    versions.map((version) => [versionKey(version.taskId, version.requestVersion), version]),
  );
  return jobs.map((job) => {
    const version = byKey.get(versionKey(job.taskId, job.taskVersion));
    return { job, request: version === undefined ? null : requestOfJob(job, version.request) };
  });
}
