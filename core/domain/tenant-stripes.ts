/**
 * Which stripes of a priority a tenant's jobs beyond sixteen shares go into: as many as it weighs. A claim gives each stripe the same,
 * and takes what is in one in the order of time, so a stripe is one tenant's where that can be: from its own by hash on, those that no
 * other tenant has put anything into that is due at about the same time. Known to whoever makes the jobs, in memory.
 */
import type { TenantId } from "./ids.ts";
import { firstStripeOf, PRIORITIES, type Priority, priorityRank, STRIPES } from "./queue.ts";

/** Of one tenant, however much it weighs, so that others find some. */
export const STRIPES_OF_ONE_MAX = 6;

/** Who has put a job into a stripe last, and the window in which it is due. */
interface Holder {
  readonly tenantId: TenantId;
  readonly at: number;
}

export class TenantStripes {
  readonly #windows: number;
  readonly #holders = PRIORITIES.map(() => new Map<number, Holder>());

  /** `windows`: how long a stripe stays with who has used it. */
  constructor(windows: number) {
    this.#windows = windows;
  }

  /** The stripe, from 0, of a tenant's `nth` job among those of about the same time, due in window `at`. */
  place(tenantId: TenantId, priority: Priority, at: number, weight: number, nth: number): number {
    const holders = this.#holders[priorityRank(priority)] ?? new Map<number, Holder>();
    const most = Math.min(STRIPES_OF_ONE_MAX, Math.max(1, Math.round(weight)));
    const stripes = this.#choose(holders, tenantId, at, most);
    const stripe = stripes[nth % stripes.length];
    // All are others': its own by hash, behind or before what is there, in the order of time.
    if (stripe === undefined) return firstStripeOf(tenantId);
    holders.set(stripe, { tenantId, at });
    return stripe;
  }

  #choose(
    holders: ReadonlyMap<number, Holder>,
    tenantId: TenantId,
    at: number,
    most: number,
  ): number[] {
    const first = firstStripeOf(tenantId);
    const all = Array.from({ length: STRIPES }, (_, k) => (first + k) % STRIPES);
    const holderOf = (stripe: number) => {
      const holder = holders.get(stripe);
      const isNear = holder !== undefined && Math.abs(at - holder.at) <= this.#windows;
      return isNear ? holder.tenantId : null;
    };
    const own = all.filter((stripe) => holderOf(stripe) === tenantId);
    const free = all.filter((stripe) => holderOf(stripe) === null);
    const chosen = [...own, ...free].slice(0, most);
    if (chosen.length > 0) return chosen;
    const other = holderOf(first);
    // Who weighs more has others left.
    return all.filter((stripe) => holderOf(stripe) === other).length > 1 ? [first] : [];
  }
}
