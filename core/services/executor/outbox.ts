/**
 * What has yet to be told to the database: results of calls and jobs given back unsent. Written in groups, one group under way
 * at a time; kept and repeated until the database answers. A repeat after an unknown outcome changes nothing, because the
 * first write cleared the worker's id from the row.
 *
 * What was not written comes again after all others, in smaller groups: one that the database never takes, though it says each time that it
 * cannot do it now, holds up nothing but itself.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
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

/** Of one kind: what waits to be written, and is being written. */
class Waiting<Item> {
  readonly #size = new GroupSize(RESULTS_GROUP_MAX);
  #items: Item[] = [];
  #underWay = 0;

  get count(): number {
    return this.#items.length + this.#underWay;
  }

  add(item: Item): void {
    this.#items.push(item);
  }

  /** Writes one group, if anything waits. Throws what `write` throws, with everything kept. Returns how many were written. */
  async writeOnce(
    write: (group: readonly Item[]) => Promise<void>,
    countOf = (items: readonly Item[], most: number) => Math.min(items.length, most),
  ): Promise<number> {
    if (this.#items.length === 0) return 0;
    const group = this.#items.splice(0, countOf(this.#items, this.#size.rowsMax));
    this.#underWay = group.length;
    try {
      await this.#size.learn(group.length, () => write(group));
    } catch (error) {
      for (const item of group) this.add(item);
      throw error;
    } finally {
      this.#underWay = 0;
    }
    return group.length;
  }
}

export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #results = new Waiting<JobResult>();
  readonly #givenBack = new Waiting<GivenBack>();

  /** Called when something is put in. */
  onWaiting: () => void = () => {};

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Results and give-backs that are not yet known to be written. */
  get waiting(): number {
    return this.#results.count + this.#givenBack.count;
  }

  addResult(result: JobResult): void {
    this.#results.add(result);
    this.onWaiting();
  }

  addGivenBack(held: readonly GivenBack[]): void {
    if (held.length === 0) return;
    for (const each of held) this.#givenBack.add(each);
    this.#deps.metrics.count("given_back", held.length);
    this.onWaiting();
  }

  /** Writes up to one group of each kind. Throws what the store throws, with everything kept. Returns how many were written. */
  async flushOnce(): Promise<number> {
    const { jobs, metrics, retention } = this.#deps;
    let givenBack = 0;
    let failure: unknown = null;
    try {
      givenBack = await this.#givenBack.writeOnce(async (group) => {
        const done = await jobs.giveBack(group, retention);
        metrics.count("lost_races", done.lostRaces);
      });
    } catch (error) {
      failure = error;
    }
    const results = await this.#results.writeOnce((group) => this.#record(group), sizeOfGroup);
    if (failure !== null) throw failure;
    return givenBack + results;
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
