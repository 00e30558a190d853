/**
 * What was seen in one pass after another. Something counts only when it was seen twice, far enough apart, and in every pass in
 * between: one look cannot tell a holder that is gone from one that is a moment late, or from a database that has just come back.
 */
export class Sightings<Key> {
  readonly #apartMs: number;
  /** When each was first seen, on the monotonic clock. */
  #firstSeenMs = new Map<Key, number>();

  constructor(apartMs: number) {
    this.#apartMs = apartMs;
  }

  /**
   * Takes what a look has shown, which lay between `askedMs` and `answeredMs`, and forgets all else. Returns what an earlier look
   * had shown too, answered at least `apartMs` before this one was asked.
   */
  confirm(seen: readonly Key[], askedMs: number, answeredMs: number): Key[] {
    const before = this.#firstSeenMs;
    this.#firstSeenMs = new Map(seen.map((key) => [key, before.get(key) ?? answeredMs]));
    return seen.filter((key) => {
      const firstMs = before.get(key);
      return firstMs !== undefined && askedMs - firstMs >= this.#apartMs;
    });
  }

  forget(key: Key): void {
    this.#firstSeenMs.delete(key);
  }

  forgetAll(): void {
    this.#firstSeenMs.clear();
  }
}
