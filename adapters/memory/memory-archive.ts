/** What the archiver does to jobs in memory. */
import type { Job } from "#core/domain/job.ts";
import { isFinished } from "#core/domain/job-state.ts";
import type { ArchivedKey, ArchiveRange } from "#core/ports/job-store.ts";
import { type MemoryTables, NO_RETENTION } from "./memory-tables.ts";

/** Ranges of one status and queue each, the one that waits longest first. */
export function listArchivable(
  tables: MemoryTables,
  nowMs: number,
  limit: number,
  bytesMax: number,
  without: readonly ArchiveRange[],
): Job[] {
  const ranges = new Map<string, Job[]>();
  const passedOver = new Set(without.map(keyOf));
  for (const job of archivableJobs(tables, nowMs)) {
    const key = keyOf(job);
    if (passedOver.has(key)) continue;
    ranges.set(key, [...(ranges.get(key) ?? []), job]);
  }
  for (const range of ranges.values()) {
    range.sort((a, b) => a.dueAtMs - b.dueAtMs || (a.id < b.id ? -1 : 1));
  }
  const headMs = (range: readonly Job[]) => range[0]?.dueAtMs ?? 0;
  const ordered = [...ranges.values()].sort((a, b) => headMs(a) - headMs(b)).flat();
  const jobs: Job[] = [];
  let bytes = 0;
  for (const job of ordered.slice(0, limit)) {
    bytes += JSON.stringify([job.attempts, job.payload]).length;
    if (bytes > bytesMax && jobs.length > 0) break;
    jobs.push(job);
  }
  return jobs;
}

function keyOf({ status, queue }: ArchiveRange): string {
  return `${status} ${queue}`;
}

export function countArchivable(tables: MemoryTables, nowMs: number, max: number): number {
  return Math.min(max, archivableJobs(tables, nowMs).length);
}

export function deleteArchived(
  tables: MemoryTables,
  nowMs: number,
  keys: readonly ArchivedKey[],
): number {
  let removed = 0;
  for (const { id, status, claimNo, dueAtMs } of keys) {
    const event = { kind: "archive", status, claimNo, dueAtMs } as const;
    const after = tables.applyToJob(id, event, { nowMs, retention: NO_RETENTION });
    if (after.kind === "removed") removed++;
  }
  return removed;
}

function archivableJobs(tables: MemoryTables, nowMs: number): Job[] {
  return [...tables.jobs.values()].filter(
    ({ status, dueAtMs }) => isFinished(status) && dueAtMs <= nowMs,
  );
}
