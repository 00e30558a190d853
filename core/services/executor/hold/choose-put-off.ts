/** Which of the jobs in hand go back because their tenants have more than they can start soon. */
import type { TenantId } from "#core/domain/ids.ts";
import type { HeldJob } from "./held-job.ts";
import type { TenantCounts } from "./tenant-counts.ts";

/**
 * Of all that is `held`, up to `jobsMax` of the last that came: those that wait and take room, of each tenant that `soon` names as many
 * as it has beyond its calls and what of it starts soon. `roomOf`: a tenant's jobs that take room, calls included.
 */
export function choosePutOff(
  held: ReadonlySet<HeldJob>,
  roomOf: Pick<TenantCounts, "of">,
  soon: ReadonlyMap<TenantId, { readonly calls: number; readonly starts: number }>,
  jobsMax: number,
): ReadonlySet<HeldJob> {
  const excess = new Map<TenantId, number>();
  for (const [tenantId, { calls, starts }] of soon) {
    const count = roomOf.of(tenantId) - calls - starts;
    if (count > 0) excess.set(tenantId, count);
  }
  const chosen = new Set<HeldJob>();
  if (excess.size === 0) return chosen;
  for (const one of [...held].reverse()) {
    if (chosen.size === jobsMax) break;
    const { limitKey, tenantId } = one.job;
    const left = excess.get(tenantId) ?? 0;
    // A limited one that its limits have not let go takes none.
    const waits = one.phase === "ready" || (one.phase === "early" && limitKey === null);
    if (left === 0 || !waits) continue;
    excess.set(tenantId, left - 1);
    chosen.add(one);
  }
  return chosen;
}
