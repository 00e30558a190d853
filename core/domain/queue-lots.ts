/**
 * Which queue is next where nobody remembers whose turn it was: it is drawn by lot. Critical first, then the other priorities and their
 * lanes by the weights by which a claim shares its room.
 *
 * What a limit lets go is taken a job or two at a time, now by one executor, now by another, of any number of lines. Turns would be a
 * state to keep for each, for as long as the slowest rate needs; drawn, each queue comes to its part of any number of takes all the same.
 */
import { assert } from "./assert.ts";
import {
  FIRST_STRIPE,
  LANE_WEIGHTS,
  LANES,
  PRIORITY_WEIGHTS,
  type Priority,
  priorityOfQueue,
} from "./queue.ts";

export class QueueLots {
  #state: number;

  /** The same seed draws the same lots; ones that are next to each other have nothing in common. */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** One of these queues, at least one, each of which has a job. */
  draw(queues: readonly number[]): number {
    const [only] = queues;
    if (only !== undefined && queues.length === 1) return only;
    const lanesOf = Map.groupBy(queues, priorityOfQueue);
    const weightOf = (one: Priority) => PRIORITY_WEIGHTS[one];
    const priority = lanesOf.has("critical")
      ? "critical"
      : this.#drawOf([...lanesOf.keys()], weightOf);
    const lanes = lanesOf.get(priority) ?? [];
    const stripes = lanes.filter((queue) => queue % LANES >= FIRST_STRIPE).length;
    return this.#drawOf(lanes, (queue) => LANE_WEIGHTS[queue % LANES] ?? 1 / stripes);
  }

  /** One of these, at least one, none before another. */
  oneOf<One>(all: readonly One[]): One {
    const [only] = all;
    return only !== undefined && all.length === 1 ? only : this.#drawOf(all, () => 1);
  }

  #drawOf<One>(all: readonly One[], weightOf: (one: One) => number): One {
    let left = this.#unit() * all.reduce((sum, one) => sum + weightOf(one), 0);
    let [drawn] = all;
    for (const one of all) {
      drawn = one;
      left -= weightOf(one);
      if (left < 0) break;
    }
    assert(drawn !== undefined, "lots are drawn among some");
    return drawn;
  }

  /** In [0, 1): mulberry32. */
  #unit(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
