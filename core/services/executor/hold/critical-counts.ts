/**
 * How many critical jobs an executor has in its hands, by tenant. What is kept for critical jobs (memory, and tasks that it makes
 * itself) is kept for all tenants: one that has more than its quota is counted for its quota, so that the others find room.
 */
import type { TenantId } from "#core/domain/ids.ts";
import { criticalQuota, type WeightOf } from "#core/domain/tenant-weight.ts";
import { TenantCounts } from "./tenant-counts.ts";

export class CriticalCounts {
  readonly #weightOf: WeightOf;
  readonly #tenants = new TenantCounts();
  #total = 0;

  constructor(weightOf: WeightOf) {
    this.#weightOf = weightOf;
  }

  get total(): number {
    return this.#total;
  }

  add(tenantId: TenantId): void {
    this.#total++;
    this.#tenants.add(tenantId);
  }

  remove(tenantId: TenantId): void {
    this.#total--;
    this.#tenants.remove(tenantId);
  }

  /** Of `kept` places, those that no tenant takes within its quota, one in `oneIn`. */
  free(kept: number, oneIn?: number): number {
    let taken = 0;
    for (const [tenantId, count] of this.#tenants.entries())
      taken += Math.min(count, criticalQuota(kept, this.#weightOf(tenantId), oneIn));
    return Math.max(0, kept - taken);
  }

  /** Of `kept` places, those that a tenant may still take within its quota. */
  left(kept: number, tenantId: TenantId): number {
    return Math.max(0, criticalQuota(kept, this.#weightOf(tenantId)) - this.#tenants.of(tenantId));
  }
}
