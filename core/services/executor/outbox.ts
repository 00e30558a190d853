/**
 * What has yet to be told to the database: results of calls and jobs given back unsent. Written in groups, one group under way
 * at a time; kept and repeated until the database answers. A repeat after an unknown outcome changes nothing, because the
 * first write cleared the worker's id from the row.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
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

export class Outbox {
  readonly #deps: OutboxDeps;
  #results: JobResult[] = [];
  #givenBack: GivenBack[] = [];
  #underWay = 0;

  /** Called when something is put in. */
  onWaiting: () => void = () => {};

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Results and give-backs that are not yet known to be written. */
  get waiting(): number {
    return this.#results.length + this.#givenBack.length + this.#underWay;
  }

  addResult(result: JobResult): void {
    this.#results.push(result);
    this.onWaiting();
  }

  addGivenBack(held: readonly GivenBack[]): void {
    if (held.length === 0) return;
    this.#givenBack.push(...held);
    this.#deps.metrics.count("given_back", held.length);
    this.onWaiting();
  }

  /** Writes up to one group of each kind. Throws what the store throws, with everything kept. Returns how many were written. */
  async flushOnce(): Promise<number> {
    const givenBack = this.#givenBack.splice(0, RESULTS_GROUP_MAX);
    const results = this.#results.splice(0, sizeOfGroup(this.#results));
    this.#underWay = givenBack.length + results.length;
    let givenBackLeft = givenBack;
    let resultsLeft = results;
    try {
      if (givenBack.length > 0) {
        const done = await this.#deps.jobs.giveBack(givenBack, this.#deps.retention);
        this.#deps.metrics.count("lost_races", done.lostRaces);
        givenBackLeft = [];
      }
      if (results.length > 0) {
        await this.#record(results);
        resultsLeft = [];
      }
      return givenBack.length + results.length;
    } finally {
      this.#givenBack.unshift(...givenBackLeft);
      this.#results.unshift(...resultsLeft);
      this.#underWay = 0;
    }
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

/** How many of the first results make one group: at least one, if there are any. */
function sizeOfGroup(results: readonly JobResult[]): number {
  let bytes = 0;
  for (const [count, { record }] of results.entries()) {
    bytes += RESULT_BYTES + CHARACTER_BYTES * (record.responseBody?.length ?? 0);
    if (count === RESULTS_GROUP_MAX || (count > 0 && bytes > RESULTS_GROUP_BYTES_MAX)) return count;
  }
  return results.length;
}
