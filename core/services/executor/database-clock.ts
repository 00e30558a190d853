/**
 * The database's clock, told from polls. A poll sent at `sentMs` and answered at `receivedMs` (monotonic) says that the database
 * read `nowMs` somewhere between. Of that range the lower end counts: this clock is never ahead of the database's, so no call
 * leaves before its second, and behind by one round trip at most.
 *
 * What a quicker poll has told before is better than what a slow one tells, for as long as the two clocks cannot have run apart by
 * as much, and the slow one does not contradict it: then the database's clock has been set back, or another server has taken over.
 * One that was set forward is followed anyhow, as a lower end is never too high.
 */
import { assert } from "#core/domain/assert.ts";
import type { Clock } from "#core/ports/clock.ts";

/** How far two clocks run apart in a ms, at most: NTP lets each be off by half of that. */
const DRIFT_MAX = 1 / 1_000;
/** A step that is smaller has passed before it matters. */
const STEP_MS = 1_000;
/** The database tells whole ms. */
const TOLD_MS = 1;

export class DatabaseClock {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Null before the first poll. */
  #told: { readonly offsetMs: number; readonly atMs: number } | null = null;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /**
   * Answers which way it was set, if so: `back`, so that what is remembered by its time says nothing any more; `forward`, also where the
   * poll before was that slow.
   */
  addSample(sentMs: number, receivedMs: number, nowMs: number): "back" | "forward" | null {
    const lowestMs = nowMs - receivedMs;
    const highestMs = nowMs + TOLD_MS - sentMs;
    const before = this.#told;
    const knownMs =
      before === null ? lowestMs : before.offsetMs - (receivedMs - before.atMs) * DRIFT_MAX;
    const offsetMs = knownMs > highestMs ? lowestMs : Math.max(knownMs, lowestMs);
    this.#told = { offsetMs, atMs: receivedMs };
    if (Math.abs(offsetMs - knownMs) < STEP_MS) return null;
    return offsetMs < knownMs ? "back" : "forward";
  }

  /** The database's now, epoch ms with fractions. */
  nowMs(): number {
    assert(this.#told !== null, "the database's clock is read after the first poll");
    return this.#clock.monotonicMs() + this.#told.offsetMs;
  }
}
