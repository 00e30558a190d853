/** Tenants, their keys and their IAM principals in memory. */
import { assert } from "#core/domain/assert.ts";
import { isSet, type LimitValues, orDefault } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { KeyId } from "#core/domain/key-id.ts";
import { keyIdOfHash } from "#core/domain/key-id.ts";
import { KEYS_LISTED_MAX, LIVE_KEYS_MAX } from "#core/domain/limits.ts";
import type { ChosenQuotas } from "#core/domain/quotas.ts";
import { effectiveQuotas } from "#core/domain/quotas.ts";
import type { Clock } from "#core/ports/clock.ts";
import type {
  ApiKey,
  ControlStore,
  CreatedKey,
  KnownPrincipal,
  Mapped,
  MappedPrincipal,
  RevokedKey,
  Scope,
  Tenant,
  TenantStatus,
} from "#core/ports/control-store.ts";

const NOTHING_CHOSEN: ChosenQuotas = {
  tasksMax: null,
  bodyBytesMax: null,
  minIntervalSeconds: null,
};

export class MemoryControlStore implements ControlStore {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #tenants = new Map<TenantId, Tenant>();
  /** By the hash, in the order in which they were made. */
  readonly #keys = new Map<string, ApiKey>();
  readonly #principals = new Map<string, MappedPrincipal>();
  #defaultEndpointLimit: LimitValues = { concurrency: null, perSecond: null };

  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock;
  }

  /** A hand for tests: a live key of a tenant, both made unless they are there. */
  addKey(keyHash: string, tenantId: TenantId, scopes: readonly Scope[]): void {
    if (!this.#tenants.has(tenantId)) this.#makeTenant(tenantId, tenantId);
    if (!this.#keys.has(keyHash)) this.#makeKey(keyHash, tenantId, scopes);
  }

  async findPrincipalByKeyHash(keyHash: string): Promise<KnownPrincipal | null> {
    const key = this.#keys.get(keyHash);
    return key === undefined || key.revokedAtMs !== null ? null : this.#known(key);
  }

  async findPrincipalByArn(arn: string): Promise<KnownPrincipal | null> {
    const mapped = this.#principals.get(arn);
    return mapped === undefined ? null : this.#known(mapped);
  }

  async createTenant(id: TenantId, name: string): Promise<Tenant | null> {
    return this.#tenants.has(id) ? null : this.#makeTenant(id, name);
  }

  async listTenants(after: TenantId | null, limit: number): Promise<Tenant[]> {
    return sorted(this.#tenants, after).slice(0, limit);
  }

  async setQuotas(id: TenantId, quotas: Partial<ChosenQuotas>): Promise<Tenant | null> {
    const chosen = Object.entries(quotas).filter(([, value]) => value !== undefined);
    return this.#change(id, (tenant) => ({
      ...tenant,
      quotas: { ...tenant.quotas, ...Object.fromEntries(chosen) },
    }));
  }

  async setEndpointLimit(id: TenantId, limit: Partial<LimitValues>): Promise<Tenant | null> {
    return this.#change(id, ({ endpointLimit, ...tenant }) => {
      const { concurrency = null, perSecond = null } = { ...endpointLimit, ...limit };
      return concurrency === null && perSecond === null
        ? tenant
        : { ...tenant, endpointLimit: { concurrency, perSecond } };
    });
  }

  async setDefaultEndpointLimit(limit: Partial<LimitValues>): Promise<LimitValues> {
    this.#defaultEndpointLimit = { ...this.#defaultEndpointLimit, ...limit };
    return this.#defaultEndpointLimit;
  }

  async setWeight(id: TenantId, weight: number | null): Promise<Tenant | null> {
    return this.#change(id, ({ weight: _, ...tenant }) =>
      weight === null ? tenant : { ...tenant, weight },
    );
  }

  async listWeights(limit: number): Promise<ReadonlyMap<TenantId, number>> {
    const weights = sorted(this.#tenants, null).flatMap(({ id, weight }) =>
      weight === undefined ? [] : [[id, weight] as const],
    );
    return new Map(weights.slice(0, limit));
  }

  async setTenantStatus(id: TenantId, status: TenantStatus): Promise<Tenant | null> {
    return this.#change(id, (tenant) => ({ ...tenant, status }));
  }

  async createKey(
    keyHash: string,
    tenantId: TenantId,
    scopes: readonly Scope[],
  ): Promise<CreatedKey> {
    if (!this.#tenants.has(tenantId)) return { kind: "no-such-tenant" };
    const live = this.#keysOf(tenantId).filter(
      (key) => key.revokedAtMs === null && key.scopes.join() === scopes.join(),
    );
    if (live.length >= LIVE_KEYS_MAX) return { kind: "too-many", live };
    return { kind: "created", key: this.#makeKey(keyHash, tenantId, scopes) };
  }

  async listKeys(tenantId: TenantId): Promise<ApiKey[] | null> {
    if (!this.#tenants.has(tenantId)) return null;
    const keys = this.#keysOf(tenantId);
    const live = keys.filter((key) => key.revokedAtMs === null);
    const revoked = keys.filter((key) => key.revokedAtMs !== null);
    return [...live, ...revoked].slice(0, KEYS_LISTED_MAX);
  }

  async revokeKey(id: KeyId): Promise<RevokedKey> {
    for (const [hash, key] of this.#keys) {
      if (key.id !== id) continue;
      if (key.revokedAtMs !== null) return { kind: "revoked-before", key };
      const revoked = { ...key, revokedAtMs: this.#clock.nowMs() };
      this.#keys.set(hash, revoked);
      return { kind: "revoked", key: revoked };
    }
    return { kind: "not-found" };
  }

  async mapPrincipal(arn: string, tenantId: TenantId, scopes: readonly Scope[]): Promise<Mapped> {
    if (!this.#tenants.has(tenantId)) return { kind: "no-such-tenant" };
    const before = this.#principals.get(arn);
    if (before !== undefined && before.tenantId !== tenantId) {
      return { kind: "taken", by: before.tenantId };
    }
    const createdAtMs = before?.createdAtMs ?? this.#clock.nowMs();
    const principal = { arn, tenantId, scopes, createdAtMs };
    this.#principals.set(arn, principal);
    return { kind: "mapped", principal };
  }

  async unmapPrincipal(arn: string): Promise<boolean> {
    return this.#principals.delete(arn);
  }

  async listPrincipals(after: string | null, limit: number): Promise<MappedPrincipal[]> {
    return sorted(this.#principals, after).slice(0, limit);
  }

  #makeTenant(id: TenantId, name: string): Tenant {
    const createdAtMs = this.#clock.nowMs();
    const tenant = { id, name, status: "active", quotas: NOTHING_CHOSEN, createdAtMs } as const;
    this.#tenants.set(id, tenant);
    return tenant;
  }

  #makeKey(keyHash: string, tenantId: TenantId, scopes: readonly Scope[]): ApiKey {
    const createdAtMs = this.#clock.nowMs();
    const key = { id: keyIdOfHash(keyHash), tenantId, scopes, createdAtMs, revokedAtMs: null };
    this.#keys.set(keyHash, key);
    return key;
  }

  #known({ tenantId, scopes }: ApiKey | MappedPrincipal): KnownPrincipal {
    const tenant = this.#tenants.get(tenantId);
    assert(tenant !== undefined, "whoever acts for a tenant was given one");
    const endpointLimit = orDefault(tenant.endpointLimit, this.#defaultEndpointLimit);
    return {
      tenantId,
      scopes,
      tenantStatus: tenant.status,
      quotas: {
        ...effectiveQuotas(tenant.quotas),
        ...(isSet(endpointLimit) && { endpointLimit }),
        ...(tenant.weight !== undefined && { weight: tenant.weight }),
      },
    };
  }

  #change(id: TenantId, change: (tenant: Tenant) => Tenant): Tenant | null {
    const tenant = this.#tenants.get(id);
    if (tenant === undefined) return null;
    const changed = change(tenant);
    this.#tenants.set(id, changed);
    return changed;
  }

  /** Newest first. */
  #keysOf(tenantId: TenantId): ApiKey[] {
    return [...this.#keys.values()].filter((key) => key.tenantId === tenantId).reverse();
  }
}

/** By key as bytes, as the database sorts, those after `after`. */
function sorted<K extends string, V>(all: ReadonlyMap<K, V>, after: K | null): V[] {
  return [...all]
    .filter(([key]) => after === null || key > after)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, value]) => value);
}
