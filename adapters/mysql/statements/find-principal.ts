import { bytes } from "../literals.ts";

/**
 * Whose an API key is.
 *
 * Index: primary key of api_keys. Locks: none. Isolation: READ COMMITTED. Result: (tenant_id, scopes) of a live key, or none.
 */
export function findPrincipalSql(keyHash: Uint8Array): string {
  return `SELECT tenant_id, scopes FROM api_keys WHERE key_hash = ${bytes(keyHash)} AND revoked_at IS NULL`;
}
