import type { HistoryEntry } from "#core/domain/history.ts";
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { TaskJobsFilter } from "./job-store.ts";

export interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  /**
   * What to pass as `before` to go on, not always the id of a job; null when nothing older is left. A page may be short or empty
   * and still not be the last, when a filter passes over many jobs or months hold none.
   */
  readonly nextBefore: JobId | null;
}

export type OnDurable = (entry: HistoryEntry) => void;
/** Asked before each row is begun; once it has said no, none is begun any more. */
export type MayBegin = () => boolean;

/** Finished jobs, kept for 30 days: Cassandra. Every verb ends within its deadline or throws StoreUnavailable. */
export interface HistoryStore {
  /**
   * Writes entries (made by historyEntryOf) with bounded concurrency; resolves when all are durable, or all that `mayBegin` has let
   * begin. When it throws, any part of them may be written: safe to repeat. `onDurable` hears of each that is durable, before a failure
   * too. A task whose partition is busy keeps no other's entries out. A copy of a job's earlier end that arrives late never replaces a
   * later one.
   */
  write(
    entries: readonly HistoryEntry[],
    onDurable?: OnDurable,
    mayBegin?: MayBegin,
  ): Promise<void>;

  /** One job of the tenant. Its id names its partition. */
  find(tenantId: TenantId, jobId: JobId): Promise<HistoryEntry | null>;

  /** A task's jobs newest first, ids below `before`, at most `limit`. */
  listByTask(
    tenantId: TenantId,
    taskId: TaskId,
    filter: TaskJobsFilter,
    before: JobId | null,
    limit: number,
  ): Promise<HistoryPage>;

  close(): Promise<void>;
}
