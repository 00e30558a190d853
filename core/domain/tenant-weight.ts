/** How much of a share a tenant has beside others, as the operator sets it: 1 where nobody has set anything. */
import type { TenantId } from "./ids.ts";
import { CRITICAL_QUOTA_ONE_IN, TENANT_WEIGHT_MAX, TENANT_WEIGHT_ONE_IN_MAX } from "./limits.ts";

export const TENANT_WEIGHT_DEFAULT = 1;
export const TENANT_WEIGHT_MIN = 1 / TENANT_WEIGHT_ONE_IN_MAX;

/** The weight of a tenant, as far as this process knows. */
export type WeightOf = (tenantId: TenantId) => number;

export const ALL_ALIKE: WeightOf = () => TENANT_WEIGHT_DEFAULT;

export function isTenantWeight(weight: number): boolean {
  return weight >= TENANT_WEIGHT_MIN && weight <= TENANT_WEIGHT_MAX;
}

/**
 * How many of `total` that are kept for critical jobs one tenant's may have: one in `oneIn`, times its weight. At least one, and
 * where there are several never all of them.
 */
export function criticalQuota(
  total: number,
  weight: number,
  oneIn: number = CRITICAL_QUOTA_ONE_IN,
): number {
  const most = Math.max(1, total - 1);
  return Math.min(most, Math.max(1, Math.round((total * weight) / oneIn)));
}
