import { forgetOldest } from "#core/domain/bounded-cache.ts";
import type { Clock } from "#core/ports/clock.ts";

/** Values with the instant as of which they hold, on the monotonic clock; bounded, the oldest goes first. */
export class AgedValues<Key, Value> {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #sizeMax: number;
  readonly #values = new Map<Key, { readonly value: Value; readonly atMs: number }>();

  constructor(clock: Pick<Clock, "monotonicMs">, sizeMax: number) {
    this.#clock = clock;
    this.#sizeMax = sizeMax;
  }

  /** Null when there is none that is younger. */
  find(key: Key, ageMsMax: number): Value | null {
    const entry = this.#values.get(key);
    if (entry === undefined || this.#clock.monotonicMs() - entry.atMs >= ageMsMax) return null;
    return entry.value;
  }

  /** An older value never takes the place of a younger one. */
  set(key: Key, value: Value, atMs: number): void {
    const entry = this.#values.get(key);
    if (entry !== undefined && entry.atMs > atMs) return;
    this.#values.delete(key);
    this.#values.set(key, { value, atMs });
    forgetOldest(this.#values, this.#sizeMax);
  }
}
