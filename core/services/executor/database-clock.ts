/**
 * The database's clock, told from polls. A poll sent at `sentMs` and answered at `receivedMs` (monotonic) says that the database
 * read `nowMs` somewhere between. The offset of the poll with the smallest round trip counts, and of its range the lower
 * end: this clock is never ahead of the database's, so no call leaves before its second, and behind by one round trip at most.
 */
import { assert } from "#core/domain/assert.ts";
import type { Clock } from "#core/ports/clock.ts";

/** Polls remembered: enough to meet a quick one, few enough to follow a clock that is stepped. */
const SAMPLES = 32;

export class DatabaseClock {
  readonly #clock: Clock;
  readonly #samples: { roundTripMs: number; offsetMs: number }[] = [];
  #offsetMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get known(): boolean {
    return this.#offsetMs !== null;
  }

  addSample(sentMs: number, receivedMs: number, nowMs: number): void {
    this.#samples.push({ roundTripMs: receivedMs - sentMs, offsetMs: nowMs - receivedMs });
    if (this.#samples.length > SAMPLES) this.#samples.shift();
    const best = this.#samples.reduce((a, b) => (b.roundTripMs < a.roundTripMs ? b : a));
    this.#offsetMs = best.offsetMs;
  }

  /** The database's now, epoch ms with fractions. */
  nowMs(): number {
    assert(this.#offsetMs !== null, "the database's clock is read after the first poll");
    return this.#clock.monotonicMs() + this.#offsetMs;
  }
}
