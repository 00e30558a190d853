import type { JobId, TenantId } from "#core/domain/ids.ts";
import { RETRY_GROUP_MAX } from "#core/domain/limits.ts";
import type { DeadLetterFilter, DeadLetterPlace } from "#core/ports/job-store.ts";
import type { JobServiceDeps } from "./get-job.ts";

/** Jobs whose documents are in memory at once. */
const READ_MAX = 100;

export interface RetriedDeadLetters {
  /** Dead letters that the filter matches and whose task is there, at most `limit` of them. */
  readonly matched: number;
  readonly moved: number;
  /** Somebody else was faster, their task went away just now, or they have had JOB_ATTEMPTS_MAX attempts. */
  readonly failed: number;
}

/**
 * Puts dead jobs of the tenant in line again: of those that the filter matches and whose task is there, the `limit` (at most RETRY_GROUP_MAX) that died last, the
 * first of them to die going first. They start `perSecond` a second, by their times: nothing here waits.
 */
export async function retryDeadLetters(
  { shards }: Pick<JobServiceDeps, "shards">,
  tenantId: TenantId,
  filter: DeadLetterFilter,
  { limit, perSecond }: { readonly limit: number; readonly perSecond: number },
): Promise<RetriedDeadLetters> {
  const { jobs } = shards.forTenant(tenantId);
  const retriable = { ...filter, retriable: true };
  const matched: JobId[] = [];
  let before: DeadLetterPlace | null = null;
  while (matched.length < Math.min(limit, RETRY_GROUP_MAX)) {
    const asked = Math.min(READ_MAX, limit - matched.length);
    const found = await jobs.listDeadLetters(tenantId, retriable, before, asked);
    matched.push(...found.map(({ job }) => job.id));
    const last = found.at(-1);
    if (last === undefined || found.length < asked) break;
    before = { diedAtMs: last.diedAtMs, jobId: last.job.id };
  }
  const group = matched
    .toReversed()
    .map((id, at) => ({ id, delayMs: Math.floor((at * 1_000) / perSecond) }));
  const outcomes = await jobs.retryDead(tenantId, group);
  const moved = [...outcomes.values()].filter((outcome) => outcome === "moved").length;
  return { matched: matched.length, moved, failed: matched.length - moved };
}
