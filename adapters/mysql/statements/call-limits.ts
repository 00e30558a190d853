/**
 * Limits of calls. Who takes slots or jobs of a key holds its row here, and passes over a row that another holds: two takers of one key
 * never meet. Isolation of all: READ COMMITTED.
 */
import type { LimitKey, LimitValues } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { LimitChanges } from "#core/ports/limit-store.ts";
import { integer, micros, orNull, real, text } from "../literals.ts";

const COLUMNS = "limit_key, concurrency, per_second, concurrency_max, per_second_max, updated_at";

const keysOf = (keys: readonly LimitKey[]) => [...keys].sort().map(text).join(",");

/** Index: primary key. Locks: none. Result: one row or none. */
export function selectLimitSql(key: LimitKey): string {
  return `SELECT ${COLUMNS} FROM call_limits WHERE limit_key = ${text(key)}`;
}

/**
 * A tenant's limits by key: its own, then those of its endpoints, whose keys begin with its id and `|`.
 *
 * Index: ranges of the primary key, in its order. Locks: none. Result: at most `max`.
 */
export function listLimitsSql(tenantId: TenantId, after: LimitKey | null, max: number): string {
  return `SELECT ${COLUMNS} FROM call_limits FORCE INDEX (PRIMARY) WHERE ${ofTenant(tenantId)} AND limit_key > ${text(after ?? "")} ORDER BY limit_key LIMIT ${integer(max)}`;
}

/** Those that the tenant has set something of, counted up to `max`. Index: as listLimitsSql. Locks: none. Result: one row. */
export function countSetLimitsSql(tenantId: TenantId, max: number): string {
  return `SELECT COUNT(*) FROM (SELECT 1 FROM call_limits FORCE INDEX (PRIMARY) WHERE ${ofTenant(tenantId)} AND (concurrency IS NOT NULL OR per_second IS NOT NULL) LIMIT ${integer(max)}) AS set_limits`;
}

function ofTenant(tenantId: TenantId): string {
  const own = `limit_key = ${text(tenantId)}`;
  const endpoints = `limit_key > ${text(`${tenantId}|`)} AND limit_key < ${text(`${tenantId}}`)}`;
  return `(${own} OR (${endpoints}))`;
}

/**
 * What a take is held to, first: the clock, then the rows that nobody else holds.
 *
 * Index: primary key, a row at a time. Locks: the rows returned (X). Result: row 0 is the clock.
 */
export function lockLimitsSql(keys: readonly LimitKey[]): string {
  return `(SELECT UTC_TIMESTAMP(3), NULL, NULL, NULL, NULL, NULL, NULL) UNION ALL (SELECT NULL, limit_key, concurrency, per_second, concurrency_max, per_second_max, next_call_at FROM call_limits FORCE INDEX (PRIMARY) WHERE limit_key IN (${keysOf(keys)}) FOR UPDATE SKIP LOCKED)`;
}

/**
 * Who holds slots of these keys; which of the keys have a limit at all, held by whom it may be.
 *
 * A statement of its own, after the locks: it must see what the last taker of each key has written. As part of the locking one it would
 * see what was there when that began, and give slots twice.
 * Index: primary keys of all three. Locks: none. Result: (key, worker or NULL, slots, whether its lease lives).
 */
export function selectSlotsSql(keys: readonly LimitKey[]): string {
  return `SELECT l.limit_key, s.worker_id, s.slots, w.id IS NOT NULL FROM call_limits AS l FORCE INDEX (PRIMARY) LEFT JOIN limit_slots AS s FORCE INDEX (PRIMARY) ON s.limit_key = l.limit_key LEFT JOIN workers AS w FORCE INDEX (PRIMARY) ON w.id = s.worker_id AND w.fenced_at IS NULL AND w.lease_until > UTC_TIMESTAMP(3) WHERE l.limit_key IN (${keysOf(keys)})`;
}

/** Index: primary key. Locks: rows that the take holds (X). Result: how many, which is all that were sent. */
export function updateNextCallsSql(
  next: readonly { readonly key: LimitKey; readonly nextMs: number }[],
): string {
  const rows = next.map(({ key, nextMs }) => `ROW(${text(key)},${micros(nextMs)})`).join(",");
  return `UPDATE (VALUES ${rows}) AS r (limit_key, next_call_at) STRAIGHT_JOIN call_limits FORCE INDEX (PRIMARY) ON call_limits.limit_key = CONVERT(r.limit_key USING ascii) COLLATE ascii_bin SET call_limits.next_call_at = r.next_call_at`;
}

const COLUMN: { readonly [Name in keyof Required<LimitChanges>]: string } = {
  concurrency: "concurrency",
  perSecond: "per_second",
  maxConcurrency: "concurrency_max",
  maxPerSecond: "per_second_max",
};

/** Makes a limit, or changes what is given of it. Index: primary key. Locks: the row (X): waits for a take. Result: 1 when it is new, 2 when it was changed. */
export function upsertLimitSql(key: LimitKey, changes: LimitChanges): string {
  const given = Object.entries(COLUMN).flatMap(([name, column]) => {
    const value = changes[name as keyof LimitChanges];
    return value === undefined ? [] : [[column, orNull(real)(value)] as const];
  });
  const columns = ["limit_key", "updated_at", ...given.map(([column]) => column)];
  const values = [text(key), "UTC_TIMESTAMP(3)", ...given.map(([, value]) => value)];
  const sets = ["updated_at = UTC_TIMESTAMP(3)", ...given.map((pair) => pair.join(" = "))];
  return `INSERT INTO call_limits (${columns.join(", ")}) VALUES (${values.join(", ")}) ON DUPLICATE KEY UPDATE ${sets.join(", ")}`;
}

/** Index: primary key, a row at a time. Locks: none. Result: (key, 1 where it has caps). */
export function selectCapsSql(keys: readonly LimitKey[]): string {
  return `SELECT limit_key, concurrency_max IS NOT NULL OR per_second_max IS NOT NULL AS c FROM call_limits FORCE INDEX (PRIMARY) WHERE limit_key IN (${keysOf(keys)})`;
}

/** Sets caps where there are none; what another has just set stays. Index: primary key. Locks: the rows (X), in key order: waits for a take. Result: not used. */
export function capEndpointsSql(
  keys: readonly LimitKey[],
  { concurrency, perSecond }: LimitValues,
): string {
  const [most, rate] = [concurrency, perSecond].map(orNull(real));
  const rows = [...keys].sort().map((key) => `(${text(key)}, UTC_TIMESTAMP(3), ${most}, ${rate})`);
  return `INSERT INTO call_limits (limit_key, updated_at, concurrency_max, per_second_max) VALUES ${rows.join(", ")} ON DUPLICATE KEY UPDATE updated_at = UTC_TIMESTAMP(3), concurrency_max = COALESCE(concurrency_max, ${most}), per_second_max = COALESCE(per_second_max, ${rate})`;
}

/** Index: primary key. Locks: the row, held already (X). Result: 1. */
export function deleteLimitSql(key: LimitKey): string {
  return `DELETE FROM call_limits WHERE limit_key = ${text(key)}`;
}

/** Index: primary key, the range of a key. Locks: its rows (X). Result: how many. */
export function deleteSlotsOfKeySql(key: LimitKey): string {
  return `DELETE FROM limit_slots WHERE limit_key = ${text(key)}`;
}
