/** Limited jobs that wait in a line, by queue: in each the longest due goes first, of those due at one time who came first. */
import type { Limited } from "./limit-line.ts";

export class WaitingJobs<Item extends Limited> {
  readonly #queues = new Map<number, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Those in which somebody waits. */
  get queues(): number[] {
    return [...this.#queues.keys()];
  }

  /** Undefined: nobody waits in this queue. */
  firstOf(queue: number): Item | undefined {
    return this.#queues.get(queue)?.[0];
  }

  add(item: Item): void {
    const { queue, runAtMs } = item.job;
    const sorted = this.#queues.get(queue) ?? [];
    this.#queues.set(queue, sorted);
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (runAtMs < (sorted[middle] as Item).job.runAtMs) high = middle;
      else low = middle + 1;
    }
    sorted.splice(low, 0, item);
    this.#size++;
  }

  /** False: it does not wait. */
  remove(item: Item): boolean {
    const { queue } = item.job;
    const sorted = this.#queues.get(queue) ?? [];
    const at = sorted.indexOf(item);
    if (at === -1) return false;
    sorted.splice(at, 1);
    if (sorted.length === 0) this.#queues.delete(queue);
    this.#size--;
    return true;
  }
}
