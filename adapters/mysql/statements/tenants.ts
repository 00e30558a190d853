import type { LimitValues } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { ChosenQuotas, Quotas } from "#core/domain/quotas.ts";
import type { TenantStatus } from "#core/ports/control-store.ts";
import { integer, orNull, real, text } from "../literals.ts";

const QUOTA_COLUMN: { readonly [Name in keyof Quotas]: string } = {
  tasksMax: "tasks_max",
  bodyBytesMax: "body_bytes_max",
  minIntervalSeconds: "min_interval_seconds",
};
export const QUOTA_COLUMNS = Object.values(QUOTA_COLUMN).join(", ");
const COLUMNS = `id, name, created_at, status, endpoint_concurrency, endpoint_per_second, weight, ${QUOTA_COLUMNS}`;

/**
 * Adds an active tenant with the default quotas.
 *
 * Index: primary key. Locks: the new row, or the one that has the id. Isolation: READ COMMITTED. Result: 1, or 0 when the id is
 * taken.
 */
export function insertTenantSql(id: TenantId, name: string): string {
  return `INSERT INTO tenants (id, name, created_at) VALUES (${text(id)}, ${text(name)}, UTC_TIMESTAMP(3)) ON DUPLICATE KEY UPDATE id = tenants.id`;
}

/**
 * One tenant.
 *
 * Index: primary key. Locks: with "update", the row: keys of a tenant are made one after the other. Isolation: READ COMMITTED.
 * Result: (id, name, created_at, status, caps of endpoints, weight, quotas), or none.
 */
export function selectTenantSql(id: TenantId, lock: "none" | "update" = "none"): string {
  return `SELECT ${COLUMNS} FROM tenants WHERE id = ${text(id)}${lock === "update" ? " FOR UPDATE" : ""}`;
}

/**
 * Tenants by id, after `after`.
 *
 * Index: a range of the primary key, in its order. Locks: none. Isolation: READ COMMITTED. Result: as above, at most `limit`.
 */
export function listTenantsSql(after: TenantId | null, limit: number): string {
  return `SELECT ${COLUMNS} FROM tenants WHERE id > ${text(after ?? "")} ORDER BY id LIMIT ${integer(limit)}`;
}

/**
 * Sets the quotas that are given.
 *
 * Index: primary key. Locks: the row. Isolation: READ COMMITTED. Result: 1, or 0 when there is no such tenant or it is so already.
 */
export function updateQuotasSql(id: TenantId, quotas: Partial<ChosenQuotas>): string {
  const changes = Object.entries(QUOTA_COLUMN).flatMap(([name, column]) => {
    const value = quotas[name as keyof Quotas];
    if (value === undefined) return [];
    return [`${column} = ${orNull(integer)(value)}`];
  });
  return `UPDATE tenants SET ${["id = id", ...changes].join(", ")} WHERE id = ${text(id)}`;
}

/**
 * Sets what is given of the caps of each of a tenant's endpoints.
 *
 * Index: primary key. Locks: the row. Isolation: READ COMMITTED. Result: 1, or 0 when there is no such tenant or it is so already.
 */
export function updateEndpointLimitSql(id: TenantId, limit: Partial<LimitValues>): string {
  const { concurrency, perSecond } = limit;
  const changes = [
    ...(concurrency === undefined
      ? []
      : [`endpoint_concurrency = ${orNull(integer)(concurrency)}`]),
    ...(perSecond === undefined ? [] : [`endpoint_per_second = ${orNull(real)(perSecond)}`]),
  ];
  return `UPDATE tenants SET ${["id = id", ...changes].join(", ")} WHERE id = ${text(id)}`;
}

/**
 * Sets how much of a share a tenant has.
 *
 * Index: primary key. Locks: the row. Isolation: READ COMMITTED. Result: 1, or 0 when there is no such tenant or it is so already.
 */
export function updateWeightSql(id: TenantId, weight: number | null): string {
  return `UPDATE tenants SET weight = ${orNull(real)(weight)} WHERE id = ${text(id)}`;
}

/**
 * Tenants that have a weight of their own.
 *
 * Index: weighted, a range without those that have none, which are nearly all. Locks: none. Isolation: READ COMMITTED.
 * Result: (id, weight) by id, at most `limit`.
 */
export function listWeightsSql(limit: number): string {
  return `SELECT id, weight FROM tenants FORCE INDEX (weighted) WHERE weight IS NOT NULL ORDER BY id LIMIT ${integer(limit)}`;
}

/**
 * Lets a tenant call, or not.
 *
 * Index: primary key. Locks: the row. Isolation: READ COMMITTED. Result: 1, or 0 when there is no such tenant or it is so already.
 */
export function updateTenantStatusSql(id: TenantId, status: TenantStatus): string {
  return `UPDATE tenants SET status = ${text(status)} WHERE id = ${text(id)}`;
}
