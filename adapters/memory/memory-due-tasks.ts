/** Tasks in memory as a tick sees them, and what it writes of them. */
import { assert } from "#core/domain/assert.ts";
import { FAST_AHEAD_MS, MISSED_AFTER_MS } from "#core/domain/limits.ts";
import type { DueTask, Task } from "#core/domain/task.ts";
import type { TaskAdvance } from "#core/ports/task-store.ts";
import type { MemoryTables } from "./memory-tables.ts";

export function advanceTask(
  tables: MemoryTables,
  { taskId, nextRunAtMs, madeUntilMs, error }: TaskAdvance,
): void {
  const task = tables.tasks.get(taskId);
  assert(task !== undefined, "a locked task is there");
  tables.tasks.set(taskId, {
    ...task,
    status: nextRunAtMs === null && error === null ? "completed" : task.status,
    nextRunAtMs,
    madeUntilMs: madeUntilMs ?? task.madeUntilMs,
    error,
  });
}

/** What executors make jobs of themselves, in order. */
export function criticalDue(tables: MemoryTables, nowMs: number): Task[] {
  const due = (atMs: number) => atMs >= nowMs - MISSED_AFTER_MS && atMs <= nowMs + FAST_AHEAD_MS;
  return [...tables.tasks.values()]
    .filter(({ status, priority }) => status === "active" && priority === "critical")
    .filter(({ nextRunAtMs }) => nextRunAtMs !== null && due(nextRunAtMs))
    .sort((a, b) => (a.nextRunAtMs ?? 0) - (b.nextRunAtMs ?? 0) || (a.id < b.id ? -1 : 1));
}

export function dueTask(tables: MemoryTables, task: Task): DueTask {
  return {
    ...tables.lineOf(task),
    id: task.id,
    tenantId: task.tenantId,
    schedule: task.schedule,
    priority: task.priority,
    catchUp: task.catchUp,
    startAtMs: task.startAtMs,
    endAtMs: task.endAtMs,
    nextRunAtMs: task.nextRunAtMs,
    requestVersion: task.requestVersion,
    timeoutMs: task.timeoutMs,
    maxAttempts: task.maxAttempts,
  };
}
