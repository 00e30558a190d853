/**
 * How many critical jobs an executor has in its hands, by tenant. What is kept for critical jobs (memory, and tasks that it makes
 * itself) is kept for all tenants: one that has more than its quota is counted for its quota, so that the others find room.
 */
import { assert } from "#core/domain/assert.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { criticalQuota, type WeightOf } from "#core/domain/tenant-weight.ts";

export class CriticalCounts {
  readonly #weightOf: WeightOf;
  readonly #tenants = new Map<TenantId, number>();
  #total = 0;

  constructor(weightOf: WeightOf) {
    this.#weightOf = weightOf;
  }

  get total(): number {
    return this.#total;
  }

  add(tenantId: TenantId): void {
    this.#total++;
    this.#tenants.set(tenantId, this.#of(tenantId) + 1);
  }

  remove(tenantId: TenantId): void {
    const count = this.#of(tenantId);
    assert(count > 0, "what leaves was counted");
    this.#total--;
    if (count > 1) this.#tenants.set(tenantId, count - 1);
    else this.#tenants.delete(tenantId);
  }

  /** Of `kept` places, those that no tenant takes within its quota, one in `oneIn`. */
  free(kept: number, oneIn?: number): number {
    let taken = 0;
    for (const [tenantId, count] of this.#tenants)
      taken += Math.min(count, criticalQuota(kept, this.#weightOf(tenantId), oneIn));
    return Math.max(0, kept - taken);
  }

  /** Of `kept` places, those that a tenant may still take within its quota. */
  left(kept: number, tenantId: TenantId): number {
    return Math.max(0, criticalQuota(kept, this.#weightOf(tenantId)) - this.#of(tenantId));
  }

  #of(tenantId: TenantId): number {
    return this.#tenants.get(tenantId) ?? 0;
  }
}
