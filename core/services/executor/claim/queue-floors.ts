/**
 * Which queues a poll looks at, and from which `dueAt` on.
 *
 * A claimed row leaves a dead entry in the index until no snapshot can see it; a range that begins at the start of its queue
 * walks over all of them. Rows become pending with `dueAt` no earlier than the write, so nothing enters below the last head (or
 * the database's now, where the queue was empty) but from a transaction older than FLOOR_SLACK_MS: the range begins there. One
 * poll in WHOLE_RANGE_EVERY goes without a floor and finds even those.
 */
import { FLOOR_SLACK_MS } from "#core/domain/limits.ts";
import { PRIORITIES, QUEUES, queueOf } from "#core/domain/queue.ts";
import type { Poll } from "#core/ports/job-store.ts";

const ALL_QUEUES_EVERY = 10;
/** Polls that find a queue empty before it is no longer looked at in each. */
const FORGOTTEN_AFTER = 100;
const WHOLE_RANGE_EVERY = 100;

export class QueueFloors {
  readonly #floorsMs = new Map<number, number>();
  /** By the poll that last found something there. */
  readonly #seen = new Map<number, number>(
    PRIORITIES.map((priority) => [queueOf(priority), Number.POSITIVE_INFINITY]),
  );
  #polls = 0;

  /** The queues to ask for in the next poll: those seen in use, all of them once in ten. */
  next(): { queue: number; floorMs: number | null }[] {
    const whole = this.#polls % WHOLE_RANGE_EVERY === 0;
    const all = this.#polls % ALL_QUEUES_EVERY === 0;
    this.#polls++;
    const queues = all
      ? Array.from({ length: QUEUES }, (_, queue) => queue)
      : [...this.#seen.keys()].sort((a, b) => a - b);
    return queues.map((queue) => ({ queue, floorMs: whole ? null : this.floorOf(queue) }));
  }

  floorOf(queue: number): number | null {
    return this.#floorsMs.get(queue) ?? null;
  }

  /** The database's clock was set back: rows may be due below them. */
  forget(): void {
    this.#floorsMs.clear();
  }

  /** Learns from an answered poll. */
  note(asked: readonly { queue: number }[], poll: Poll): void {
    for (const { queue } of asked) {
      const headMs = poll.heads.get(queue)?.dueAtMs;
      if (headMs !== undefined)
        this.#seen.set(queue, Math.max(this.#seen.get(queue) ?? 0, this.#polls));
      else if (this.#polls - (this.#seen.get(queue) ?? 0) > FORGOTTEN_AFTER)
        this.#seen.delete(queue);
      this.#floorsMs.set(queue, Math.min(headMs ?? poll.nowMs, poll.nowMs) - FLOOR_SLACK_MS);
    }
  }
}
