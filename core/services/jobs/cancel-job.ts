import type { JobId, TenantId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import type { JobServiceDeps, JobWithRequest } from "./get-job.ts";
import { withRequests } from "./get-job.ts";
import { readHistory } from "./read-history.ts";

export type Cancelled =
  /** Ended at once; or marked: what is unsent is cancelled within 3 s, of what is under way a success counts. */
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
      return result;
    case "not-found": {
      const read = await readHistory(deps, (history) => history.find(tenantId, jobId));
      if (read.kind === "away") return { kind: "history-away" };
      return { kind: read.value === null ? "not-found" : "finished" };
    }
  }
}
