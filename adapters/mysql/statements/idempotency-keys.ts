/** What is remembered of requests that carried an Idempotency-Key. */
import { partitionOfTenant, type TenantId } from "#core/domain/ids.ts";
import type { Idempotency } from "#core/ports/idempotency.ts";
import { bytes, integer, interval, text } from "../literals.ts";

type Key = Pick<Idempotency<never>, "route" | "key">;

function isKey(tenantId: TenantId, { route, key }: Key): string {
  return `part = ${integer(partitionOfTenant(tenantId))} AND tenant_id = ${text(tenantId)} AND route = ${text(route)} AND \`key\` = ${text(key)}`;
}

/**
 * Takes a key, also one whose answer has expired. The assignments run from left to right: `expires_at` comes last.
 *
 * Index: primary key.
 * Locks: the row (X), new or not: whoever comes second waits for the first one's COMMIT.
 * Isolation: READ COMMITTED.
 * Result: 0 when the key is known and its answer still kept, else 1 or 2.
 */
export function reserveKeySql(
  tenantId: TenantId,
  { route, key, bodyHash, expiresInMs }: Omit<Idempotency<never>, "answerOf">,
): string {
  const hash = bytes(Buffer.from(bodyHash, "hex"));
  const expiresAt = `UTC_TIMESTAMP(3) + ${interval(expiresInMs)}`;
  const free = "expires_at <= UTC_TIMESTAMP(3)";
  return `INSERT INTO idempotency_keys (part, tenant_id, route, \`key\`, body_hash, answer, expires_at) VALUES (${integer(partitionOfTenant(tenantId))}, ${text(tenantId)}, ${text(route)}, ${text(key)}, ${hash}, NULL, ${expiresAt}) ON DUPLICATE KEY UPDATE body_hash = IF(${free}, ${hash}, body_hash), answer = IF(${free}, NULL, answer), expires_at = IF(${free}, ${expiresAt}, expires_at)`;
}

/** Index: primary key. Locks: none; the transaction holds the row. Isolation: READ COMMITTED. Result: (body_hash, answer). */
export function selectKeySql(tenantId: TenantId, key: Key): string {
  return `SELECT body_hash, answer FROM idempotency_keys WHERE ${isKey(tenantId, key)}`;
}

/** As selectKeySql, of a key that is kept still. Index: primary key. Locks: none. Isolation: READ COMMITTED. Result: (body_hash, answer). */
export function findAnswerSql(tenantId: TenantId, key: Key): string {
  return `${selectKeySql(tenantId, key)} AND expires_at > UTC_TIMESTAMP(3)`;
}

/** The last write of the transaction. Index: primary key. Locks: the row, held already (X). Isolation: READ COMMITTED. Result: 1. */
export function keepAnswerSql(tenantId: TenantId, key: Key, answer: string): string {
  return `UPDATE idempotency_keys SET answer = ${text(answer)} WHERE ${isKey(tenantId, key)}`;
}

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
 * Removes them, unless they are in use again: by key and in key order, as requests lock them. An IN of so many keys of one tenant would
 * be too large for the optimiser, and the table walked instead.
 *
 * Index: primary key, a look per row. Locks: the rows (X). Isolation: READ COMMITTED. Result: how many.
 */
export function deleteExpiredKeysSql(keys: readonly StoredKey[]): string {
  const rows = keys
    .toSorted((a, b) => a.part - b.part || (keyOf(a) < keyOf(b) ? -1 : 1))
    .map(
      ({ part, tenantId, route, key }) =>
        `ROW(${integer(part)},${text(tenantId)},${text(route)},${text(key)})`,
    );
  const ascii = (column: string) => `CONVERT(r.${column} USING ascii) COLLATE ascii_bin`;
  return `DELETE k FROM (VALUES ${rows.join(",")}) AS r (part, tenant_id, route, \`key\`) STRAIGHT_JOIN idempotency_keys AS k FORCE INDEX (PRIMARY) ON k.part = r.part AND k.tenant_id = ${ascii("tenant_id")} AND k.route = ${ascii("route")} AND k.\`key\` = r.\`key\` COLLATE utf8mb4_0900_bin WHERE k.expires_at <= UTC_TIMESTAMP(3)`;
}

function keyOf({ tenantId, route, key }: StoredKey): string {
  return `${tenantId}\0${route}\0${key}`;
}
