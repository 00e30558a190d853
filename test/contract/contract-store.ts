/** What the contract suites ask of an adapter: the ports, and hands for what no verb of the ports reaches yet. */
import type { JobId, TenantId, WorkerId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import type { ControlStore } from "#core/ports/control-store.ts";
import type { Shard } from "#core/ports/shards.ts";

export interface ContractStore {
  readonly shard: Shard;
  /** Writes a job's row exactly as given, over any row of its id; a dead one with its dead letter, of when it ended. */
  putJob(job: Job): Promise<void>;
  /** Makes a fenced worker one that was fenced then. */
  putFencedAt(workerId: WorkerId, fencedAtMs: number): Promise<void>;
  /** Ids of the tenant's dead letters: rows of the list whose job is dead, in any order. */
  listDeadLetters(tenantId: TenantId): Promise<JobId[]>;
  /** … and rows whose job is not. */
  listLetters(tenantId: TenantId): Promise<JobId[]>;
  /** What stands in the lines of limits, by job. */
  listLimited(): Promise<readonly Limited[]>;
  /** Gives back what opening took. */
  close(): Promise<void>;
}

/** A job's place in line. */
export type Limited = Pick<Job, "id" | "limitKey" | "queue" | "dueAtMs">;

/** Opens an empty store: each test has its own. */
export type OpenStore = () => Promise<ContractStore>;

export interface ContractControl {
  readonly control: ControlStore;
  close(): Promise<void>;
}

export type OpenControl = () => Promise<ContractControl>;

/** A test body that runs on a store of its own, closed whatever happens. */
export function onStore<S extends { close(): Promise<void> }>(
  open: () => Promise<S>,
  body: (store: S) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const store = await open();
    try {
      await body(store);
    } finally {
      await store.close();
    }
  };
}
