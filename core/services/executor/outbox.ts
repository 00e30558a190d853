/**
 * What has yet to be told to the database: results of calls and jobs given back unsent. Written in groups, one group under way
 * at a time; kept and repeated until the database answers. A repeat after an unknown outcome changes nothing, because the
 * first write cleared the worker's id from the row.
 *
 * What was not written goes on in halves, beside fresh groups and by a step of its own for each kind: one that the database never takes,
 * though it says each time that it cannot do it now, holds up nothing but itself.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import { FailedGroups } from "#core/domain/failed-groups.ts";
import { GroupSize } from "#core/domain/group-size.ts";
import type { Retention } from "#core/domain/job.ts";
import { RESULTS_GROUP_BYTES_MAX, RESULTS_GROUP_MAX } from "#core/domain/limits.ts";
import type { GivenBack, JobResult, JobStore } from "#core/ports/job-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Metrics } from "#core/ports/metrics.ts";

interface OutboxDeps {
  readonly jobs: JobStore;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly retention: Retention;
}

export type Kind = "results" | "givenBack";

/** Of one kind: what waits to be written, and is being written. */
class Unwritten<Item> {
  readonly #size = new GroupSize(RESULTS_GROUP_MAX);
  readonly #failed = new FailedGroups<Item>();
  readonly #write: (group: readonly Item[]) => Promise<void>;
  readonly #countOf: (items: readonly Item[], most: number) => number;
  #items: Item[] = [];
  #underWay = 0;
  #againUnderWay = 0;

  constructor(
    write: (group: readonly Item[]) => Promise<void>,
    countOf = (items: readonly Item[], most: number) => Math.min(items.length, most),
  ) {
    this.#write = write;
    this.#countOf = countOf;
  }

  get fresh(): number {
    return this.#items.length + this.#underWay;
  }

  get failed(): number {
    return this.#failed.count + this.#againUnderWay;
  }

  add(item: Item): void {
    this.#items.push(item);
  }

  /** Writes one group that is not yet tried, if there is any. Throws what `write` throws, with everything kept. Returns how many were written. */
  async writeOnce(): Promise<number> {
    if (this.#items.length === 0) return 0;
    const group = this.#items.splice(0, this.#countOf(this.#items, this.#size.rowsMax));
    this.#underWay = group.length;
    try {
      await this.#size.learn(group.length, () => this.#write(group));
      this.#failed.written();
    } catch (error) {
      this.#failed.failed(group);
      throw error;
    } finally {
      this.#underWay = 0;
    }
    return group.length;
  }

  /**
   * Writes one group of what failed before. Its failures say nothing of how many rows fresh groups may have, its successes do.
   * Returns how many are left.
   */
  async writeFailedOnce(): Promise<number> {
    const group = this.#failed.take(this.#size.rowsMax);
    if (group.length === 0) return 0;
    this.#againUnderWay = group.length;
    try {
      await this.#write(group);
      await this.#size.learn(group.length, async () => {});
      this.#failed.written();
    } catch (error) {
      this.#failed.failed(group);
      throw error;
    } finally {
      this.#againUnderWay = 0;
    }
    return this.#failed.count;
  }
}

export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #kinds: {
    readonly results: Unwritten<JobResult>;
    readonly givenBack: Unwritten<GivenBack>;
  };

  /** Called when something is put in. */
  onUnwritten: () => void = () => {};
  /** Called when something has failed, and waits for `flushFailedOnce`. */
  onFailed: (kind: Kind) => void = () => {};

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
    this.#kinds = {
      results: new Unwritten((group) => this.#record(group), sizeOfGroup),
      givenBack: new Unwritten((group) => this.#giveBack(group)),
    };
  }

  /** Results and give-backs that are not yet known to be written. */
  get unwritten(): number {
    return this.fresh + this.#kinds.results.failed + this.#kinds.givenBack.failed;
  }

  /** Of these, what is not yet tried. */
  get fresh(): number {
    return this.#kinds.results.fresh + this.#kinds.givenBack.fresh;
  }

  addResult(result: JobResult): void {
    this.#kinds.results.add(result);
    this.onUnwritten();
  }

  addGivenBack(held: readonly GivenBack[]): void {
    if (held.length === 0) return;
    for (const each of held) this.#kinds.givenBack.add(each);
    this.#deps.metrics.count("given_back", held.length);
    this.onUnwritten();
  }

  /** Writes up to one fresh group of each kind. Throws what the store throws, with everything kept. Returns how many were written. */
  async flushOnce(): Promise<number> {
    let givenBack = 0;
    let failure: unknown = null;
    try {
      givenBack = await this.#flush("givenBack");
    } catch (error) {
      failure = error;
    }
    const results = await this.#flush("results");
    if (failure !== null) throw failure;
    return givenBack + results;
  }

  /** Writes one group of what failed before; may run beside `flushOnce`. Throws as that does. Returns how many are left. */
  flushFailedOnce(kind: Kind): Promise<number> {
    return this.#kinds[kind].writeFailedOnce();
  }

  async #flush(kind: Kind): Promise<number> {
    try {
      return await this.#kinds[kind].writeOnce();
    } catch (error) {
      this.onFailed(kind);
      throw error;
    }
  }

  async #giveBack(held: readonly GivenBack[]): Promise<void> {
    const done = await this.#deps.jobs.giveBack(held, this.#deps.retention);
    this.#deps.metrics.count("lost_races", done.lostRaces);
  }

  async #record(results: readonly JobResult[]): Promise<void> {
    try {
      const done = await this.#deps.jobs.recordResults(results, this.#deps.retention);
      this.#deps.metrics.count("lost_races", done.lostRaces);
    } catch (error) {
      if (!(error instanceof OperatingError) || error.retryable) throw error;
      await this.#recordOneByOne(results);
    }
  }

  /** One result that the database refuses must not hold up the others: it is written without what the endpoint sent. */
  async #recordOneByOne(results: readonly JobResult[]): Promise<void> {
    for (const result of results) {
      const bare = { ...result, record: { ...result.record, responseBody: null } };
      try {
        await this.#deps.jobs.recordResults([bare], this.#deps.retention);
      } catch (error) {
        if (!(error instanceof OperatingError) || error.retryable) throw error;
        this.#deps.logger.error(
          "result refused by the database; the job comes back at its backstop",
          { jobId: result.id, ...describeError(error) },
        );
      }
    }
  }
}

/** Bytes of a result without what the endpoint answered, and of one of its characters at most: `\\u0000` in SQL. */
const RESULT_BYTES = 500;
const CHARACTER_BYTES = 7;

/** How many of the first results make one group of so many at most: at least one, if there are any. */
function sizeOfGroup(results: readonly JobResult[], most: number): number {
  let bytes = 0;
  for (const [count, { record }] of results.entries()) {
    bytes += RESULT_BYTES + CHARACTER_BYTES * (record.responseBody?.length ?? 0);
    if (count === most || (count > 0 && bytes > RESULTS_GROUP_BYTES_MAX)) return count;
  }
  return results.length;
}
