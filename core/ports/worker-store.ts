import type { WorkerId } from "#core/domain/ids.ts";

export type Renewal =
  | { readonly kind: "renewed" }
  /** Another service has fenced this id, or its row is gone: nothing more may start under it. */
  | { readonly kind: "fenced" };

/** Leases of executors: one row per process life. Lengths are in ms on the database's clock. */
export interface WorkerStore {
  /**
   * Inserts a row for an id with a lease of `leaseMs` from the database's now. Again, where it was not answered: extends the lease, unless
   * the id is fenced by now, which its next renewal or claim tells. Throws after `deadlineMs`.
   */
  register(workerId: WorkerId, leaseMs: number, deadlineMs?: number): Promise<void>;
  /** Extends the lease to `leaseMs` from now, only while the row is there and not fenced. Throws after `deadlineMs`. */
  renew(workerId: WorkerId, leaseMs: number, deadlineMs?: number): Promise<Renewal>;
  /** Marks an expired worker as fenced. True when this call did it: a live lease and a fenced row are left alone. */
  fence(workerId: WorkerId): Promise<boolean>;
  /**
   * Workers whose lease has expired and that are not fenced, oldest first, at most `limit`. Throws where nothing can be written: no
   * lease could have been renewed, and after `deadlineMs`. A lease that ends later than one of WORKER_LEASE_MS from now on, because the database's clock was set
   * back, ends then from here on.
   */
  listExpired(limit: number, deadlineMs?: number): Promise<WorkerId[]>;
  /** Fenced workers whose row is still kept, the last fenced first, at most `limit`. */
  listFenced(limit: number): Promise<WorkerId[]>;
  /** Removes the row at a clean exit. Jobs still held under it must have been recorded or given back. */
  remove(workerId: WorkerId): Promise<void>;
  /**
   * Removes rows fenced more than FENCED_KEPT_MS ago under which no job runs any more, at most `limit`; returns how many.
   * Nobody can claim under a fenced id, so that none begins to run meanwhile.
   */
  pruneFenced(limit: number): Promise<number>;
}
