/**
 * Whose turn it is among the queues that have jobs: critical first, then the other priorities by the weights by which a claim shares
 * its room, in each the lanes by theirs, stripes in turn within the one that they share. Who has nothing, or is not open, is passed
 * over and saves nothing up.
 */
import { assert } from "./assert.ts";
import {
  FIRST_STRIPE,
  LANE_WEIGHTS,
  LANES,
  PRIORITIES,
  PRIORITY_WEIGHTS,
  QUEUES,
} from "./queue.ts";

/** Divisible by every weight, so that turns are whole numbers. */
const ROUND = 24;

/** Turns by weight: next is who would have begun its turn the earliest. A handful of members, looked through one by one. */
class Turns {
  readonly #steps: readonly number[];
  readonly #beginsAt: number[];
  readonly #counts: number[];

  constructor(weights: readonly number[]) {
    this.#steps = weights.map((weight) => ROUND / weight);
    assert(this.#steps.every(Number.isInteger), "turns are whole numbers");
    this.#beginsAt = weights.map(() => 0);
    this.#counts = weights.map(() => 0);
  }

  add(member: number): void {
    this.#counts[member] = (this.#counts[member] ?? 0) + 1;
  }

  remove(member: number): void {
    const count = this.#counts[member] ?? 0;
    assert(count > 0, "what leaves a queue was in it");
    this.#counts[member] = count - 1;
  }

  /** Next of those that are open; -1 when none of them has anything. */
  next(isOpen: (member: number) => boolean): number {
    let next = -1;
    let nextAt = Number.POSITIVE_INFINITY;
    for (let member = 0; member < this.#counts.length; member++) {
      const at = this.#beginsAt[member] ?? 0;
      if (this.#counts[member] === 0 || at >= nextAt || !isOpen(member)) continue;
      next = member;
      nextAt = at;
    }
    return next;
  }

  /** Whose turn would have begun before this one was passed over: it begins now. */
  serve(member: number): void {
    const at = this.#beginsAt[member] ?? 0;
    for (let other = 0; other < this.#beginsAt.length; other++)
      this.#beginsAt[other] = Math.max(this.#beginsAt[other] ?? 0, at);
    this.#beginsAt[member] = at + (this.#steps[member] ?? 0);
  }
}

class PriorityTurns {
  readonly #lanes = new Turns([...LANE_WEIGHTS, 1]);
  readonly #stripes = new Turns(Array.from({ length: LANES - FIRST_STRIPE }, () => 1));
  count = 0;

  add(lane: number): void {
    this.count++;
    this.#lanes.add(Math.min(lane, FIRST_STRIPE));
    if (lane >= FIRST_STRIPE) this.#stripes.add(lane - FIRST_STRIPE);
  }

  remove(lane: number): void {
    this.count--;
    this.#lanes.remove(Math.min(lane, FIRST_STRIPE));
    if (lane >= FIRST_STRIPE) this.#stripes.remove(lane - FIRST_STRIPE);
  }

  /** The lane whose turn it is; -1 when no open one has anything. */
  next(isOpen: (lane: number) => boolean): number {
    const nextStripe = () => this.#stripes.next((stripe) => isOpen(FIRST_STRIPE + stripe));
    const lane = this.#lanes.next((one) => (one < FIRST_STRIPE ? isOpen(one) : nextStripe() >= 0));
    return lane < FIRST_STRIPE ? lane : FIRST_STRIPE + nextStripe();
  }

  serve(lane: number): void {
    this.#lanes.serve(Math.min(lane, FIRST_STRIPE));
    if (lane >= FIRST_STRIPE) this.#stripes.serve(lane - FIRST_STRIPE);
  }
}

/** All but critical, by rank. */
const OTHERS = PRIORITIES.slice(1);

export class QueueTurns {
  readonly #critical = new PriorityTurns();
  readonly #others = OTHERS.map(() => new PriorityTurns());
  readonly #turns = new Turns(OTHERS.map((priority) => PRIORITY_WEIGHTS[priority]));

  /** Critical jobs among them. */
  get critical(): number {
    return this.#critical.count;
  }

  /** A job has come into a queue. */
  add(queue: number): void {
    assert(queue >= 0 && queue < QUEUES, "a queue in range");
    this.#lanesOf(queue).add(queue % LANES);
    if (queue >= LANES) this.#turns.add(rankOf(queue) - 1);
  }

  /** A job has left a queue, served or not. */
  remove(queue: number): void {
    this.#lanesOf(queue).remove(queue % LANES);
    if (queue >= LANES) this.#turns.remove(rankOf(queue) - 1);
  }

  /** The queue whose turn it is among those that are open; null when none has a job. */
  next(onlyCritical = false, isOpen: (queue: number) => boolean = always): number | null {
    const critical = this.#critical.count > 0 ? this.#critical.next(isOpen) : -1;
    if (critical >= 0) return critical;
    if (onlyCritical) return null;
    const laneOf = (other: number) =>
      this.#others[other]?.next((lane) => isOpen((other + 1) * LANES + lane)) ?? -1;
    const next = this.#turns.next((other) => isOpen === always || laneOf(other) >= 0);
    return next < 0 ? null : (next + 1) * LANES + laneOf(next);
  }

  /** A queue has had its turn. */
  serve(queue: number): void {
    this.#lanesOf(queue).serve(queue % LANES);
    if (queue >= LANES) this.#turns.serve(rankOf(queue) - 1);
  }

  #lanesOf(queue: number): PriorityTurns {
    const lanes = queue < LANES ? this.#critical : this.#others[rankOf(queue) - 1];
    assert(lanes !== undefined, "a queue in range");
    return lanes;
  }
}

function always(): boolean {
  return true;
}

function rankOf(queue: number): number {
  return Math.floor(queue / LANES);
}
