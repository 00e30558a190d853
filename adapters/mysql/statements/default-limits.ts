/** Caps of calls for tenants that have none of their own: those of each endpoint. */
import type { LimitValues } from "#core/domain/call-limit.ts";
import { integer, orNull, real, text } from "../literals.ts";

export const ENDPOINT_DEFAULTS = `default_limits.scope = ${text("endpoint")}`;

/**
 * Sets what is given of them, at least one.
 *
 * Index: primary key. Locks: the row. Isolation: READ COMMITTED. Result: not used.
 */
export function putDefaultLimitSql(limit: Partial<LimitValues>): string {
  const values = Object.entries({
    concurrency: limit.concurrency === undefined ? undefined : orNull(integer)(limit.concurrency),
    per_second: limit.perSecond === undefined ? undefined : orNull(real)(limit.perSecond),
  }).filter(([, value]) => value !== undefined);
  const columns = ["scope", ...values.map(([column]) => column)];
  const row = [text("endpoint"), ...values.map(([, value]) => value)];
  const changes = [
    "scope = 'endpoint'",
    ...values.map(([column, value]) => `${column} = ${value}`),
  ];
  return `INSERT INTO default_limits (${columns.join(", ")}) VALUES (${row.join(", ")}) ON DUPLICATE KEY UPDATE ${changes.join(", ")}`;
}

/**
 * Those that are set.
 *
 * Index: primary key. Locks: none. Isolation: READ COMMITTED. Result: (concurrency, calls a second), or none.
 */
export function selectDefaultLimitSql(): string {
  return `SELECT concurrency, per_second FROM default_limits WHERE ${ENDPOINT_DEFAULTS}`;
}
