import type { TenantId } from "#core/domain/ids.ts";
import { text } from "../literals.ts";

/**
 * Data keys, signing secrets and a tenant's last tasks are added under this lock, one after the other. Not the lock of its API keys:
 * that is its row in control.
 *
 * Index: primary key. Locks: the tenant's row (X), made when it is not there. Isolation: READ COMMITTED. Result: not used.
 */
export function lockTenantSql(tenantId: TenantId): string {
  return `INSERT INTO tenant_locks (tenant_id) VALUES (${text(tenantId)}) ON DUPLICATE KEY UPDATE tenant_id = tenant_id`;
}
