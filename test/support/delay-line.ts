/**
 * Runs actions a fraction of a millisecond after they were put in. `setTimeout` is whole milliseconds and late: it is used only to
 * come near, and the rest is spent going round the event loop, which costs a core while something is due and nothing otherwise.
 */

/** What a timer may be late by, ms. */
const TIMER_SLACK_MS = 2;

interface Delayed {
  readonly atMs: number;
  readonly run: () => void;
}

/** Actions run in the order in which they were put in: a later one never overtakes. */
export class DelayLine {
  readonly #queue: Delayed[] = [];
  #first = 0;
  #armed = false;

  put(delayMs: number, run: () => void): void {
    if (delayMs <= 0 && this.#first === this.#queue.length) {
      run();
      return;
    }
    this.#queue.push({ atMs: performance.now() + delayMs, run });
    if (!this.#armed) this.#arm();
  }

  #arm(): void {
    const next = this.#queue[this.#first];
    this.#armed = next !== undefined;
    if (next === undefined) return;
    const leftMs = next.atMs - performance.now();
    if (leftMs > TIMER_SLACK_MS + 1) setTimeout(this.#look, leftMs - TIMER_SLACK_MS);
    else setImmediate(this.#look);
  }

  #look = (): void => {
    for (;;) {
      const next = this.#queue[this.#first];
      if (next === undefined || next.atMs > performance.now()) break;
      this.#first++;
      next.run();
    }
    if (this.#first === this.#queue.length) {
      this.#queue.length = 0;
      this.#first = 0;
    }
    this.#arm();
  };
}
