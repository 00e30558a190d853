import type { JobId, TenantId } from "#core/domain/ids.ts";
import { REASON_CANCELLED, type Retention } from "#core/domain/job.ts";
import { getJob, type JobServiceDeps, type JobWithRequest, withRequests } from "./get-job.ts";

export type Cancelled =
  /** Ended, now or by an earlier cancel; or marked: what is unsent is cancelled within 3 s, of what is under way a success counts. */
  | ({ readonly kind: "cancelled" | "marked" } & JobWithRequest)
  | { readonly kind: "finished" }
  | { readonly kind: "not-found" }
  | { readonly kind: "history-away" };

/** Cancels one job of the tenant; an archived one has finished. */
export async function cancelJob(
  deps: JobServiceDeps & { readonly retention: Retention },
  tenantId: TenantId,
  jobId: JobId,
): Promise<Cancelled> {
  const shard = deps.shards.forJob(jobId);
  const result = await shard.jobs.cancel(tenantId, jobId, deps.retention);
  switch (result.kind) {
    case "cancelled":
    case "marked": {
      const { kind, job } = result;
      const [found = { job, request: null }] = await withRequests(shard, [job]);
      return { kind, ...found };
    }
    case "finished":
    case "not-found": {
      const found = await getJob(deps, tenantId, jobId);
      if (found.kind !== "found") return found;
      // Whoever has not heard the answer asks again.
      const { status, reason } = found.job;
      const isCancelled = status === "cancelled" && reason === REASON_CANCELLED;
      return isCancelled ? { ...found, kind: "cancelled" } : { kind: "finished" };
    }
  }
}
