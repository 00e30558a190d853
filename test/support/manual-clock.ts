/** A clock that a test moves by hand. Timers fire in order of time while it moves, with promises settled in between. */
import type { Clock } from "#core/ports/clock.ts";

interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}

export class ManualClock implements Clock {
  #nowMs = 0;
  readonly #epochMs: number;
  readonly #timers = new Set<Timer>();

  constructor(epochMs = Date.UTC(2026, 0, 1)) {
    this.#epochMs = epochMs;
  }

  nowMs(): number {
    return this.#epochMs + Math.floor(this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  setTimer(delayMs: number, fire: () => void): () => void {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), fire };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const cancel = this.setTimer(delayMs, resolve);
      signal?.addEventListener(
        "abort",
        () => {
          cancel();
          resolve();
        },
        { once: true },
      );
    });
  }

  /** Moves time by `ms`, firing what falls due on the way. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settle();
    for (;;) {
      let next: Timer | null = null;
      for (const timer of this.#timers)
        if (timer.atMs <= endMs && (next === null || timer.atMs < next.atMs)) next = timer;
      if (next === null) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.fire();
      await settle();
    }
    this.#nowMs = endMs;
    await settle();
  }
}

/** Lets every promise that can settle do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
