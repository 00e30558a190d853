/**
 * A task's jobs out of both stores, as if they were one. MySQL is read first, then history below the same id: a job that the
 * archiver moves meanwhile is in at least one of the two answers, and where it is in both MySQL's is the newer one.
 *
 * Each store says down to which id it has told everything. A page holds nothing below the higher of the two, because the other
 * store may have something in between; the next page begins there. Pages meet by ids, so that each job is on exactly one.
 */
import { OperatingError } from "#core/domain/errors.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { isFinished } from "#core/domain/job-state.ts";
import {
  HISTORY_PAGES_MAX,
  HISTORY_PAGES_MS_MAX,
  LISTED_ROWS_MAX,
  LISTED_ROWS_MS_MAX,
} from "#core/domain/limits.ts";
import type { HistoryPage } from "#core/ports/history-store.ts";
import type { TaskJobsFilter } from "#core/ports/job-store.ts";
import type { Shard } from "#core/ports/shards.ts";
import type { JobServiceDeps, JobWithRequest } from "./get-job.ts";
import { withRequests } from "./get-job.ts";
import { type Read, readHistory } from "./read-history.ts";

export interface TaskJobsPage {
  /** May be fewer than asked for, even none, without being the last ones. */
  readonly items: readonly JobWithRequest[];
  /** What to pass as `before` to go on; null at the end. Not always the id of a job. */
  readonly nextBefore: JobId | null;
  /** False: history could not be asked, and archived jobs are missing. */
  readonly historyAvailable: boolean;
}

interface Asked {
  readonly tenantId: TenantId;
  readonly taskId: TaskId;
  readonly filter: TaskJobsFilter;
  /** The jobs' ids are below it. */
  readonly before: JobId | null;
  readonly limit: number;
}

/** A page of a task's jobs, newest first. The task may be deleted; null when the tenant never had it. */
export async function listTaskJobs(
  deps: JobServiceDeps,
  asked: Asked,
): Promise<TaskJobsPage | null> {
  const { tenantId, taskId, filter, limit } = asked;
  const shard = deps.shards.forTask(taskId);
  if (!(await shard.tasks.exists(tenantId, taskId))) return null;
  const { hot, nextBefore } = await readHot(deps, shard, asked);
  const read = await readArchived(deps, asked);
  const archived = read.kind === "read" ? read.value : { entries: [], nextBefore: null };
  const toldFrom = later(nextBefore, archived.nextBefore);
  const told = merge(hot, archived.entries).filter(({ id }) => toldFrom === null || id >= toldFrom);
  const page = await dropOverhauled(shard, filter, told.slice(0, limit));
  return {
    items: await presentAll(shard, page),
    nextBefore: told.length > limit ? (told[limit - 1]?.id ?? null) : toldFrom,
    historyAvailable: read.kind === "read",
  };
}

interface HotPage {
  /** At most one more than asked for. */
  readonly hot: readonly Job[];
  /** Everything down to it is told; null: everything, or as much as was asked for. */
  readonly nextBefore: JobId | null;
}

/** A list by status passes over so many rows as there is time for: a task may have a million that are not asked for. */
async function readHot(deps: JobServiceDeps, shard: Shard, asked: Asked): Promise<HotPage> {
  const { tenantId, taskId, filter, limit } = asked;
  const { jobs } = shard;
  if (filter.statuses === null) {
    const hot = await jobs.listByTask(tenantId, taskId, filter, asked.before, limit + 1);
    return { hot, nextBefore: null };
  }
  const endMs = deps.clock.monotonicMs() + LISTED_ROWS_MS_MAX;
  const hot: Job[] = [];
  let before = asked.before;
  do {
    const downTo = await jobs.findListedDownTo(taskId, filter, before, LISTED_ROWS_MAX);
    const left = limit + 1 - hot.length;
    hot.push(...(await jobs.listByTask(tenantId, taskId, filter, before, left, downTo)));
    before = downTo;
  } while (before !== null && hot.length <= limit && deps.clock.monotonicMs() < endMs);
  return { hot, nextBefore: hot.length > limit ? null : before };
}

/** History's pages may be short or empty and not the last: goes on while there is time, and as long as it answers. */
function readArchived(deps: JobServiceDeps, asked: Asked): Promise<Read<HistoryPage>> {
  const { tenantId, taskId, filter, limit } = asked;
  const canHold = filter.statuses === null || filter.statuses.some(isFinished);
  // Neither asked nor missed: no job that goes on is in history only.
  if (!canHold) return Promise.resolve({ kind: "read", value: { entries: [], nextBefore: null } });
  return readHistory(deps, async (history) => {
    const endMs = deps.clock.monotonicMs() + HISTORY_PAGES_MS_MAX;
    const entries: HistoryEntry[] = [];
    let nextBefore = asked.before;
    for (let pages = 0; pages < HISTORY_PAGES_MAX; pages++) {
      const asking = history.listByTask(tenantId, taskId, filter, nextBefore, limit);
      // What it has told by now is told: the next page asks for the rest.
      const page = await (pages === 0 ? asking : orNull(asking));
      if (page === null) break;
      entries.push(...page.entries);
      nextBefore = page.nextBefore;
      const enough = entries.length >= limit || deps.clock.monotonicMs() >= endMs;
      if (nextBefore === null || enough) break;
    }
    return { entries, nextBefore };
  });
}

async function orNull(asking: Promise<HistoryPage>): Promise<HistoryPage | null> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof OperatingError) return null;
    throw error;
  }
}

interface Listed {
  readonly id: JobId;
  readonly from: { readonly hot: Job } | { readonly archived: HistoryEntry };
}

/** Newest first, each job once, as MySQL has it where both do. */
function merge(hot: readonly Job[], archived: readonly HistoryEntry[]): Listed[] {
  const byId = new Map<JobId, Listed>();
  for (const entry of archived)
    byId.set(entry.job.id, { id: entry.job.id, from: { archived: entry } });
  for (const job of hot) byId.set(job.id, { id: job.id, from: { hot: job } });
  return [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}

/**
 * A dead job that was copied and then retried goes on in MySQL while its copy still says dead. Without a filter MySQL's row stands
 * for it; a filter that MySQL's row does not meet any more would let the copy through.
 */
async function dropOverhauled(
  shard: Shard,
  { statuses }: TaskJobsFilter,
  page: readonly Listed[],
): Promise<readonly Listed[]> {
  const copies = page.filter(({ from }) => "archived" in from).map(({ id }) => id);
  if (statuses === null || copies.length === 0) return page;
  const alive = new Set(await shard.jobs.listPresent(copies));
  return page.filter(({ id }) => !alive.has(id));
}

async function presentAll(shard: Shard, page: readonly Listed[]): Promise<JobWithRequest[]> {
  const hot = await withRequests(
    shard,
    page.flatMap(({ from }) => ("hot" in from ? [from.hot] : [])),
    "sizes",
  );
  const byId = new Map(hot.map((each) => [each.job.id, each]));
  return page.flatMap(({ id, from }) =>
    "archived" in from
      ? [{ job: from.archived.job, request: from.archived.request }]
      : (byId.get(id) ?? []),
  );
}

function later(a: JobId | null, b: JobId | null): JobId | null {
  if (a === null) return b;
  return b === null || a > b ? a : b;
}
