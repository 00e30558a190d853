import type { TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { LISTED_ROWS_MAX, LISTED_ROWS_MS_MAX, RETRY_GROUP_MAX } from "#core/domain/limits.ts";
import { priorityOfQueue } from "#core/domain/queue.ts";
import type { DeadLetterFilter, DeadLetterPlace } from "#core/ports/job-store.ts";
import type { Shard } from "#core/ports/shards.ts";
import type { RetryDeps } from "./retry-job.ts";

/** Jobs whose documents are in memory at once. */
const READ_MAX = 100;

export type RetriedDeadLetters =
  | {
      readonly kind: "retried";
      /** Dead letters that the filter matches and whose task is there, at most `limit` of them. */
      readonly matched: number;
      readonly moved: number;
      /** Somebody else was faster, their task went away just now, or they have had JOB_ATTEMPTS_MAX attempts. */
      readonly failed: number;
    }
  /** Nothing was found among so many letters of deleted tasks that time was up: what died after `downToMs` is none to be retried. */
  | { readonly kind: "passed-over"; readonly downToMs: number };

interface Pace {
  readonly limit: number;
  readonly perSecond: number;
  /** The tenant's; see TenantLanes. */
  readonly weight?: number | undefined;
}

/**
 * Puts dead jobs of the tenant in line again: of those that the filter matches and whose task is there, the `limit` (at most RETRY_GROUP_MAX) that died last, or
 * as many as there was time to find, the first of them to die going first. They start `perSecond` a second, by their times: nothing here waits. Each goes into the lane that a run by hand would be in then.
 */
export async function retryDeadLetters(
  { shards, clock, lanes }: Pick<RetryDeps, "shards" | "clock" | "lanes">,
  tenantId: TenantId,
  filter: DeadLetterFilter,
  { limit, perSecond, weight }: Pace,
): Promise<RetriedDeadLetters> {
  const { jobs } = shards.forTenant(tenantId);
  const most = Math.min(limit, RETRY_GROUP_MAX);
  const { matched, downTo } = await findRetriable({ jobs, clock }, tenantId, filter, most);
  if (matched.length === 0 && downTo !== null)
    return { kind: "passed-over", downToMs: downTo.diedAtMs };
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
  return { kind: "retried", matched: matched.length, moved, failed: matched.length - moved };
}

interface Found {
  readonly matched: readonly Pick<Job, "id" | "queue">[];
  /** How far the list was read when time was up; null: to its end, or until there were enough. */
  readonly downTo: DeadLetterPlace | null;
}

/** In steps of bounded length: a tenant may have a million letters of tasks that it has deleted. */
async function findRetriable(
  { jobs, clock }: Pick<Shard, "jobs"> & Pick<RetryDeps, "clock">,
  tenantId: TenantId,
  filter: DeadLetterFilter,
  most: number,
): Promise<Found> {
  const endMs = clock.monotonicMs() + LISTED_ROWS_MS_MAX;
  const retriable = { ...filter, retriable: true };
  const matched: Pick<Job, "id" | "queue">[] = [];
  let before: DeadLetterPlace | null = null;
  do {
    const asked = Math.min(READ_MAX, most - matched.length);
    const downTo = await jobs.findLettersDownTo(tenantId, filter, before, LISTED_ROWS_MAX);
    const found = await jobs.listDeadLetters(tenantId, retriable, before, asked, downTo);
    matched.push(...found.map(({ job: { id, queue } }) => ({ id, queue })));
    if (matched.length === most) return { matched, downTo: null };
    const last = found.at(-1);
    const isFull = last !== undefined && found.length === asked;
    before = isFull ? { diedAtMs: last.diedAtMs, jobId: last.job.id } : downTo;
  } while (before !== null && clock.monotonicMs() < endMs);
  return { matched, downTo: before };
}
