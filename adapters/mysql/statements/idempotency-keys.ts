/** What is remembered of requests that carried an Idempotency-Key. */
import { integer, text } from "../literals.ts";

/** Names a row: its primary key. */
export interface StoredKey {
  readonly part: number;
  readonly tenantId: string;
  readonly route: string;
  readonly key: string;
}

/**
 * Answers that are kept no longer.
 *
 * Index: expires, forwards. Locks: none. Isolation: READ COMMITTED. Result: primary keys.
 */
export function listExpiredKeysSql(limit: number): string {
  return `SELECT part, tenant_id, route, \`key\` FROM idempotency_keys FORCE INDEX (expires) WHERE expires_at <= UTC_TIMESTAMP(3) ORDER BY expires_at LIMIT ${integer(limit)}`;
}

/**
 * Removes them, unless they are in use again: by key and in key order, as requests lock them.
 *
 * Index: primary key, a range per row. Locks: the rows (X). Isolation: READ COMMITTED. Result: how many.
 */
export function deleteExpiredKeysSql(keys: readonly StoredKey[]): string {
  const rows = keys.map(
    ({ part, tenantId, route, key }) =>
      `(${integer(part)},${text(tenantId)},${text(route)},${text(key)})`,
  );
  return `DELETE k FROM idempotency_keys AS k FORCE INDEX (PRIMARY) WHERE (k.part, k.tenant_id, k.route, k.\`key\`) IN (${rows.join(",")}) AND k.expires_at <= UTC_TIMESTAMP(3)`;
}
