/** Which limited job goes first: the most urgent, of those the longest due. */
import type { Limited } from "./limit-line.ts";

/** In a line, and between the lines of a tenant that has a limit of its own. */
export function before(a: Limited, b: Limited): boolean {
  if (a.job.queue !== b.job.queue) return a.job.queue < b.job.queue;
  return a.job.runAtMs < b.job.runAtMs;
}

/** Behind all that are not after it: those of one queue and time go in the order in which they came. */
export function insert<Item extends Limited>(sorted: Item[], item: Item): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(item, sorted[middle] as Item)) high = middle;
    else low = middle + 1;
  }
  sorted.splice(low, 0, item);
}
