/**
 * All that the reconciler does on a shard, pass after pass, but for what it measures beside them (watch-backlog.ts):
 *
 * 1. Workers whose lease has expired are fenced.
 * 2. Jobs that run under fenced workers, of this run or an earlier one, are given back.
 * 3. Running jobs that have passed their backstop are given back, each by itself.
 * 4. Pauses, deletes and resumes of very many jobs that were left half-way are finished (upkeep.ts).
 * 5. Rows that nobody asks for any more are removed: answers to requests, revocations, fenced workers (upkeep.ts).
 *
 * What is expired, past its backstop or left half-way has to be so in two looks. Between them lie SEEN_APART_MS at least, with no
 * failed pass: after a database was away every lease has expired, and the workers need a moment to renew. A look that takes longer
 * than a renewal may has failed: where the database is so slow leases expire whose workers live.
 *
 * Fencing comes first and waits for a claim under way, so that a fenced worker gets no more jobs: once none runs under it, none
 * ever will. Several passes at once are safe: a fence and a rescue are guarded writes, and whoever comes second changes nothing.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import { FailedGroups } from "#core/domain/failed-groups.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import {
  EXPIRED_WORKERS_MAX,
  FENCED_WORKERS_MAX,
  PASS_GAP_MS_MAX,
  PASS_PERIOD_MS,
  PAST_BACKSTOP_MAX,
  RENEW_TRY_MS,
  RESCUE_GROUP_MAX,
  RESCUE_PASS_MS_MAX,
  SEEN_APART_MS,
} from "#core/domain/limits.ts";
import type { Rescued, RunningKey } from "#core/ports/job-store.ts";
import { Sightings } from "./sightings.ts";
import { type ReconcilerDeps, Upkeep } from "./upkeep.ts";

/** What one pass did: workers fenced, and jobs given back. */
export interface Pass extends Rescued {
  /** When the leases had been read, on the monotonic clock. */
  readonly lookedMs: number;
  readonly fenced: number;
  /** Work was left when the pass had taken long enough: the next one is due at once. */
  readonly more: boolean;
}

/** The memory between passes over one shard. */
export class Reconciler {
  readonly #deps: ReconcilerDeps;
  readonly #expired = new Sightings<WorkerId>(SEEN_APART_MS);
  /** By id and claim number. */
  readonly #pastBackstop = new Sightings<string>(SEEN_APART_MS);
  /** Of both, what could not be given back when it was tried: it goes on apart from all else. */
  readonly #failed = new FailedGroups<RunningKey>();
  readonly #failedNames = new Set<string>();
  /** Fenced workers under which nothing runs any more. */
  readonly #emptied = new Set<WorkerId>();
  readonly #upkeep: Upkeep;
  #lookedMs: number | null = null;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
    this.#upkeep = new Upkeep(deps);
  }

  /** One pass. Throws what the stores throw, and has then forgotten what it saw. */
  async passOnce(): Promise<Pass> {
    try {
      return await this.#pass();
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  async #pass(): Promise<Pass> {
    const { clock } = this.#deps;
    const askedMs = clock.monotonicMs();
    // Whoever froze for so long, we or the whole machine: the workers may have done so too.
    if (this.#lookedMs !== null && askedMs - this.#lookedMs > PASS_GAP_MS_MAX) this.#forget();
    const { workers } = this.#deps.shard;
    const expired = await workers.listExpired(EXPIRED_WORKERS_MAX, RENEW_TRY_MS);
    const lookedMs = clock.monotonicMs();
    this.#lookedMs = lookedMs;
    const sum = { fenced: 0, pending: 0, dead: 0, cancelled: 0 };
    const endMs = lookedMs + RESCUE_PASS_MS_MAX;
    for (const worker of this.#expired.confirm(expired, askedMs, lookedMs)) {
      if (await this.#fence(worker)) sum.fenced++;
      if (clock.monotonicMs() >= endMs) break;
    }
    const held = await this.#rescueHeld(sum, endMs);
    const past = await this.#rescuePastBackstop(sum, endMs);
    const again = await this.#rescueFailed(sum, endMs);
    if (held && past && again) {
      await this.#upkeep.finishChanges(lookedMs + PASS_PERIOD_MS / 2);
      await this.#upkeep.pruneOnce();
    }
    return { ...sum, lookedMs, more: !held || !past || !again };
  }

  #forget(): void {
    this.#expired.forgetAll();
    this.#pastBackstop.forgetAll();
    this.#upkeep.forget();
    this.#failed.clear();
    this.#failedNames.clear();
    this.#lookedMs = null;
  }

  /** False when its lease lives again, or another has fenced it. One that cannot be fenced now keeps no other waiting. */
  async #fence(worker: WorkerId): Promise<boolean> {
    const { shard, logger } = this.#deps;
    try {
      if (!(await shard.workers.fence(worker))) return false;
      logger.warn("an executor's lease ran out: it is fenced and its jobs are given back", {
        worker,
        shard: shard.name,
      });
      return true;
    } catch (error) {
      if (!(error instanceof OperatingError) || !error.retryable) throw error;
      // A holder that stands still inside a claim has its row locked, until the server closes its connection.
      this.#expired.forget(worker);
      logger.warn("an executor could not be fenced yet; a later pass does it", {
        worker,
        shard: shard.name,
        ...describeError(error),
      });
      return false;
    }
  }

  /** Gives back what runs under fenced workers, of this run or an earlier one. False when time was up before. */
  async #rescueHeld(sum: RescueSum, endMs: number): Promise<boolean> {
    const { jobs, workers } = this.#deps.shard;
    const fenced = await workers.listFenced(FENCED_WORKERS_MAX);
    const holders = fenced.filter((worker) => !this.#emptied.has(worker));
    if (holders.length === 0) return true;
    for (;;) {
      const listed = await jobs.listHeldBy(holders, RESCUE_GROUP_MAX + this.#failedNames.size);
      const keys = listed.filter((key) => !this.#failedNames.has(nameOf(key)));
      if (keys.length > 0) await this.#tryRescue(keys.slice(0, RESCUE_GROUP_MAX), sum);
      else if (listed.length === 0) break;
      else return true;
      if (this.#deps.clock.monotonicMs() >= endMs) return false;
    }
    for (const worker of holders) this.#emptied.add(worker);
    return true;
  }

  async #rescuePastBackstop(sum: RescueSum, endMs: number): Promise<boolean> {
    const { clock, shard } = this.#deps;
    const askedMs = clock.monotonicMs();
    const keys = await shard.jobs.listPastBackstop(PAST_BACKSTOP_MAX);
    const byName = new Map<string, RunningKey>(keys.map((key) => [nameOf(key), key]));
    const confirmed = this.#pastBackstop
      .confirm([...byName.keys()], askedMs, clock.monotonicMs())
      .flatMap((name) => (this.#failedNames.has(name) ? [] : (byName.get(name) ?? [])));
    for (let from = 0; from < confirmed.length; from += RESCUE_GROUP_MAX) {
      if ((from > 0 || this.#failed.count > 0) && clock.monotonicMs() >= endMs) return false;
      await this.#tryRescue(confirmed.slice(from, from + RESCUE_GROUP_MAX), sum);
    }
    return true;
  }

  /**
   * What failed before, in halves; of what has failed alone, one a pass, or as many as can be given back now. False when time was up before.
   * Rows that cannot be written are no reason to forget what was seen: a database that is away fails the next look.
   */
  async #rescueFailed(sum: RescueSum, endMs: number): Promise<boolean> {
    while (this.#failed.count > 0) {
      if (this.#deps.clock.monotonicMs() >= endMs) return this.#failed.isAlone;
      const last = this.#failed.isAlone || this.#failed.isDatabaseAway;
      const group = this.#failed.take(RESCUE_GROUP_MAX);
      for (const key of group) this.#failedNames.delete(nameOf(key));
      if (!(await this.#tryRescue(group, sum)) && last) return true;
    }
    return true;
  }

  /** False when the database cannot do it now. */
  async #tryRescue(keys: readonly RunningKey[], sum: RescueSum): Promise<boolean> {
    try {
      await this.#rescue(keys, sum);
      this.#failed.written();
      return true;
    } catch (error) {
      this.#failed.failed(keys);
      for (const key of keys) this.#failedNames.add(nameOf(key));
      if (!(error instanceof OperatingError) || !error.retryable) throw error;
      const { shard, logger } = this.#deps;
      logger.warn("jobs could not be given back now; a later try does it", {
        shard: shard.name,
        ...describeError(error),
      });
      return false;
    }
  }

  async #rescue(keys: readonly RunningKey[], sum: RescueSum): Promise<void> {
    const { shard, retention } = this.#deps;
    const { pending, dead, cancelled } = await shard.jobs.rescue(keys, retention);
    sum.pending += pending;
    sum.dead += dead;
    sum.cancelled += cancelled;
  }
}

type RescueSum = { -readonly [Name in keyof Rescued]: number };

function nameOf({ id, claimNo }: RunningKey): string {
  return `${id} ${claimNo}`;
}
