import type { TenantId } from "#core/domain/ids.ts";
import type { DeadLetterFilter, DeadLetterPlace } from "#core/ports/job-store.ts";
import type { JobServiceDeps, JobWithRequest } from "./get-job.ts";
import { withRequests } from "./get-job.ts";

export interface ListedDeadLetter extends JobWithRequest {
  readonly diedAtMs: number;
}

/** Up to `limit` dead jobs of the tenant, the last that died first, below `before`; `more` tells whether any follow. Archived ones are not among them. */
export async function listDeadLetters(
  { shards }: Pick<JobServiceDeps, "shards">,
  tenantId: TenantId,
  filter: DeadLetterFilter,
  before: DeadLetterPlace | null,
  limit: number,
): Promise<{ readonly items: readonly ListedDeadLetter[]; readonly more: boolean }> {
  const shard = shards.forTenant(tenantId);
  const found = await shard.jobs.listDeadLetters(tenantId, filter, before, limit + 1);
  const page = found.slice(0, limit);
  const requests = await withRequests(
    shard,
    page.map(({ job }) => job),
    "sizes",
  );
  const items = page.flatMap(({ diedAtMs }, at) => {
    const withRequest = requests[at];
    return withRequest === undefined ? [] : [{ diedAtMs, ...withRequest }];
  });
  return { items, more: found.length > limit };
}
