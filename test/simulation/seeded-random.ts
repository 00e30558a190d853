/** Chance that replays: the same seed draws the same numbers on every machine. */
import type { Random } from "#core/ports/random.ts";

export class SeededRandom implements Random {
  #a: number;
  #b: number;
  #c: number;
  #d = 1;

  /** `stream` tells apart several that are drawn from one seed. */
  constructor(seed: number, stream = 0) {
    this.#a = seed | 0;
    this.#b = Math.imul(stream + 1, 0x9e3779b9);
    this.#c = Math.floor(seed / 2 ** 32) | 0;
    for (let i = 0; i < 12; i++) this.#next();
  }

  /** sfc32. */
  #next(): number {
    const t = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + t) | 0;
    return t >>> 0;
  }

  unit(): number {
    return this.#next() / 2 ** 32;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = this.#next() & 0xff;
    return bytes;
  }

  /** Whole numbers, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.unit() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.between(0, from.length - 1)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }
}
