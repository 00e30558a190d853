/**
 * What a pass does when all jobs of holders that are gone are back: what was begun and left half-way is finished, and rows that nobody asks
 * for any more are removed. What fails is said, and no other duty waits for it: leases come first.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { Retention } from "#core/domain/job.ts";
import { PRUNE_MAX, SEEN_APART_MS, UNFINISHED_MAX } from "#core/domain/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Shard } from "#core/ports/shards.ts";
import { Sightings } from "./sightings.ts";

export interface ReconcilerDeps {
  readonly shard: Shard;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retention: Retention;
}

export class Upkeep {
  readonly #deps: ReconcilerDeps;
  /** By task and how far it has come. */
  readonly #unfinished = new Sightings<string>(SEEN_APART_MS);
  /** Of what there may be something left to remove: each removes up to so many rows, and says how many. */
  readonly #prunes: ((limit: number) => Promise<number>)[];

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
    const { tasks, workers } = deps.shard;
    this.#prunes = [(limit) => tasks.pruneUnread(limit), (limit) => workers.pruneFenced(limit)];
  }

  forget(): void {
    this.#unfinished.forgetAll();
  }

  /**
   * Pauses, deletes and resumes of very many jobs that came no further between two looks: whoever asked was told so, or is gone, and the
   * rest of the jobs would run. No group but the pass's first begins after `endMs`, so that the next look is in time; what fails is the
   * next pass's.
   */
  async finishChanges(endMs: number): Promise<void> {
    const { clock, shard, retention } = this.#deps;
    try {
      const askedMs = clock.monotonicMs();
      const changes = await shard.tasks.listUnfinished(UNFINISHED_MAX);
      const byPlace = new Map(changes.map((one) => [`${one.taskId} ${one.below}`, one]));
      const left = this.#unfinished.confirm([...byPlace.keys()], askedMs, clock.monotonicMs());
      for (const { tenantId, taskId, change } of left.flatMap(
        (place) => byPlace.get(place) ?? [],
      )) {
        let went: "more" | "done" | "none";
        do {
          went = await shard.tasks.goOnWithJobs(tenantId, taskId, change, retention);
          if (clock.monotonicMs() >= endMs) return;
        } while (went === "more");
      }
    } catch (error) {
      this.#sayLater("a task's change is not finished now; a later pass does it", error);
    }
  }

  /**
   * A batch of one kind of rows a pass, each kind until there are none left: all at once might take so long, where the database is slow,
   * that the next look would have nothing to do with this one. What fails is the next run's.
   */
  async pruneOnce(): Promise<void> {
    const prune = this.#prunes[0];
    if (prune === undefined) return;
    let more = false;
    try {
      more = (await prune(PRUNE_MAX)) >= PRUNE_MAX;
    } catch (error) {
      this.#sayLater(
        "rows that nobody asks for are not removed now; the next run tries again",
        error,
      );
    }
    if (!more) this.#prunes.shift();
  }

  #sayLater(message: string, error: unknown): void {
    if (!(error instanceof OperatingError)) throw error;
    const { shard, logger } = this.#deps;
    logger[error.retryable ? "warn" : "error"](message, {
      shard: shard.name,
      ...describeError(error),
    });
  }
}
