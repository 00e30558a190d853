import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import type { TaskJobsFilter } from "./job-store.ts";

/** A request as history keeps it: a body over HISTORY_BODY_BYTES_MAX is kept as its hash and size. */
export interface HistoryRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly bodyBase64: string | null;
  readonly bodyBytes: number;
  /** SHA-256 (hex) of a body that is not kept. */
  readonly bodySha256: string | null;
}

/** A finished job with the request it was planned from; null when that version is gone. */
export interface HistoryEntry {
  readonly job: Job;
  readonly request: HistoryRequest | null;
}

export interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  /** False: nothing older is left. True says nothing about how many. */
  readonly more: boolean;
}

/** Finished jobs, kept for 30 days: Cassandra. Every verb ends within its deadline or throws StoreUnavailable. */
export interface HistoryStore {
  /**
   * Writes entries with bounded concurrency; resolves when all are durable. Safe to repeat; a copy of a job's earlier end that
   * arrives late never replaces a later one.
   */
  write(entries: readonly HistoryEntry[]): Promise<void>;

  /** One job of the tenant. Its id names its partition. */
  find(tenantId: TenantId, jobId: JobId): Promise<HistoryEntry | null>;

  /** A task's jobs newest first, ids below `before`, at most `limit`; fewer, with `more`, when a filter passes over many. */
  listByTask(
    tenantId: TenantId,
    taskId: TaskId,
    filter: TaskJobsFilter,
    before: JobId | null,
    limit: number,
  ): Promise<HistoryPage>;

  close(): Promise<void>;
}
