/** How often a tenant has had tasks called as a test lately. */
import type { TenantId } from "#core/domain/ids.ts";
import { json, text } from "../literals.ts";

/**
 * Tests of one tenant are made one after the other, under this lock.
 *
 * Index: primary key. Locks: the tenant's row (X), made when it is not there. Isolation: READ COMMITTED. Result: not used.
 */
export function lockTestCallsSql(tenantId: TenantId): string {
  return `INSERT INTO test_calls (tenant_id, recent) VALUES (${text(tenantId)}, JSON_ARRAY()) ON DUPLICATE KEY UPDATE tenant_id = tenant_id`;
}

/**
 * Index: primary key. Locks: none (held already). Isolation: READ COMMITTED. Result: one row: the instants, epoch ms, oldest first, and the
 * database's now.
 */
export function selectTestCallsSql(tenantId: TenantId): string {
  return `SELECT recent, UTC_TIMESTAMP(3) FROM test_calls FORCE INDEX (PRIMARY) WHERE tenant_id = ${text(tenantId)}`;
}

/** Index: primary key. Locks: the tenant's row (X), held already. Isolation: READ COMMITTED. Result: 1. */
export function noteTestCallsSql(tenantId: TenantId, recent: readonly number[]): string {
  return `UPDATE test_calls FORCE INDEX (PRIMARY) SET recent = ${json(recent)} WHERE tenant_id = ${text(tenantId)}`;
}
