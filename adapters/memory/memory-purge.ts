/** Housekeeping in memory. */
import { REVOCATIONS_KEPT_MS } from "#core/domain/limits.ts";
import type { Task } from "#core/domain/task.ts";
import type { MemoryTables } from "./memory-tables.ts";

export function purgeTasks(tables: MemoryTables, limit: number, beforeMs: number): number {
  const busy = new Set([...tables.jobs.values()].map((job) => job.taskId));
  const ended = [...tables.tasks.values()]
    .flatMap((task) => ({ task, atMs: endedAtMs(task, tables.ranAtMs.get(task.id)) ?? beforeMs }))
    .filter(({ task, atMs }) => atMs < beforeMs && !busy.has(task.id))
    .sort((a, b) => a.atMs - b.atMs)
    .slice(0, limit);
  for (const { task } of ended) {
    tables.tasks.delete(task.id);
    tables.jobsBelow.delete(task.id);
    tables.ranAtMs.delete(task.id);
    tables.removeVersions(task.id);
    tables.secrets.delete(task.id);
  }
  return ended.length;
}

function endedAtMs(task: Task, ranAtMs = 0): number | null {
  if (task.status === "deleted") return task.updatedAtMs;
  if (task.status !== "completed") return null;
  return Math.max(task.updatedAtMs, task.madeUntilMs ?? 0, ranAtMs);
}

export function pruneRows(tables: MemoryTables, limit: number, nowMs: number): number {
  const old = tables.revocations.filter(({ atMs }) => atMs < nowMs - REVOCATIONS_KEPT_MS);
  const removed = new Set(old.slice(0, limit));
  const kept = tables.revocations.filter((revocation) => !removed.has(revocation));
  tables.revocations.splice(0, tables.revocations.length, ...kept);
  const expired = [...tables.answers].filter(([, { expiresAtMs }]) => expiresAtMs <= nowMs);
  for (const [key] of expired.slice(0, limit)) tables.answers.delete(key);
  return removed.size + Math.min(limit, expired.length);
}
