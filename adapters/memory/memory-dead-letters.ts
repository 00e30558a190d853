/** What the API does to single jobs in memory. */
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { Job, Retention } from "#core/domain/job.ts";
import { REASON_CANCELLED } from "#core/domain/job.ts";
import { JOB_ATTEMPTS_MAX } from "#core/domain/limits.ts";
import type { Task } from "#core/domain/task.ts";
import type {
  CancelOutcome,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPlace,
  RetryOutcome,
  ToRetry,
} from "#core/ports/job-store.ts";
import { type MemoryTables, NO_RETENTION } from "./memory-tables.ts";

export function listDeadLetters(
  tables: MemoryTables,
  tenantId: TenantId,
  filter: DeadLetterFilter,
  before: DeadLetterPlace | null,
  limit: number,
  downTo: DeadLetterPlace | null,
): DeadLetter[] {
  const { retriable = false } = filter;
  return lettersInTime(tables, tenantId, filter, before)
    .filter(({ job }) => job.trigger !== "test")
    .filter(({ job }) => !retriable || liveTask(tables, job.taskId) !== null)
    .filter((letter) => downTo === null || !isBefore(letter, downTo))
    .slice(0, limit);
}

export function findLettersDownTo(
  tables: MemoryTables,
  tenantId: TenantId,
  filter: DeadLetterFilter,
  before: DeadLetterPlace | null,
  rows: number,
): DeadLetterPlace | null {
  const last = lettersInTime(tables, tenantId, filter, before)[rows - 1];
  return last === undefined ? null : { diedAtMs: last.diedAtMs, jobId: last.job.id };
}

function lettersInTime(
  tables: MemoryTables,
  tenantId: TenantId,
  { taskId, fromMs, toMs }: DeadLetterFilter,
  before: DeadLetterPlace | null,
): DeadLetter[] {
  return [...tables.jobs.values()]
    .filter((job) => job.tenantId === tenantId && job.status === "dead")
    .filter((job) => taskId === null || job.taskId === taskId)
    .map((job) => ({ diedAtMs: job.finishedAtMs ?? job.runAtMs, job }))
    .filter(({ diedAtMs }) => fromMs === null || diedAtMs >= fromMs)
    .filter(({ diedAtMs }) => toMs === null || diedAtMs < toMs)
    .filter((letter) => before === null || isBefore(letter, before))
    .sort((a, b) => b.diedAtMs - a.diedAtMs || (a.job.id < b.job.id ? 1 : -1));
}

function isBefore({ diedAtMs, job }: DeadLetter, place: DeadLetterPlace): boolean {
  return diedAtMs < place.diedAtMs || (diedAtMs === place.diedAtMs && job.id < place.jobId);
}

export function retry(
  tables: MemoryTables,
  tenantId: TenantId,
  { id, ...at }: ToRetry,
  nowMs: number,
): RetryOutcome {
  const job = ofTenant(tables, tenantId, id);
  if (job === null) return "not-found";
  if (job.status !== "dead") return "not-dead";
  const task = liveTask(tables, job.taskId);
  if (task === null) return "task-gone";
  if (job.attempt + task.maxAttempts > JOB_ATTEMPTS_MAX) return "attempts-full";
  const isPresent = job.taskVersion === task.requestVersion;
  const line = isPresent ? { limitKey: tables.lineOf(task).limitKey ?? null } : {};
  const event = { kind: "retry", moreAttempts: task.maxAttempts, ...at, ...line } as const;
  tables.applyToJob(id, event, { nowMs, retention: NO_RETENTION });
  tables.ranAtMs.set(task.id, nowMs);
  return "moved";
}

export function cancelJob(
  tables: MemoryTables,
  tenantId: TenantId,
  id: JobId,
  at: { readonly nowMs: number; readonly retention: Retention },
): CancelOutcome {
  if (ofTenant(tables, tenantId, id) === null) return { kind: "not-found" };
  const after = tables.applyToJob(id, { kind: "cancel", reason: REASON_CANCELLED }, at);
  if (after.kind !== "moved") return { kind: "finished" };
  const { job } = after;
  if (job.status === "cancelled") return { kind: "cancelled", job };
  tables.revocations.push({ atMs: at.nowMs, taskId: job.taskId, jobId: id });
  return { kind: "marked", job };
}

function liveTask(tables: MemoryTables, taskId: TaskId): Task | null {
  const task = tables.tasks.get(taskId);
  return task === undefined || task.status === "deleted" ? null : task;
}

function ofTenant(tables: MemoryTables, tenantId: TenantId, id: JobId): Job | null {
  const job = tables.jobs.get(id);
  return job?.tenantId === tenantId ? job : null;
}
