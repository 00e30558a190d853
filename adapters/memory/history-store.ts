/** The memory twin of adapters/cassandra: what tests and the simulation run on. Nothing expires. */
import { assert } from "#core/domain/assert.ts";
import { type HistoryEntry, historyOrderOf } from "#core/domain/history.ts";
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { HistoryPage, HistoryStore, MayBegin, OnDurable } from "#core/ports/history-store.ts";
import type { TaskJobsFilter } from "#core/ports/job-store.ts";

export function openMemoryHistory(): HistoryStore {
  return new MemoryHistory();
}

class MemoryHistory implements HistoryStore {
  readonly #entries = new Map<JobId, HistoryEntry>();

  async write(
    entries: readonly HistoryEntry[],
    onDurable?: OnDurable,
    mayBegin?: MayBegin,
  ): Promise<void> {
    for (const entry of entries) {
      if (mayBegin?.() === false) return;
      const { id } = entry.job;
      const present = this.#entries.get(id);
      if (present === undefined || historyOrderOf(present.job) <= historyOrderOf(entry.job))
        this.#entries.set(id, structuredClone(entry));
      onDurable?.(entry);
    }
  }

  async find(tenantId: TenantId, jobId: JobId): Promise<HistoryEntry | null> {
    const entry = this.#entries.get(jobId);
    return entry?.job.tenantId === tenantId ? structuredClone(entry) : null;
  }

  async listByTask(
    tenantId: TenantId,
    taskId: TaskId,
    filter: TaskJobsFilter,
    before: JobId | null,
    limit: number,
  ): Promise<HistoryPage> {
    assert(limit > 0, "a page has room for a job");
    const { statuses, fromMs, toMs } = filter;
    const matching = [...this.#entries.values()]
      .filter(({ job }) => job.tenantId === tenantId && job.taskId === taskId)
      .filter(({ job }) => before === null || job.id < before)
      .filter(({ job }) => statuses === null || statuses.includes(job.status))
      .filter(({ job }) => fromMs === null || job.scheduledAtMs >= fromMs)
      .filter(({ job }) => toMs === null || job.scheduledAtMs < toMs)
      .sort((a, b) => (a.job.id < b.job.id ? 1 : -1));
    const entries = matching.slice(0, limit);
    const nextBefore = matching.length > limit ? (entries.at(-1)?.job.id ?? null) : null;
    return { entries: structuredClone(entries), nextBefore };
  }

  async close(): Promise<void> {}
}
