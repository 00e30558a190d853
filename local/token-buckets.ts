import { forgetOldest } from "#core/domain/bounded-cache.ts";

/** A token bucket for each caller, as API Gateway's usage plans have: `burst` requests at once, then `ratePerSecond`. */
export class TokenBuckets {
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();
  readonly #ratePerMs: number;
  readonly #burst: number;
  readonly #bucketsMax: number;

  /** At most `bucketsMax` callers are remembered; one that is forgotten begins with a full bucket. */
  constructor(options: { ratePerSecond: number; burst: number; bucketsMax: number }) {
    this.#ratePerMs = options.ratePerSecond / 1_000;
    this.#burst = options.burst;
    this.#bucketsMax = options.bucketsMax;
  }

  /** Takes a token of the caller's and returns 0; or takes none and returns in how many ms there is one. `nowMs` is monotonic. */
  take(caller: string, nowMs: number): number {
    const { tokens, atMs } = this.#buckets.get(caller) ?? { tokens: this.#burst, atMs: nowMs };
    const filled = Math.min(this.#burst, tokens + Math.max(0, nowMs - atMs) * this.#ratePerMs);
    const taken = filled >= 1;
    this.#buckets.delete(caller);
    this.#buckets.set(caller, { tokens: taken ? filled - 1 : filled, atMs: nowMs });
    forgetOldest(this.#buckets, this.#bucketsMax);
    return taken ? 0 : (1 - filled) / this.#ratePerMs;
  }
}
