import { bytes, text } from "../literals.ts";
import { ENDPOINT_DEFAULTS } from "./default-limits.ts";
import { QUOTA_COLUMNS } from "./tenants.ts";

const ENDPOINT_LIMIT =
  "COALESCE(endpoint_concurrency, default_limits.concurrency), COALESCE(endpoint_per_second, default_limits.per_second)";
const COLUMNS = `tenants.id, scopes, tenants.status, ${ENDPOINT_LIMIT}, weight, ${QUOTA_COLUMNS}`;
const DEFAULTS = `LEFT JOIN default_limits ON ${ENDPOINT_DEFAULTS}`;

/**
 * Whose an API key is.
 *
 * Index: primary keys of api_keys, tenants and default_limits. Locks: none. Isolation: READ COMMITTED. Result: (tenant id, scopes,
 * status of the tenant, caps of its endpoints, own or by default, its weight, its quotas) of a live key, or none.
 */
export function findPrincipalByKeySql(keyHash: Uint8Array): string {
  return `SELECT ${COLUMNS} FROM api_keys STRAIGHT_JOIN tenants ON tenants.id = api_keys.tenant_id ${DEFAULTS} WHERE key_hash = ${bytes(keyHash)} AND revoked_at IS NULL`;
}

/**
 * For whom an IAM principal acts.
 *
 * Index: primary keys of principals, tenants and default_limits. Locks: none. Isolation: READ COMMITTED. Result: as above, or none.
 */
export function findPrincipalByArnSql(arn: string): string {
  return `SELECT ${COLUMNS} FROM principals STRAIGHT_JOIN tenants ON tenants.id = principals.tenant_id ${DEFAULTS} WHERE arn = ${text(arn)}`;
}
