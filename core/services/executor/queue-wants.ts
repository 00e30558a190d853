/** How much each queue probably has, told from claims: so that a claim asks no more of it, and others get its share at once. */
import type { ClaimShare } from "#core/domain/queue.ts";

/** Asked for, beyond twice what it had, of a queue that had less than it was asked for. */
const MORE = 10;

export class QueueWants {
  readonly #wants = new Map<number, number>();

  /** Infinity for a queue that gave all that it was asked for, or was never asked. */
  wantedBy = (queue: number): number => this.#wants.get(queue) ?? Number.POSITIVE_INFINITY;

  /** Learns from a claim. True when a queue gave all that it was asked for, and probably has more. */
  note(shares: readonly ClaimShare[], jobs: readonly { readonly queue: number }[]): boolean {
    const taken = new Map<number, number>();
    for (const { queue } of jobs) taken.set(queue, (taken.get(queue) ?? 0) + 1);
    let more = false;
    for (const { queue, limit } of shares) {
      const had = taken.get(queue) ?? 0;
      if (had < limit) this.#wants.set(queue, 2 * had + MORE);
      else this.#wants.delete(queue);
      more ||= had >= limit;
    }
    return more;
  }
}
