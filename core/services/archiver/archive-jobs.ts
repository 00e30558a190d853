/**
 * Moves finished jobs of one shard to history: copied first, with no lock on any row, then deleted, and only what is as it was
 * read. A dead job may be retried between the two: it stays and runs, and its copy is replaced when it has ended again. A crash at
 * any point leaves at worst a job in both stores: readers take MySQL's, and the next run copies it once more over the same row.
 *
 * Reads are larger than what is copied and deleted together, so that one group's deletion (MySQL, one commit) and the next one's
 * copying (Cassandra) go on at the same time.
 *
 * Several at once are safe and of some use: each begins anywhere in what it has read, and reads anew when it finds that another
 * was faster.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { HistoryEntry, Sha256 } from "#core/domain/history.ts";
import type { JobId, TaskId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import {
  ARCHIVE_COPY_MAX,
  ARCHIVE_IDLE_READS_MAX,
  ARCHIVE_READ_BYTES_MAX,
  ARCHIVE_READ_MAX,
} from "#core/domain/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import type { ArchiveRange } from "#core/ports/job-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Random } from "#core/ports/random.ts";
import type { Shard } from "#core/ports/shards.ts";
import { HistoryEntries } from "./history-entries.ts";

export interface ArchiverDeps {
  readonly shard: Shard;
  readonly history: Pick<HistoryStore, "write">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly sha256: Sha256;
}

export interface Archived {
  /** Rows deleted after they had been copied. */
  readonly moved: number;
  /** Rows copied that had changed or gone since they were read. */
  readonly kept: number;
  /** `stopped`: a store was away, history refused whole groups, or others moved all that was read; the rest is for the next run. */
  readonly end: "drained" | "time-up" | "stopped";
}

/** Moves what is due until nothing is left or `endMs` (monotonic) has come. Throws only what no later run could do better. */
export async function archiveJobs(deps: ArchiverDeps, endMs: number): Promise<Archived> {
  return new Run(deps, endMs).run();
}

/** Of one read. */
interface Left {
  /** History did not take their jobs in time: no further ones of this read are tried, as they go to the same partitions. */
  readonly tasks: Set<TaskId>;
  readonly jobs: Job[];
  /** The first one's. The run ends with it once nothing that was read is taken: history is away. */
  failure: OperatingError | null;
}

type Settled<T> = { readonly value: T } | { readonly error: unknown };

class Run {
  readonly #deps: ArchiverDeps;
  readonly #endMs: number;
  readonly #entries: HistoryEntries;
  /** What history refuses stays where it is, and in nobody's way. */
  readonly #refused = new Set<JobId>();
  /** Where the last read has met what history was too busy for: the next one passes it over, or it would read nothing else. */
  #busy: readonly ArchiveRange[] = [];
  /** Of a whole group. The run ends with it once nothing that was read is taken: it is history that is wrong, not the jobs. */
  #groupRefusal: OperatingError | null = null;
  #copied = 0;
  #moved = 0;
  #kept = 0;

  constructor(deps: ArchiverDeps, endMs: number) {
    this.#deps = deps;
    this.#endMs = endMs;
    this.#entries = new HistoryEntries(deps.shard.tasks, deps.sha256);
  }

  async run(): Promise<Archived> {
    try {
      return { end: await this.#untilDrained(), moved: this.#moved, kept: this.#kept };
    } catch (error) {
      if (!(error instanceof OperatingError) || !error.retryable) throw error;
      this.#deps.logger.warn(
        "archiving stopped: a store is away or busy; what was not copied is still in MySQL, and the next run goes on",
        { shard: this.#deps.shard.name, count: this.#moved, ...describeError(error) },
      );
      return { end: "stopped", moved: this.#moved, kept: this.#kept };
    }
  }

  async #untilDrained(): Promise<Archived["end"]> {
    const { shard } = this.#deps;
    for (let idleReads = 0; idleReads < ARCHIVE_IDLE_READS_MAX; ) {
      if (this.#isTimeUp()) return "time-up";
      const without = this.#busy;
      this.#busy = [];
      const read = await shard.jobs.listArchivable(
        ARCHIVE_READ_MAX,
        ARCHIVE_READ_BYTES_MAX,
        without,
      );
      const jobs = read.filter(({ id }) => !this.#refused.has(id));
      if (jobs.length === 0 && without.length > 0) continue;
      if (jobs.length === 0) return this.#groupRefusal === null ? "drained" : "stopped";
      const movedBefore = this.#moved;
      await this.#moveAll(jobs);
      idleReads = this.#moved === movedBefore ? idleReads + 1 : 0;
    }
    return "stopped";
  }

  /** Group by group, from anywhere around to there again; ends early when time is up or others have been here. */
  async #moveAll(jobs: readonly Job[]): Promise<void> {
    const { random, shard } = this.#deps;
    const groups = groupsOf(jobs);
    const copiedBefore = this.#copied;
    const first = Math.floor(random.unit() * groups.length);
    const left: Left = { tasks: new Set(), jobs: [], failure: null };
    let deleting: Promise<Settled<number>> | null = null;
    let sent = 0;
    for (let i = 0; i < groups.length && !this.#isTimeUp(); i++) {
      const group = groups[(first + i) % groups.length] ?? [];
      const copied = await settled(this.#copy(group, left));
      if (deleting !== null) {
        const deleted = this.#count(await deleting, sent);
        deleting = null;
        if (deleted < sent / 2) return;
      }
      if ("error" in copied) throw copied.error;
      if (copied.value.length === 0) continue;
      sent = copied.value.length;
      deleting = settled(shard.jobs.deleteArchived(copied.value));
    }
    if (deleting !== null) this.#count(await deleting, sent);
    const failure = left.failure ?? this.#groupRefusal;
    if (failure !== null && this.#copied === copiedBefore) throw failure;
    if (left.failure !== null) this.#putOff(left, left.failure);
  }

  #putOff({ tasks, jobs }: Left, failure: OperatingError): void {
    this.#busy = rangesOf(jobs);
    this.#deps.logger.warn(
      "history is busy with some tasks' jobs: what it has not taken is still in MySQL, and is tried again",
      {
        shard: this.#deps.shard.name,
        count: jobs.length,
        counters: { tasks: tasks.size },
        ...describeError(failure),
      },
    );
  }

  #isTimeUp(): boolean {
    return this.#deps.clock.monotonicMs() >= this.#endMs;
  }

  #count(deleted: Settled<number>, sent: number): number {
    if ("error" in deleted) throw deleted.error;
    this.#moved += deleted.value;
    this.#kept += sent - deleted.value;
    return deleted.value;
  }

  /** Returns the jobs that are in history now: all but those that it refuses, is too busy for, or was too busy for before. */
  async #copy(group: readonly Job[], left: Left): Promise<readonly Job[]> {
    const jobs = group.filter(({ taskId }) => !left.tasks.has(taskId));
    left.jobs.push(...group.filter(({ taskId }) => left.tasks.has(taskId)));
    const entries = await this.#entries.entriesOf(jobs);
    const durable = new Set<JobId>();
    let isCut = false;
    const mayBegin = () => {
      isCut ||= this.#isTimeUp();
      return !isCut;
    };
    let copied: readonly Job[] = jobs;
    try {
      await this.#deps.history.write(entries, ({ job }) => durable.add(job.id), mayBegin);
      if (isCut) copied = jobs.filter(({ id }) => durable.has(id));
    } catch (error) {
      if (!(error instanceof OperatingError)) throw error;
      copied = error.retryable
        ? jobs.filter(({ id }) => durable.has(id))
        : await this.#copyOneByOne(jobs, entries, error, left);
      if (error.retryable) leave(left, jobs, copied, error);
    }
    this.#copied += copied.length;
    return copied;
  }

  /** Finds out which of a group are refused. Where all that are tried first are, the group is left as it is for the next run. */
  async #copyOneByOne(
    jobs: readonly Job[],
    entries: readonly HistoryEntry[],
    refusal: OperatingError,
    left: Left,
  ): Promise<Job[]> {
    const { history, logger, shard } = this.#deps;
    const copied: Job[] = [];
    const refused: JobId[] = [];
    for (const at of spread(entries.length, REFUSED_ALIKE_MAX)) {
      if (this.#isTimeUp()) break;
      const entry = entries[at] as HistoryEntry;
      try {
        await history.write([entry]);
        copied.push(jobs[at] as Job);
      } catch (error) {
        if (!(error instanceof OperatingError)) throw error;
        if (error.retryable) {
          leave(left, jobs, copied, error);
          break;
        }
        refused.push(entry.job.id);
      }
      if (copied.length === 0 && refused.length >= REFUSED_ALIKE_MAX) {
        this.#groupRefusal = refusal;
        for (const { id } of jobs) this.#refused.add(id);
        logger.error("history refuses one job after the other: their group stays in MySQL", {
          shard: shard.name,
          count: jobs.length,
          ...describeError(refusal),
        });
        return [];
      }
    }
    for (const jobId of refused) {
      this.#refused.add(jobId);
      logger.error("history refuses a job: it stays in MySQL, and every run tries it again", {
        shard: shard.name,
        jobId,
        ...describeError(refusal),
      });
    }
    return copied;
  }
}

/** So many from all over a group refused, and none taken: it is not about these jobs alone. */
const REFUSED_ALIKE_MAX = 10;

/** All of `0 … length - 1`; the first `tries` of them from all over. */
function spread(length: number, tries: number): number[] {
  const all = Array.from({ length }, (_, at) => at);
  const apart = Math.max(1, Math.ceil(length / tries));
  return all.sort((a, b) => (a % apart) - (b % apart) || a - b);
}

function groupsOf(jobs: readonly Job[]): Job[][] {
  const groups: Job[][] = [];
  for (let from = 0; from < jobs.length; from += ARCHIVE_COPY_MAX)
    groups.push(jobs.slice(from, from + ARCHIVE_COPY_MAX));
  return groups;
}

function rangesOf(jobs: readonly Job[]): ArchiveRange[] {
  return [...new Map(jobs.map((job) => [`${job.status} ${job.queue}`, job])).values()];
}

function leave(
  left: Left,
  jobs: readonly Job[],
  copied: readonly Job[],
  failure: OperatingError,
): void {
  const taken = new Set(copied);
  for (const job of jobs) {
    if (taken.has(job)) continue;
    left.tasks.add(job.taskId);
    left.jobs.push(job);
  }
  left.failure ??= failure;
}

/** So that nobody has to look after a promise while another one is waited for. */
async function settled<T>(work: Promise<T>): Promise<Settled<T>> {
  try {
    return { value: await work };
  } catch (error) {
    return { error };
  }
}
