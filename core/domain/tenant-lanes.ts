/**
 * In which lane a job goes, by how many jobs of its tenant and priority are in front of it. Counted in memory by whoever makes
 * jobs, by the time at which they are due: those of the same window, half of those of the one before, and so on. An estimate:
 * processes do not see each other's counts, and a plan that runs again after a deadlock counts twice.
 *
 * For critical jobs this is the tenant's quota: what goes beyond it goes behind the others', and into nothing that is kept for them.
 */
import type { TenantId } from "./ids.ts";
import {
  HORIZON_MS_MAX,
  LANE_COUNTS_MAX,
  LANE_SHARE_CRITICAL_JOBS,
  LANE_SHARE_JOBS,
  LANE_WINDOW_MS,
  RETRY_AHEAD_MS_MAX,
} from "./limits.ts";
import { FIRST_STRIPE, laneBehind, type Priority, priorityRank, queueOf } from "./queue.ts";
import { TenantStripes } from "./tenant-stripes.ts";
import { ALL_ALIKE, type WeightOf } from "./tenant-weight.ts";

/** Windows that still count; the last of them by an eighth. */
const WINDOWS_BEFORE = 3;
/** Those between the first that still counts for what is due now and the last in which jobs are made, or retried, ahead. */
const AHEAD_MS_MAX = Math.max(HORIZON_MS_MAX, RETRY_AHEAD_MS_MAX);
const WINDOWS_KEPT = Math.ceil(AHEAD_MS_MAX / LANE_WINDOW_MS) + WINDOWS_BEFORE;

export class TenantLanes {
  /** By window, then by tenant and priority. */
  readonly #windows = new Map<number, Map<string, number>>();
  readonly #stripes = new TenantStripes(WINDOWS_BEFORE);
  readonly #weightOf: WeightOf;
  #size = 0;

  constructor(weightOf: WeightOf = ALL_ALIKE) {
    this.#weightOf = weightOf;
  }

  /** Counts a job that is due at `dueAtMs` and answers its queue; the tenant's share is as large as its weight says. */
  place(
    tenantId: TenantId,
    priority: Priority,
    dueAtMs: number,
    weight = this.#weightOf(tenantId),
  ): number {
    const at = Math.floor(dueAtMs / LANE_WINDOW_MS);
    const key = `${priorityRank(priority)}${tenantId}`;
    let inFront = 0;
    for (let back = 0; back <= WINDOWS_BEFORE; back++)
      inFront += (this.#windows.get(at - back)?.get(key) ?? 0) / 2 ** back;
    this.#count(at, key);
    const share = priority === "critical" ? LANE_SHARE_CRITICAL_JOBS : LANE_SHARE_JOBS;
    const lane = laneBehind(inFront, share * weight);
    if (lane < FIRST_STRIPE) return queueOf(priority) + lane;
    const nth = Math.floor(inFront);
    const stripe = this.#stripes.place(tenantId, priority, at, weight, nth);
    return queueOf(priority) + FIRST_STRIPE + stripe;
  }

  #count(at: number, key: string): void {
    let counts = this.#windows.get(at);
    if (counts === undefined) {
      counts = new Map();
      this.#windows.set(at, counts);
      // Now and then: it looks at every window.
      if (this.#windows.size > 2 * WINDOWS_KEPT) this.#dropBefore(at - WINDOWS_KEPT);
    }
    const count = counts.get(key);
    if (count === undefined) this.#size++;
    counts.set(key, (count ?? 0) + 1);
    while (this.#size > LANE_COUNTS_MAX) this.#drop(Math.min(...this.#windows.keys()));
  }

  #dropBefore(first: number): void {
    for (const window of this.#windows.keys()) if (window < first) this.#drop(window);
  }

  #drop(window: number): void {
    this.#size -= this.#windows.get(window)?.size ?? 0;
    this.#windows.delete(window);
  }
}
