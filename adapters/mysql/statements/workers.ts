/**
 * Leases of executors.
 *
 * Index of all: primary key; the table is as small as the number of executors. Locks: the row written (X); a claim of that
 * worker holds it (S), so that a fence waits for the claim to end. Isolation: READ COMMITTED, autocommit.
 */
import type { WorkerId } from "#core/domain/ids.ts";
import { FENCED_KEPT_MS, WORKER_LEASE_MS } from "#core/domain/limits.ts";
import { integer, interval, workerId } from "../literals.ts";

const LONG_FENCED = `fenced_at < UTC_TIMESTAMP(3) - ${interval(FENCED_KEPT_MS)}`;

/** Result: 1 when it is new, 2 when a repeat finds it there and extends the lease, 0 when it is fenced by now (never revived, never extended). */
export function insertWorkerSql(id: WorkerId, leaseMs: number): string {
  const until = `UTC_TIMESTAMP(3) + ${interval(leaseMs)}`;
  return `INSERT INTO workers (id, lease_until) VALUES (${workerId(id)}, ${until}) ON DUPLICATE KEY UPDATE lease_until = IF(fenced_at IS NULL, ${until}, lease_until)`;
}

/** Result: 1 when the lease was extended; 0 when the row is gone or fenced, or had the same lease already. */
export function renewWorkerSql(id: WorkerId, leaseMs: number): string {
  return `UPDATE workers SET lease_until = UTC_TIMESTAMP(3) + ${interval(leaseMs)} WHERE id = ${workerId(id)} AND fenced_at IS NULL`;
}

/** Result: one row while the worker is there and not fenced. */
export function selectWorkerSql(id: WorkerId): string {
  return `SELECT 1 FROM workers WHERE id = ${workerId(id)} AND fenced_at IS NULL`;
}

/** Result: 1 when this statement fenced it; 0 when its lease lives, or it was fenced or removed before. */
export function fenceWorkerSql(id: WorkerId): string {
  return `UPDATE workers SET fenced_at = UTC_TIMESTAMP(3) WHERE id = ${workerId(id)} AND fenced_at IS NULL AND lease_until < UTC_TIMESTAMP(3)`;
}

/**
 * Ends leases of before the database's clock was set back when one would end that begins now: whoever lives renews its own. Fails where
 * nothing can be changed. Index: none, it reads every worker; waits only for one whose lease it shortens. Result: how many, as good as always 0.
 */
export function shortenLeasesSql(): string {
  const latest = `UTC_TIMESTAMP(3) + ${interval(WORKER_LEASE_MS)}`;
  return `UPDATE workers SET lease_until = ${latest} WHERE fenced_at IS NULL AND lease_until > ${latest}`;
}

/** Result: ids, the longest expired first. */
export function listExpiredWorkersSql(limit: number): string {
  return `SELECT id FROM workers WHERE fenced_at IS NULL AND lease_until < UTC_TIMESTAMP(3) ORDER BY lease_until, id LIMIT ${integer(limit)}`;
}

/** Result: 1, or 0 when it was gone. */
export function deleteWorkerSql(id: WorkerId): string {
  return `DELETE FROM workers WHERE id = ${workerId(id)}`;
}

/** Result: ids, the last fenced first. */
export function listFencedWorkersSql(limit: number): string {
  return `SELECT id FROM workers WHERE fenced_at IS NOT NULL ORDER BY fenced_at DESC, id LIMIT ${integer(limit)}`;
}

/** Result: ids fenced longer ago than FENCED_KEPT_MS, the oldest first. */
export function listPrunableWorkersSql(limit: number): string {
  return `SELECT id FROM workers WHERE ${LONG_FENCED} ORDER BY fenced_at, id LIMIT ${integer(limit)}`;
}

/**
 * Index: queue of jobs, the range of what runs, read whole. Locks: none. Result: those of the ids under which jobs run.
 */
export function selectHoldersSql(ids: readonly WorkerId[]): string {
  return `SELECT DISTINCT worker_id FROM jobs FORCE INDEX (queue) WHERE status = 'running' AND worker_id IN (${ids.map(workerId).join(",")})`;
}

/** Result: the number of rows removed; a row that is gone was removed by another. */
export function deleteFencedWorkersSql(ids: readonly WorkerId[]): string {
  const sorted = ids.map(workerId).sort();
  return `DELETE FROM workers WHERE id IN (${sorted.join(",")}) AND ${LONG_FENCED}`;
}
