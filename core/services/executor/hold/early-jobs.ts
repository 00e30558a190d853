/**
 * Held jobs whose time has not come: the earliest first, of the same instant the most urgent. Thousands have the same instant, so
 * jobs of one instant and queue are one entry of the heap.
 */
import { assert } from "#core/domain/assert.ts";
import { QUEUES } from "#core/domain/queue.ts";
import { Heap } from "./heap.ts";
import type { HeldJob } from "./held-job.ts";

interface SameInstant {
  /** Sorts like (runAtMs, queue); exact up to the year 6000. */
  readonly key: number;
  readonly jobs: HeldJob[];
  /** The first that has not been taken. */
  at: number;
}

export class EarlyJobs {
  readonly #instants = new Map<number, SameInstant>();
  readonly #first = new Heap<SameInstant>((a, b) => a.key < b.key);

  push(held: HeldJob): void {
    const { runAtMs, queue } = held.job;
    const key = runAtMs * QUEUES + queue;
    assert(Number.isSafeInteger(key), "an instant in whole ms");
    const same = this.#instants.get(key);
    if (same !== undefined) same.jobs.push(held);
    else {
      const made = { key, jobs: [held], at: 0 };
      this.#instants.set(key, made);
      this.#first.push(made);
    }
  }

  peek(): HeldJob | null {
    const same = this.#first.peek();
    return same?.jobs[same.at] ?? null;
  }

  /** Takes away what `peek` answers. */
  pop(): void {
    const same = this.#first.peek();
    if (same === null || ++same.at < same.jobs.length) return;
    this.#first.pop();
    this.#instants.delete(same.key);
  }
}
