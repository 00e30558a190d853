import type { WorkerId } from "#core/domain/ids.ts";
import { interval, workerId } from "../literals.ts";

/**
 * Of a claim, before its COMMIT: until then nobody can fence this worker; who has, made it wait or is seen.
 *
 * Index: primary key. Locks: the worker's row (S). Isolation: READ COMMITTED.
 * Result: one row while the worker is there and not fenced, else none.
 */
export function lockWorkerSql(id: WorkerId): string {
  return `SELECT 1 FROM workers WHERE id = ${workerId(id)} AND fenced_at IS NULL FOR SHARE`;
}

/**
 * The same for a take of slots, which others count as long as the lease lives.
 *
 * Index, locks, isolation: as above; nor can the lease be renewed meanwhile. Result: one row, whether it lives for `leftMs` at least.
 */
export function lockLeaseSql(id: WorkerId, leftMs: number): string {
  return `SELECT lease_until > UTC_TIMESTAMP(3) + ${interval(leftMs)} AS holds FROM workers WHERE id = ${workerId(id)} AND fenced_at IS NULL FOR SHARE`;
}
