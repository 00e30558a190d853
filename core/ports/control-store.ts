import type { LimitValues } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { KeyId } from "#core/domain/key-id.ts";
import type { Allowance, ChosenQuotas } from "#core/domain/quotas.ts";

export const SCOPES = ["read", "write", "admin"] as const;
/** None contains another: a key that may write and read has both. */
export type Scope = (typeof SCOPES)[number];

/** Who calls. */
export interface Principal {
  readonly tenantId: TenantId;
  readonly scopes: readonly Scope[];
  readonly quotas: Allowance;
}

export type TenantStatus = "active" | "disabled";

export interface KnownPrincipal extends Principal {
  readonly tenantStatus: TenantStatus;
}

export interface Tenant {
  readonly id: TenantId;
  readonly name: string;
  readonly status: TenantStatus;
  readonly quotas: ChosenQuotas;
  /** Caps of each endpoint that its tasks call; absent: it has none of its own. */
  readonly endpointLimit?: LimitValues;
  /** How much of a share its jobs have beside others'; absent: TENANT_WEIGHT_DEFAULT. */
  readonly weight?: number;
  readonly createdAtMs: number;
}

export interface ApiKey {
  readonly id: KeyId;
  readonly tenantId: TenantId;
  /** In the order of SCOPES, each once. */
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
}

/** An IAM principal that acts for a tenant. */
export interface MappedPrincipal {
  /** As core/services/access/principal-arn.ts writes it. */
  readonly arn: string;
  readonly tenantId: TenantId;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
}

export type CreatedKey =
  | { readonly kind: "created"; readonly key: ApiKey }
  | { readonly kind: "no-such-tenant" }
  /** The tenant has LIVE_KEYS_MAX live keys with these scopes. */
  | { readonly kind: "too-many"; readonly live: readonly ApiKey[] };

export type RevokedKey =
  | { readonly kind: "revoked" | "revoked-before"; readonly key: ApiKey }
  | { readonly kind: "not-found" };

export type Mapped =
  | { readonly kind: "mapped"; readonly principal: MappedPrincipal }
  | { readonly kind: "no-such-tenant" }
  | { readonly kind: "taken"; readonly by: TenantId };

/** What the API asks of each request's caller. */
export interface PrincipalStore {
  /** Resolves the SHA-256 (hex) of an API key; null when there is no such live key. */
  findPrincipalByKeyHash(keyHash: string): Promise<KnownPrincipal | null>;
  /** Resolves the ARN of an IAM principal, written as it was when it was mapped. */
  findPrincipalByArn(arn: string): Promise<KnownPrincipal | null>;
}

/** What those ask who make and send jobs. */
export interface WeightStore {
  /** Of the tenants that have a weight of their own, by id, the first `limit`. */
  listWeights(limit: number): Promise<ReadonlyMap<TenantId, number>>;
}

/** Tenants, their keys and their IAM principals: the control schema. */
export interface ControlStore extends PrincipalStore, WeightStore {
  /** Null when the id is taken, also by the same name. */
  createTenant(id: TenantId, name: string): Promise<Tenant | null>;
  /** By id, those after `after`, at most `limit`. */
  listTenants(after: TenantId | null, limit: number): Promise<Tenant[]>;
  /** Sets what is given; null goes back to the default. Null when there is no such tenant. */
  setQuotas(id: TenantId, quotas: Partial<ChosenQuotas>): Promise<Tenant | null>;
  /** Sets what is given; null takes it away. Null when there is no such tenant. */
  setEndpointLimit(id: TenantId, limit: Partial<LimitValues>): Promise<Tenant | null>;
  /** The same for tenants that have none of their own, number by number. Answers what holds then. */
  setDefaultEndpointLimit(limit: Partial<LimitValues>): Promise<LimitValues>;
  /** Null goes back to the default. Null when there is no such tenant. */
  setWeight(id: TenantId, weight: number | null): Promise<Tenant | null>;
  /** Null when there is no such tenant. */
  setTenantStatus(id: TenantId, status: TenantStatus): Promise<Tenant | null>;

  /** `scopes` are in the order of SCOPES, each once. */
  createKey(keyHash: string, tenantId: TenantId, scopes: readonly Scope[]): Promise<CreatedKey>;
  /** Live ones first, then newest first, at most KEYS_LISTED_MAX. Null when there is no such tenant. */
  listKeys(tenantId: TenantId): Promise<ApiKey[] | null>;
  revokeKey(id: KeyId): Promise<RevokedKey>;

  /** A principal that is mapped to the tenant already gets the new scopes. */
  mapPrincipal(arn: string, tenantId: TenantId, scopes: readonly Scope[]): Promise<Mapped>;
  /** False when it was not mapped. */
  unmapPrincipal(arn: string): Promise<boolean>;
  /** By ARN, those after `after`, at most `limit`. */
  listPrincipals(after: string | null, limit: number): Promise<MappedPrincipal[]>;
}
