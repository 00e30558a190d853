/** Values that cost a call elsewhere: asked for once by all who want them, kept for a while, the oldest dropped first. */
import { OperatingError } from "#core/domain/errors.ts";
import type { Clock } from "#core/ports/clock.ts";

export interface TimedCacheOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** After this a value is asked for again … */
  readonly knownMs: number;
  /** … and used for no longer than this while asking fails. */
  readonly knownMsMax: number;
  /** How long "there is none" is remembered. */
  readonly noneMs: number;
  readonly sizeMax: number;
}

interface Entry<V> {
  readonly value: V | null;
  readonly atMs: number;
}

export class TimedCache<V> {
  readonly #options: TimedCacheOptions;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #asked = new Map<string, Promise<V | null>>();

  constructor(options: TimedCacheOptions) {
    this.#options = options;
  }

  /** Throws what `ask` throws when there is nothing to go on with. */
  async get(key: string, ask: () => Promise<V | null>): Promise<V | null> {
    const { clock, knownMs, knownMsMax, noneMs } = this.#options;
    const entry = this.#entries.get(key);
    const ageMs = entry === undefined ? Number.POSITIVE_INFINITY : clock.monotonicMs() - entry.atMs;
    if (entry !== undefined && ageMs < (entry.value === null ? noneMs : knownMs))
      return entry.value;
    const asked = this.#asked.get(key) ?? this.#ask(key, ask);
    if (entry === undefined || entry.value === null || ageMs >= knownMsMax) return asked;
    try {
      return await asked;
    } catch (error) {
      if (error instanceof OperatingError) return entry.value;
      throw error;
    }
  }

  #ask(key: string, ask: () => Promise<V | null>): Promise<V | null> {
    const asked = this.#keep(key, ask);
    this.#asked.set(key, asked);
    return asked;
  }

  async #keep(key: string, ask: () => Promise<V | null>): Promise<V | null> {
    try {
      const value = await ask();
      this.#entries.delete(key);
      this.#entries.set(key, { value, atMs: this.#options.clock.monotonicMs() });
      for (const oldest of this.#entries.keys()) {
        if (this.#entries.size <= this.#options.sizeMax) break;
        this.#entries.delete(oldest);
      }
      return value;
    } finally {
      this.#asked.delete(key);
    }
  }
}
