import type { TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { RETRY_GROUP_MAX } from "#core/domain/limits.ts";
import { priorityOfQueue } from "#core/domain/queue.ts";
import type { DeadLetterFilter, DeadLetterPlace } from "#core/ports/job-store.ts";
import type { RetryDeps } from "./retry-job.ts";

/** Jobs whose documents are in memory at once. */
const READ_MAX = 100;

export interface RetriedDeadLetters {
  /** Dead letters that the filter matches and whose task is there, at most `limit` of them. */
  readonly matched: number;
  readonly moved: number;
  /** Somebody else was faster, their task went away just now, or they have had JOB_ATTEMPTS_MAX attempts. */
  readonly failed: number;
}

interface Pace {
  readonly limit: number;
  readonly perSecond: number;
  /** The tenant's; see TenantLanes. */
  readonly weight?: number | undefined;
}

/**
 * Puts dead jobs of the tenant in line again: of those that the filter matches and whose task is there, the `limit` (at most RETRY_GROUP_MAX) that died last, the
 * first of them to die going first. They start `perSecond` a second, by their times: nothing here waits. Each goes into the lane that a run by hand would be in then.
 */
export async function retryDeadLetters(
  { shards, clock, lanes }: Pick<RetryDeps, "shards" | "clock" | "lanes">,
  tenantId: TenantId,
  filter: DeadLetterFilter,
  { limit, perSecond, weight }: Pace,
): Promise<RetriedDeadLetters> {
  const { jobs } = shards.forTenant(tenantId);
  const retriable = { ...filter, retriable: true };
  const matched: Pick<Job, "id" | "queue">[] = [];
  let before: DeadLetterPlace | null = null;
  while (matched.length < Math.min(limit, RETRY_GROUP_MAX)) {
    const asked = Math.min(READ_MAX, limit - matched.length);
    const found = await jobs.listDeadLetters(tenantId, retriable, before, asked);
    matched.push(...found.map(({ job: { id, queue } }) => ({ id, queue })));
    const last = found.at(-1);
    if (last === undefined || found.length < asked) break;
    before = { diedAtMs: last.diedAtMs, jobId: last.job.id };
  }
  const nowMs = clock.nowMs();
  const group = matched.toReversed().map((job, at) => {
    const delayMs = Math.floor((at * 1_000) / perSecond);
    const priority = priorityOfQueue(job.queue);
    return {
      id: job.id,
      delayMs,
      ...(lanes && { queue: lanes.place(tenantId, priority, nowMs + delayMs, weight) }),
    };
  });
  const outcomes = await jobs.retryDead(tenantId, group);
  const moved = [...outcomes.values()].filter((outcome) => outcome === "moved").length;
  return { matched: matched.length, moved, failed: matched.length - moved };
}
