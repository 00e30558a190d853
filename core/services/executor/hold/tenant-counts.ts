/** How many of something each tenant has. */
import { assert } from "#core/domain/assert.ts";
import type { TenantId } from "#core/domain/ids.ts";

export class TenantCounts {
  readonly #counts = new Map<TenantId, number>();

  add(tenantId: TenantId): void {
    this.#counts.set(tenantId, this.of(tenantId) + 1);
  }

  remove(tenantId: TenantId): void {
    const count = this.of(tenantId);
    assert(count > 0, "what leaves was counted");
    if (count > 1) this.#counts.set(tenantId, count - 1);
    else this.#counts.delete(tenantId);
  }

  of(tenantId: TenantId): number {
    return this.#counts.get(tenantId) ?? 0;
  }

  /** Of the tenants that have any. */
  entries(): Iterable<readonly [TenantId, number]> {
    return this.#counts;
  }
}
