/**
 * Leases of executors, on connections of their own: however busy the shard's pool is, a renewal finds one free. How long one is waited for
 * the executor says, which repeats them.
 */
import type { WorkerStore } from "#core/ports/worker-store.ts";
import { readWorkerId } from "./cells.ts";
import {
  deleteFencedWorkersSql,
  deleteWorkerSql,
  fenceWorkerSql,
  insertWorkerSql,
  listExpiredWorkersSql,
  listFencedWorkersSql,
  listPrunableWorkersSql,
  renewWorkerSql,
  selectHoldersSql,
  selectWorkerSql,
  shortenLeasesSql,
} from "./statements/workers.ts";
import type { Database } from "./transaction.ts";

export function workerStore(database: Database): WorkerStore {
  return {
    async register(workerId, leaseMs, deadlineMs) {
      await database.write(insertWorkerSql(workerId, leaseMs), deadlineMs);
    },
    async renew(workerId, leaseMs, deadlineMs) {
      const renewed = await database.write(renewWorkerSql(workerId, leaseMs), deadlineMs);
      if (renewed === 1) return { kind: "renewed" };
      // Two renewals within one millisecond change nothing: only the row itself tells whether it is fenced.
      const rows = await database.select(selectWorkerSql(workerId), deadlineMs);
      return { kind: rows.length === 1 ? "renewed" : "fenced" };
    },
    async fence(workerId) {
      return (await database.write(fenceWorkerSql(workerId))) === 1;
    },
    async listExpired(limit, deadlineMs) {
      // Of a database that can be read only no lease can be renewed: that says nothing about the workers.
      await database.write(shortenLeasesSql(), deadlineMs);
      const rows = await database.select(listExpiredWorkersSql(limit), deadlineMs);
      return rows.map((row) => readWorkerId(row[0]));
    },
    async listFenced(limit) {
      return (await database.select(listFencedWorkersSql(limit))).map((row) =>
        readWorkerId(row[0]),
      );
    },
    async pruneFenced(limit) {
      const rows = await database.select(listPrunableWorkersSql(limit));
      const fenced = rows.map((row) => readWorkerId(row[0]));
      if (fenced.length === 0) return 0;
      const holders = await database.select(selectHoldersSql(fenced));
      const held = new Set(holders.map((row) => readWorkerId(row[0])));
      const idle = fenced.filter((workerId) => !held.has(workerId));
      return idle.length === 0 ? 0 : database.write(deleteFencedWorkersSql(idle));
    },
    async remove(workerId) {
      await database.write(deleteWorkerSql(workerId));
    },
  };
}
