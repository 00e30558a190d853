import type { TenantId } from "#core/domain/ids.ts";
import type { KeyId } from "#core/domain/key-id.ts";
import { hashPrefixOf } from "#core/domain/key-id.ts";
import type { Scope } from "#core/ports/control-store.ts";
import { bytes, integer, json, text } from "../literals.ts";

const COLUMNS = "key_hash, tenant_id, scopes, created_at, revoked_at";

/**
 * Adds a live key.
 *
 * Index: primary key. Locks: the new row; the tenant's row is locked before. Isolation: READ COMMITTED. Result: 1.
 */
export function insertKeySql(
  keyHash: Uint8Array,
  tenantId: TenantId,
  scopes: readonly Scope[],
): string {
  return `INSERT INTO api_keys (key_hash, tenant_id, scopes, created_at) VALUES (${bytes(keyHash)}, ${text(tenantId)}, ${json(scopes)}, UTC_TIMESTAMP(3))`;
}

/**
 * A tenant's live keys with exactly these scopes.
 *
 * Index: by_tenant. Locks: none; the tenant's row is locked before. Isolation: READ COMMITTED. Result: (key_hash, tenant_id,
 * scopes, created_at, revoked_at), newest first.
 */
export function listLiveKeysSql(tenantId: TenantId, scopes: readonly Scope[]): string {
  return `SELECT ${COLUMNS} FROM api_keys WHERE tenant_id = ${text(tenantId)} AND scopes = CAST(${json(scopes)} AS JSON) AND revoked_at IS NULL ORDER BY created_at DESC, key_hash`;
}

/**
 * A tenant's keys.
 *
 * Index: by_tenant, sorted after: a tenant has few. Locks: none. Isolation: READ COMMITTED. Result: as above, live ones first,
 * then newest first, at most `limit`.
 */
export function listKeysSql(tenantId: TenantId, limit: number): string {
  return `SELECT ${COLUMNS} FROM api_keys WHERE tenant_id = ${text(tenantId)} ORDER BY revoked_at IS NOT NULL, created_at DESC, key_hash LIMIT ${integer(limit)}`;
}

/** The keys whose id this is: one range of the primary key. */
function hasId(id: KeyId): string {
  const prefix = hashPrefixOf(id);
  return `key_hash BETWEEN x'${prefix.padEnd(64, "0")}' AND x'${prefix.padEnd(64, "f")}'`;
}

/**
 * The key with this id.
 *
 * Index: a range of the primary key. Locks: none. Isolation: READ COMMITTED. Result: as above, or none.
 */
export function selectKeySql(id: KeyId): string {
  return `SELECT ${COLUMNS} FROM api_keys WHERE ${hasId(id)} LIMIT 2`;
}

/**
 * Revokes the key with this id.
 *
 * Index: a range of the primary key. Locks: the row. Isolation: READ COMMITTED. Result: 1, or 0 when there is none or it is
 * revoked already.
 */
export function revokeKeySql(id: KeyId): string {
  return `UPDATE api_keys SET revoked_at = UTC_TIMESTAMP(3) WHERE ${hasId(id)} AND revoked_at IS NULL`;
}
