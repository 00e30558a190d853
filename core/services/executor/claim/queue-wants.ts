/** How much each queue probably has, told from claims: so that a claim asks no more of it, and others get its share at once. */
import type { ClaimShare } from "#core/domain/queue.ts";

/** Asked for, beyond twice what it had, of a queue that had less than it was asked for. */
const MORE = 10;

export class QueueWants {
  readonly #wants = new Map<number, number>();

  /** Infinity for a queue that gave all that it was asked for, or was never asked. */
  wantedBy = (queue: number): number => this.#wants.get(queue) ?? Number.POSITIVE_INFINITY;

  /**
   * Learns from a claim of `limit` jobs altogether, which goes from share to share until it has them: those that it did not come to
   * tell nothing. Answers the queues that probably have more.
   */
  note(
    shares: readonly ClaimShare[],
    jobs: readonly { readonly queue: number }[],
    limit: number,
  ): number[] {
    const taken = new Map<number, number>();
    for (const { queue } of jobs) taken.set(queue, (taken.get(queue) ?? 0) + 1);
    const lastQueue = jobs.length < limit ? null : jobs.at(-1)?.queue;
    const more: number[] = [];
    let isReached = true;
    for (const { queue, limit: asked } of shares) {
      const had = taken.get(queue) ?? 0;
      if (queue === lastQueue) isReached = false;
      if (had < asked && isReached) {
        this.#wants.set(queue, 2 * had + MORE);
        continue;
      }
      if (had >= asked) this.#wants.delete(queue);
      more.push(queue);
    }
    return more;
  }
}
