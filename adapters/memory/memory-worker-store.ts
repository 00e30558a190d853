/** Leases of executors in memory. */
import type { WorkerId } from "#core/domain/ids.ts";
import { FENCED_KEPT_MS, WORKER_LEASE_MS } from "#core/domain/limits.ts";
import type { Renewal, WorkerStore } from "#core/ports/worker-store.ts";
import type { MemoryTables } from "./memory-tables.ts";

export class MemoryWorkerStore implements WorkerStore {
  readonly #tables: MemoryTables;

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  register(workerId: WorkerId, leaseMs: number): Promise<void> {
    return this.#tables.transact("register", (nowMs) => {
      if ((this.#tables.workers.get(workerId)?.fencedAtMs ?? null) !== null) return;
      this.#tables.workers.set(workerId, { leaseUntilMs: nowMs + leaseMs, fencedAtMs: null });
    });
  }

  renew(workerId: WorkerId, leaseMs: number): Promise<Renewal> {
    return this.#tables.transact("renew", (nowMs) => {
      if (this.#tables.isFenced(workerId)) return { kind: "fenced" };
      this.#tables.workers.set(workerId, { leaseUntilMs: nowMs + leaseMs, fencedAtMs: null });
      return { kind: "renewed" };
    });
  }

  fence(workerId: WorkerId): Promise<boolean> {
    return this.#tables.transact("fence", (nowMs) => {
      const row = this.#tables.workers.get(workerId);
      if (row === undefined || row.fencedAtMs !== null || row.leaseUntilMs >= nowMs) return false;
      this.#tables.workers.set(workerId, { ...row, fencedAtMs: nowMs });
      return true;
    });
  }

  listExpired(limit: number): Promise<WorkerId[]> {
    return this.#tables.transact("listExpired", (nowMs) => {
      const latestMs = nowMs + WORKER_LEASE_MS;
      for (const [workerId, row] of this.#tables.workers)
        if (row.fencedAtMs === null && row.leaseUntilMs > latestMs)
          this.#tables.workers.set(workerId, { ...row, leaseUntilMs: latestMs });
      const expired = [...this.#tables.workers].filter(
        ([, row]) => row.fencedAtMs === null && row.leaseUntilMs < nowMs,
      );
      expired.sort(([, a], [, b]) => a.leaseUntilMs - b.leaseUntilMs);
      return expired.slice(0, limit).map(([workerId]) => workerId);
    });
  }

  listFenced(limit: number): Promise<WorkerId[]> {
    return this.#tables.transact("listFenced", () => {
      const fenced = [...this.#tables.workers].flatMap(([workerId, { fencedAtMs }]) =>
        fencedAtMs === null ? [] : [{ workerId, fencedAtMs }],
      );
      fenced.sort((a, b) => b.fencedAtMs - a.fencedAtMs);
      return fenced.slice(0, limit).map(({ workerId }) => workerId);
    });
  }

  pruneFenced(limit: number): Promise<number> {
    return this.#tables.transact("pruneFenced", (nowMs) => {
      const held = new Set<WorkerId>();
      for (const { status, workerId } of this.#tables.jobs.values()) {
        if (status === "running" && workerId !== null) held.add(workerId);
      }
      const idle = [...this.#tables.workers]
        .filter(([, row]) => row.fencedAtMs !== null && row.fencedAtMs < nowMs - FENCED_KEPT_MS)
        .slice(0, limit)
        .filter(([workerId]) => !held.has(workerId));
      for (const [workerId] of idle) this.#tables.workers.delete(workerId);
      return idle.length;
    });
  }

  remove(workerId: WorkerId): Promise<void> {
    return this.#tables.transact("remove", () => {
      this.#tables.workers.delete(workerId);
    });
  }
}
