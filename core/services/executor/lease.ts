/**
 * The executor's own lease: one row in `workers`, renewed while the process lives, so that a job costs no renewals.
 *
 * Nothing starts later than START_WINDOW_MS after the last good renewal and the last good poll were sent, whichever is earlier,
 * on the monotonic clock: by the time others may take this worker's jobs (WORKER_LEASE_MS), it has stopped starting them. A
 * poll counts because it brings the revocations.
 *
 * A renewal is waited for as long as it is of use: what is left of that window, but for one more try where that leaves enough for both and
 * the last good one was quick. COMMITs of up to 1.7 s cost no lease, nor do those of up to half the window, but for the first.
 *
 * START_WINDOW_MS after the last good renewal the lease has lapsed for us, though the database may know it for longer: what only holds
 * under a live lease, such as the slots of a limit, is given up then, also where a later renewal goes well.
 */
import type { WorkerId } from "#core/domain/ids.ts";
import { makeWorkerId } from "#core/domain/ids.ts";
import {
  RENEW_RETRY_MS,
  RENEW_TRY_MS,
  START_WINDOW_MS,
  WORKER_LEASE_MS,
} from "#core/domain/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Random } from "#core/ports/random.ts";
import type { WorkerStore } from "#core/ports/worker-store.ts";

/** For a try, and the pause before it. */
const TRY_MS = RENEW_TRY_MS + RENEW_RETRY_MS;

interface LeaseDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly workers: WorkerStore;
}

export class Lease {
  readonly #deps: LeaseDeps;
  readonly #clock: Clock;
  #workerId: WorkerId | null = null;
  /** Of the next registration, until one is answered: each id is a row, which others take for a worker that lives. */
  #nextId: WorkerId | null = null;
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** From when the last good renewal was sent to its answer. */
  #tookMs = 0;
  #polledMs = Number.NEGATIVE_INFINITY;
  #lapses = 0;
  #ended = false;
  #cancelTimer: () => void = () => {};

  /** Called when the lease lapses, or is given up. */
  onLapse: () => void = () => {};

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    this.#clock = deps.clock;
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
    if (this.#ended) return "held";
    const sentMs = this.#clock.monotonicMs();
    if (this.#workerId === null) {
      this.#nextId ??= makeWorkerId(this.#deps.random.bytes(16));
      const id = this.#nextId;
      await this.#deps.workers.register(id, WORKER_LEASE_MS, this.#deadlineMs(sentMs));
      this.#nextId = null;
      if (this.#ended) {
        await this.#deps.workers.remove(id);
        return "held";
      }
      this.#workerId = id;
      this.#noteRenewal(sentMs);
      return "held";
    }
    const id = this.#workerId;
    const renewal = await this.#deps.workers.renew(id, WORKER_LEASE_MS, this.#deadlineMs(sentMs));
    if (id !== this.#workerId) return "held";
    if (renewal.kind === "fenced") {
      this.forget();
      return "fenced";
    }
    // The timer may come after the answer that it should have come before.
    if (this.#clock.monotonicMs() >= this.#renewedMs + START_WINDOW_MS) this.#lapse();
    this.#noteRenewal(sentMs);
    return "held";
  }

  /** How long one that is sent now is waited for. */
  #deadlineMs(nowMs: number): number {
    const leftMs = this.#renewedMs + START_WINDOW_MS - nowMs;
    const usefulMs = leftMs > 0 ? leftMs : START_WINDOW_MS;
    const isForTwo = usefulMs >= 2 * TRY_MS && this.#tookMs < TRY_MS;
    return isForTwo ? usefulMs - TRY_MS : Math.max(usefulMs, TRY_MS + this.#tookMs);
  }

  #noteRenewal(sentMs: number): void {
    this.#renewedMs = sentMs;
    this.#cancelTimer();
    this.#tookMs = this.#clock.monotonicMs() - sentMs;
    const leftMs = START_WINDOW_MS - this.#tookMs;
    this.#cancelTimer = this.#clock.setTimer(Math.max(0, leftMs), () => this.#lapse());
  }

  #lapse(): void {
    this.#cancelTimer();
    if (!Number.isFinite(this.#renewedMs)) return;
    this.#renewedMs = Number.NEGATIVE_INFINITY;
    this.#lapses++;
    this.onLapse();
  }

  /** How often it has lapsed. */
  get lapses(): number {
    return this.#lapses;
  }

  /** Records a poll whose revocations have been followed. */
  notePoll(sentMs: number): void {
    this.#polledMs = sentMs;
  }

  /** Ms since the last good poll was sent; 0 before the first. */
  sinceLastPollMs(): number {
    return Number.isFinite(this.#polledMs) ? this.#clock.monotonicMs() - this.#polledMs : 0;
  }

  /** Whether a call may start now. */
  mayStart(): boolean {
    const since = Math.min(this.#renewedMs, this.#polledMs);
    return this.#workerId !== null && this.#clock.monotonicMs() < since + START_WINDOW_MS;
  }

  /** Called when the id turned out to be fenced. */
  forget(): void {
    this.#workerId = null;
    this.#lapse();
  }

  /** Removes the row at a clean exit; no other is registered. */
  async end(): Promise<void> {
    this.#ended = true;
    const id = this.#workerId;
    if (id === null) return;
    this.forget();
    await this.#deps.workers.remove(id);
  }
}
