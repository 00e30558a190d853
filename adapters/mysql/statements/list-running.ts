/** Which running jobs have lost their holder. Read without locks: a rescue is guarded by the claim number. */
import type { WorkerId } from "#core/domain/ids.ts";
import { QUEUES } from "#core/domain/queue.ts";
import { integer, workerId } from "../literals.ts";

/**
 * Running jobs of some workers.
 *
 * Index: queue, the range of what runs; there is none on worker_id, which would cost every claim and every result an entry.
 *   Stops at the limit; at worst reads every running row (measured: 50,000 in 70 ms).
 * Locks: none. Isolation: READ COMMITTED. Result: (id, claim_no, limit_key).
 */
export function listHeldSql(workers: readonly WorkerId[], limit: number): string {
  return `SELECT id, claim_no, limit_key FROM jobs FORCE INDEX (queue) WHERE status = 'running' AND worker_id IN (${workers.map(workerId).join(",")}) LIMIT ${integer(limit)}`;
}

/**
 * Running jobs whose backstop has passed.
 *
 * Index: queue (status, queue, due_at), an exact range per queue; an empty one costs one look. The outer LIMIT ends the walk.
 * Locks: none. Isolation: READ COMMITTED. Result: (id, claim_no, limit_key).
 */
export function listPastBackstopSql(limit: number): string {
  const branches = Array.from(
    { length: QUEUES },
    (_, queue) =>
      `(SELECT id, claim_no, limit_key FROM jobs FORCE INDEX (queue) WHERE status = 'running' AND queue = ${integer(queue)} AND due_at < UTC_TIMESTAMP(3) ORDER BY due_at LIMIT ${integer(limit)})`,
  );
  return `${branches.join(" UNION ALL ")} LIMIT ${integer(limit)}`;
}
