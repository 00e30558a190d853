/** Calls ended per second: the best of the last WINDOWS windows, so that a pause between peaks does not shrink it to nothing. */
import type { Clock } from "#core/ports/clock.ts";

const WINDOW_MS = 250;
const WINDOWS = 40;

export class CallRate {
  readonly #clock: Clock;
  readonly #perSecond: number[] = [];
  #windowStartMs: number;
  #endedAtStart = 0;
  #best = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#windowStartMs = clock.monotonicMs();
  }

  /** Takes the count of calls ended since the start. */
  note(ended: number): void {
    const nowMs = this.#clock.monotonicMs();
    const spanMs = nowMs - this.#windowStartMs;
    if (spanMs < WINDOW_MS) return;
    this.#perSecond.push(((ended - this.#endedAtStart) * 1_000) / spanMs);
    if (this.#perSecond.length > WINDOWS) this.#perSecond.shift();
    this.#best = Math.max(...this.#perSecond);
    this.#windowStartMs = nowMs;
    this.#endedAtStart = ended;
  }

  perSecond(): number {
    return this.#best;
  }
}
