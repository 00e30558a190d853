import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { BacklogStore } from "./backlog-store.ts";
import type { JobStore } from "./job-store.ts";
import type { LimitStore } from "./limit-store.ts";
import type { SecretStore } from "./secret-store.ts";
import type { TaskStore } from "./task-store.ts";
import type { WorkerStore } from "./worker-store.ts";

/** The stores of one shard: one MySQL database. */
export interface Shard {
  readonly name: string;
  readonly tasks: TaskStore;
  readonly jobs: JobStore;
  readonly workers: WorkerStore;
  readonly secrets: SecretStore;
  readonly backlog: BacklogStore;
  readonly limits: LimitStore;
}

/** Which shard has what: the only way to a store. */
export interface Shards {
  forTask(id: TaskId): Shard;
  forJob(id: JobId): Shard;
  forTenant(id: TenantId): Shard;
  all(): readonly Shard[];
  close(): Promise<void>;
}
