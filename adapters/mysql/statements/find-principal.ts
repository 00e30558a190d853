import { bytes, text } from "../literals.ts";
import { QUOTA_COLUMNS, SETTING_COLUMNS } from "./tenants.ts";

const COLUMNS = `tenants.id, scopes, tenants.status, ${SETTING_COLUMNS}, ${QUOTA_COLUMNS}`;

/**
 * Whose an API key is.
 *
 * Index: primary keys of api_keys and tenants. Locks: none. Isolation: READ COMMITTED. Result: (tenant id, scopes, status of the
 * tenant, caps of its endpoints, its weight, its quotas) of a live key, or none.
 */
export function findPrincipalByKeySql(keyHash: Uint8Array): string {
  return `SELECT ${COLUMNS} FROM api_keys STRAIGHT_JOIN tenants ON tenants.id = api_keys.tenant_id WHERE key_hash = ${bytes(keyHash)} AND revoked_at IS NULL`;
}

/**
 * For whom an IAM principal acts.
 *
 * Index: primary keys of principals and tenants. Locks: none. Isolation: READ COMMITTED. Result: as above, or none.
 */
export function findPrincipalByArnSql(arn: string): string {
  return `SELECT ${COLUMNS} FROM principals STRAIGHT_JOIN tenants ON tenants.id = principals.tenant_id WHERE arn = ${text(arn)}`;
}
