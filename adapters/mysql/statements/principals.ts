import type { TenantId } from "#core/domain/ids.ts";
import type { Scope } from "#core/ports/control-store.ts";
import { integer, json, text } from "../literals.ts";

const COLUMNS = "arn, tenant_id, scopes, created_at";

/**
 * Maps a principal to a tenant; of one that is mapped to it already, replaces the scopes. One that is mapped to another
 * tenant stays as it is, which the reader of the row sees.
 *
 * Index: primary key. Locks: the row. Isolation: READ COMMITTED. Result: 1 or 2 when something changed.
 */
export function upsertPrincipalSql(
  arn: string,
  tenantId: TenantId,
  scopes: readonly Scope[],
): string {
  return `INSERT INTO principals (${COLUMNS}) VALUES (${text(arn)}, ${text(tenantId)}, ${json(scopes)}, UTC_TIMESTAMP(3)) AS made ON DUPLICATE KEY UPDATE principals.scopes = IF(principals.tenant_id = made.tenant_id, made.scopes, principals.scopes)`;
}

/**
 * One mapped principal.
 *
 * Index: primary key. Locks: none. Isolation: READ COMMITTED. Result: (arn, tenant_id, scopes, created_at), or none.
 */
export function selectPrincipalSql(arn: string): string {
  return `SELECT ${COLUMNS} FROM principals WHERE arn = ${text(arn)}`;
}

/**
 * Mapped principals by ARN, after `after`.
 *
 * Index: a range of the primary key, in its order. Locks: none. Isolation: READ COMMITTED. Result: as above, at most `limit`.
 */
export function listPrincipalsSql(after: string | null, limit: number): string {
  return `SELECT ${COLUMNS} FROM principals WHERE arn > ${text(after ?? "")} ORDER BY arn LIMIT ${integer(limit)}`;
}

/**
 * Unmaps a principal.
 *
 * Index: primary key. Locks: the row. Isolation: READ COMMITTED. Result: 1, or 0 when it is not mapped.
 */
export function deletePrincipalSql(arn: string): string {
  return `DELETE FROM principals WHERE arn = ${text(arn)}`;
}
