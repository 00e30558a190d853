import type { JobId, TaskId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import type { TaskJobsFilter } from "#core/ports/job-store.ts";
import type { MemoryTables } from "./memory-tables.ts";

/** A task's jobs below `before` in the filter's times, whatever their status, newest first. */
export function jobsInTime(
  tables: MemoryTables,
  taskId: TaskId,
  { fromMs, toMs }: TaskJobsFilter,
  before: JobId | null,
): Job[] {
  const jobs = [...tables.jobs.values()].filter(
    (job) =>
      job.taskId === taskId &&
      (before === null || job.id < before) &&
      (fromMs === null || job.scheduledAtMs >= fromMs) &&
      (toMs === null || job.scheduledAtMs < toMs),
  );
  return jobs.sort((a, b) => (a.id > b.id ? -1 : 1));
}
