/**
 * Calls that this executor can end per second: the best of the last windows in which its slots were all taken. Others say nothing,
 * but that it can do at least that: so a quiet hour leaves what the last peak has taught.
 *
 * Of a window counts the lower of what ended in it and what its calls' mean duration allows the slots: calls that were sent
 * together end together, and would be taken for a rate.
 *
 * Before the first peak nothing has been measured; what the calls so far would allow the slots, up to a bound, is believed until the
 * slots are all taken.
 */
import { GUESSED_PER_SECOND_MAX } from "#core/domain/limits.ts";
import type { Clock } from "#core/ports/clock.ts";

const WINDOW_MS = 50;
const WINDOWS = 200;
/** What the newest window counts for in the mean duration. */
const NEWEST = 0.1;

export interface CallTotals {
  /** Calls ended since the start, and how long they took altogether. */
  readonly ended: number;
  readonly busyMs: number;
  /** As many slots are taken now as there are for anyone. */
  readonly saturated: boolean;
}

export class CallRate {
  readonly #clock: Clock;
  readonly #slots: number;
  readonly #perSecond: number[] = [];
  #windowStartMs: number;
  #endedAtStart = 0;
  #busyMsAtStart = 0;
  #best = 0;
  #meanMs: number | null = null;
  #guess = 0;

  constructor(clock: Clock, slots: number) {
    this.#clock = clock;
    this.#slots = slots;
    this.#windowStartMs = clock.monotonicMs();
  }

  note({ ended, busyMs, saturated }: CallTotals): void {
    const nowMs = this.#clock.monotonicMs();
    const spanMs = nowMs - this.#windowStartMs;
    if (spanMs < WINDOW_MS) return;
    const count = ended - this.#endedAtStart;
    const meanMs = count === 0 ? 0 : (busyMs - this.#busyMsAtStart) / count;
    const allowed = meanMs === 0 ? Number.POSITIVE_INFINITY : (this.#slots * 1_000) / meanMs;
    this.#windowStartMs = nowMs;
    this.#endedAtStart = ended;
    this.#busyMsAtStart = busyMs;
    const perSecond = Math.min((count * 1_000) / spanMs, allowed);
    this.#guessFrom(count === 0 ? null : meanMs, saturated);
    if (!saturated && perSecond < this.#best) return;
    this.#perSecond.push(perSecond);
    if (this.#perSecond.length > WINDOWS) this.#perSecond.shift();
    this.#best = Math.max(...this.#perSecond);
  }

  perSecond(): number {
    return Math.max(this.#best, this.#guess);
  }

  #guessFrom(meanMs: number | null, saturated: boolean): void {
    if (saturated) this.#guess = 0;
    if (saturated || meanMs === null) return;
    this.#meanMs = this.#meanMs === null ? meanMs : NEWEST * meanMs + (1 - NEWEST) * this.#meanMs;
    this.#guess = Math.min(GUESSED_PER_SECOND_MAX, (this.#slots * 1_000) / this.#meanMs);
  }
}
