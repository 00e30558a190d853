/**
 * A shard in memory, for tests and for the simulation: the same ports as MySQL, entirely on the domain's functions. Every verb
 * is one transaction that nothing interleaves with, at one instant of the clock it is given. Nothing here is random and no
 * time is read elsewhere, so a run with the same calls in the same order ends in the same rows.
 */
import type { Shard, Shards } from "#core/ports/shards.ts";
import { MemoryBacklogStore } from "./memory-backlog-store.ts";
import { MemoryJobStore } from "./memory-job-store.ts";
import { MemoryLimitStore } from "./memory-limit-store.ts";
import { MemorySecretStore } from "./memory-secret-store.ts";
import type { MemoryOptions } from "./memory-tables.ts";
import { MemoryTables } from "./memory-tables.ts";
import { MemoryTaskStore } from "./memory-task-store.ts";
import { MemoryWorkerStore } from "./memory-worker-store.ts";

export interface MemoryShards extends Shards {
  readonly tables: MemoryTables;
}

/** One shard in memory. */
export function openMemoryShards(options: MemoryOptions): MemoryShards {
  const tables = new MemoryTables(options);
  const shard: Shard = {
    name: "memory",
    tasks: new MemoryTaskStore(tables),
    jobs: new MemoryJobStore(tables),
    workers: new MemoryWorkerStore(tables),
    secrets: new MemorySecretStore(tables),
    backlog: new MemoryBacklogStore(tables),
    limits: new MemoryLimitStore(tables),
  };
  return {
    tables,
    forTask: () => shard,
    forJob: () => shard,
    forTenant: () => shard,
    all: () => [shard],
    close: async () => {},
  };
}
