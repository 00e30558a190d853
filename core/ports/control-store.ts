import type { TenantId } from "#core/domain/ids.ts";

export type Scope = "read" | "write" | "admin";

export interface Principal {
  readonly tenantId: TenantId;
  readonly scopes: readonly Scope[];
}

/** Tenants and their keys: the control schema. */
export interface ControlStore {
  /** Resolves the SHA-256 (hex) of an API key; null when there is no such live key. */
  findPrincipalByKeyHash(keyHash: string): Promise<Principal | null>;
}
