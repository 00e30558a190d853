/** A map that forgets what was used longest ago once it holds `entriesMax` entries. */
export class BoundedCache<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value of `key`, made by `make` when it is not held. What `make` throws is not kept. */
  getOrMake(key: K, make: (key: K) => V): V {
    const held = this.#entries.get(key);
    if (held !== undefined) {
      // A Map keeps the order of insertion, so putting it back makes it the youngest.
      this.#entries.delete(key);
      this.#entries.set(key, held);
      return held;
    }
    const made = make(key);
    this.#entries.set(key, made);
    forgetOldest(this.#entries, this.#entriesMax);
    return made;
  }
}

/** Takes out what was put in longest ago, until no more than `entriesMax` are left. */
export function forgetOldest<K>(entries: Map<K, unknown>, entriesMax: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= entriesMax) return;
    entries.delete(oldest);
  }
}
