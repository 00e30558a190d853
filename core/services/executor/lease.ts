/**
 * The executor's own lease: one row in `workers`, renewed while the process lives, so that a job costs no renewals.
 *
 * Nothing starts later than START_WINDOW_MS after the last good renewal and the last good poll were sent, whichever is earlier,
 * on the monotonic clock: by the time others may take this worker's jobs (WORKER_LEASE_MS), it has stopped starting them. A
 * poll counts because it brings the revocations.
 */
import type { WorkerId } from "#core/domain/ids.ts";
import { makeWorkerId } from "#core/domain/ids.ts";
import { START_WINDOW_MS, WORKER_LEASE_MS } from "#core/domain/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Random } from "#core/ports/random.ts";
import type { WorkerStore } from "#core/ports/worker-store.ts";

interface LeaseDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly workers: WorkerStore;
}

export class Lease {
  readonly #deps: LeaseDeps;
  #workerId: WorkerId | null = null;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #polledMs = Number.NEGATIVE_INFINITY;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
  }

  /** The id to claim under; null before the first registration and between a fence and the next one. */
  get workerId(): WorkerId | null {
    return this.#workerId;
  }

  /**
   * Renews the lease, or registers a fresh id when there is none. `fenced`: the old id is gone and what is unsent under it
   * must be dropped; the next call registers a new one.
   */
  async renewOnce(): Promise<"held" | "fenced"> {
    const sentMs = this.#deps.clock.monotonicMs();
    if (this.#workerId === null) {
      const id = makeWorkerId(this.#deps.random.bytes(16));
      await this.#deps.workers.register(id, WORKER_LEASE_MS);
      this.#workerId = id;
      this.#renewedMs = sentMs;
      return "held";
    }
    const id = this.#workerId;
    const renewal = await this.#deps.workers.renew(id, WORKER_LEASE_MS);
    if (id !== this.#workerId) return "held";
    if (renewal.kind === "fenced") {
      this.forget();
      return "fenced";
    }
    this.#renewedMs = sentMs;
    return "held";
  }

  /** Records a poll whose revocations have been followed. */
  notePoll(sentMs: number): void {
    this.#polledMs = sentMs;
  }

  /** Ms since the last good poll was sent; 0 before the first. */
  sinceLastPollMs(): number {
    return Number.isFinite(this.#polledMs) ? this.#deps.clock.monotonicMs() - this.#polledMs : 0;
  }

  /** Whether a call may start now. */
  mayStart(): boolean {
    const since = Math.min(this.#renewedMs, this.#polledMs);
    return this.#workerId !== null && this.#deps.clock.monotonicMs() < since + START_WINDOW_MS;
  }

  /** Called when the id turned out to be fenced. */
  forget(): void {
    this.#workerId = null;
    this.#renewedMs = Number.NEGATIVE_INFINITY;
  }

  /** Removes the row at a clean exit. */
  async end(): Promise<void> {
    const id = this.#workerId;
    if (id === null) return;
    this.forget();
    await this.#deps.workers.remove(id);
  }
}
