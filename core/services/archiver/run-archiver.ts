/** One run over one shard: finished jobs to history, then tasks that have nothing left to show. */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { Retention } from "#core/domain/job.ts";
import {
  ARCHIVE_BACKLOG_COUNTED_MAX,
  PURGE_TASKS_MAX,
  TASK_KEPT_IN_HISTORY_MS,
} from "#core/domain/limits.ts";
import { type Archived, type ArchiverDeps, archiveJobs } from "./archive-jobs.ts";

export interface RunArchiverDeps extends ArchiverDeps {
  readonly retention: Retention;
}

export interface ArchiverRun extends Archived {
  readonly purgedTasks: number;
  /** Jobs that are left, counted up to ARCHIVE_BACKLOG_COUNTED_MAX; null where they could not be counted. */
  readonly waiting: number | null;
}

/**
 * Begins nothing after `endMs` (monotonic) but one batch of old tasks, or runs that are always short of time would never purge any.
 * A store that is away ends the run early; the next one goes on.
 */
export async function runArchiver(deps: RunArchiverDeps, endMs: number): Promise<ArchiverRun> {
  const { clock, logger, shard } = deps;
  const startedMs = clock.monotonicMs();
  const [archiving] = await Promise.allSettled([archiveJobs(deps, endMs)]);
  const purgedTasks =
    (await orNull(deps, "old tasks are not purged now; the next run tries again", () =>
      purgeTasks(deps, endMs),
    )) ?? 0;
  // What history refuses is no reason to keep old tasks.
  if (archiving.status === "rejected") throw archiving.reason;
  const archived = archiving.value;
  if (archived.moved + archived.kept + purgedTasks > 0)
    logger.info("finished jobs moved to history", {
      shard: shard.name,
      durationMs: Math.round(clock.monotonicMs() - startedMs),
      counters: { moved: archived.moved, kept: archived.kept, purgedTasks },
    });
  if (archived.end === "drained") return { ...archived, purgedTasks, waiting: 0 };
  const waiting = await orNull(deps, "what is left to archive cannot be counted now", () =>
    shard.jobs.countArchivable(ARCHIVE_BACKLOG_COUNTED_MAX),
  );
  logger.warn("finished jobs are left in MySQL: later runs move them", {
    shard: shard.name,
    ...(waiting === null ? {} : { waiting }),
  });
  return { ...archived, purgedTasks, waiting };
}

async function purgeTasks(
  { clock, retention, shard }: RunArchiverDeps,
  endMs: number,
): Promise<number> {
  const { succeededMs, endedMs } = retention;
  const keptMs = Math.max(succeededMs, endedMs) + TASK_KEPT_IN_HISTORY_MS;
  let purged = 0;
  let removed: number;
  do {
    removed = await shard.tasks.purgeEnded(PURGE_TASKS_MAX, keptMs);
    purged += removed;
  } while (removed === PURGE_TASKS_MAX && clock.monotonicMs() < endMs);
  return purged;
}

/** What is done besides may fail, which ends no run. */
async function orNull(
  deps: ArchiverDeps,
  consequence: string,
  work: () => Promise<number>,
): Promise<number | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OperatingError) || !error.retryable) throw error;
    deps.logger.warn(consequence, { shard: deps.shard.name, ...describeError(error) });
    return null;
  }
}
