/**
 * Instants in this executor's hands for calls of one line, where a rate holds: each is good for one call, from its time until a
 * little later. One brings a job on when its time has come; what the call starts with is any that is good then, or none: a job may
 * have waited for a slot, or for what its call needs, until its own was lost.
 */
import { START_LATE_MS_MIN } from "#core/domain/limits.ts";

const LATE_PART = 0.5;

/**
 * How late an instant may be used: half of the time to the next, so that no second has more than one call too many, also where what
 * follows until the call leaves takes the other half. Above 50 a second START_LATE_MS_MIN is more than that, 2 % of a second.
 */
export function lateMsAt(perSecond: number): number {
  return Math.max(START_LATE_MS_MIN, (LATE_PART * 1_000) / perSecond);
}

export class LineStarts {
  /** Whole ms, sorted: first those that have brought a job on, then those whose time is to come. */
  readonly #atMs: number[] = [];
  #passed = 0;

  get count(): number {
    return this.#atMs.length;
  }

  add(atMs: readonly number[]): void {
    this.#atMs.push(...atMs);
    this.#atMs.sort((a, b) => a - b);
  }

  forget(): void {
    this.#atMs.length = 0;
    this.#passed = 0;
  }

  /** Forgets what is past by more than `lateMs`. */
  lose(nowMs: number, lateMs: number): void {
    while ((this.#atMs[0] ?? Number.POSITIVE_INFINITY) + lateMs < nowMs) this.#shift();
  }

  /** The next that brings a job on; Infinity: none. */
  nextMs(nowMs: number, lateMs: number): number {
    this.lose(nowMs, lateMs);
    return this.#atMs[this.#passed] ?? Number.POSITIVE_INFINITY;
  }

  /** It has brought one on. */
  pass(): void {
    this.#passed++;
  }

  /** Whether there is one that a call may start with. */
  isGood(nowMs: number, lateMs: number): boolean {
    this.lose(nowMs, lateMs);
    return (this.#atMs[0] ?? Number.POSITIVE_INFINITY) <= nowMs;
  }

  /** A call has started with the first. */
  use(): void {
    this.#shift();
  }

  #shift(): void {
    this.#atMs.shift();
    this.#passed = Math.max(0, this.#passed - 1);
  }
}
