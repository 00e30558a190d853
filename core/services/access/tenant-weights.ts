/**
 * The tenants' weights as a worker knows them: those that are set, all at once, read again every TENANT_WEIGHTS_AGAIN_MS beside its work.
 * A tick or a claim never waits for them. While the control database is away the last known hold: a weight is about turns, so an old
 * one does no harm.
 */
import type { TenantId } from "#core/domain/ids.ts";
import { TENANT_WEIGHTS_AGAIN_MS, TENANT_WEIGHTS_MAX } from "#core/domain/limits.ts";
import { TENANT_WEIGHT_DEFAULT, type WeightOf } from "#core/domain/tenant-weight.ts";
import type { WeightStore } from "#core/ports/control-store.ts";

export class TenantWeights {
  readonly #store: WeightStore;
  #known: ReadonlyMap<TenantId, number> = new Map();

  constructor(store: WeightStore) {
    this.#store = store;
  }

  readonly weightOf: WeightOf = (tenantId) => this.#known.get(tenantId) ?? TENANT_WEIGHT_DEFAULT;

  /** Reads them; answers in how many ms to read them again. Throws StoreUnavailable, with what was known unchanged. */
  async readOnce(): Promise<number> {
    this.#known = await this.#store.listWeights(TENANT_WEIGHTS_MAX);
    return TENANT_WEIGHTS_AGAIN_MS;
  }
}
