/** Values that cost a call elsewhere: asked for once by all who want them, kept for a while, the oldest dropped first. */
import { forgetOldest } from "#core/domain/bounded-cache.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import { SecretsUnavailable } from "#core/ports/secrets.ts";

/** Whoever takes longer to answer counts as one that does not, where there is a value to go on with. */
const PATIENCE_MS = 1_000;

export interface TimedCacheOptions {
  readonly clock: Pick<Clock, "monotonicMs" | "setTimer">;
  /** After this a value is asked for again … */
  readonly knownMs: number;
  /** … and used for no longer than this while asking fails, or takes long. */
  readonly knownMsMax: number;
  /** How long "there is none" is remembered. */
  readonly noneMs: number;
  /** What says that it cannot serve now is not asked again for so long, and whoever wants the value meanwhile is told the same. */
  readonly refusedMs: number;
  readonly sizeMax: number;
}

interface Entry<V> {
  readonly value: V | null;
  readonly atMs: number;
}

interface Asked<V> {
  readonly answer: Promise<V | null>;
  readonly atMs: number;
}

export class TimedCache<V> {
  readonly #options: TimedCacheOptions;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #asked = new Map<string, Asked<V>>();

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
    if (entry === undefined || entry.value === null || ageMs >= knownMsMax) return asked.answer;
    try {
      return await this.#soon(asked, entry.value);
    } catch (error) {
      if (error instanceof OperatingError) return entry.value;
      throw error;
    }
  }

  /** The answer, or `known` when it takes too long. */
  async #soon({ answer, atMs }: Asked<V>, known: V): Promise<V | null> {
    const { clock } = this.#options;
    const late = Promise.withResolvers<V>();
    const leftMs = Math.max(0, atMs + PATIENCE_MS - clock.monotonicMs());
    const cancel = clock.setTimer(leftMs, () => late.resolve(known));
    try {
      return await Promise.race([answer, late.promise]);
    } finally {
      cancel();
    }
  }

  #ask(key: string, ask: () => Promise<V | null>): Asked<V> {
    const atMs = this.#options.clock.monotonicMs();
    const asked = { answer: this.#keep(key, ask), atMs };
    this.#asked.set(key, asked);
    return asked;
  }

  async #keep(key: string, ask: () => Promise<V | null>): Promise<V | null> {
    let keptMs = 0;
    try {
      const value = await ask();
      this.#entries.delete(key);
      this.#entries.set(key, { value, atMs: this.#options.clock.monotonicMs() });
      forgetOldest(this.#entries, this.#options.sizeMax);
      return value;
    } catch (error) {
      if (error instanceof SecretsUnavailable) keptMs = this.#options.refusedMs;
      throw error;
    } finally {
      if (keptMs === 0) this.#asked.delete(key);
      else this.#options.clock.setTimer(keptMs, () => this.#asked.delete(key));
    }
  }
}
