import { endpointKey, type LimitKey } from "#core/domain/call-limit.ts";
import { partitionOfTask } from "#core/domain/ids.ts";
import { priorityRank } from "#core/domain/queue.ts";
import type { Task, TaskVersion } from "#core/domain/task.ts";
import { instant, integer, json, taskId, text } from "../literals.ts";

/**
 * Writes a task as an edit leaves it, with the endpoint of its new version, if it has one.
 *
 * Index: primary key; a duplicate of the unique tenant_live_name (1062) is a name that is taken.
 * Locks: the row, which the edit holds already (X).
 * Isolation: READ COMMITTED, under that lock: hence no guard.
 * Result: 1, or 0 when nothing differs.
 */
export function updateTaskSql(task: Task, newVersion: TaskVersion | null): string {
  const endpoint =
    newVersion === null ? "" : `, endpoint_key = ${text(endpointOfTask(task, newVersion))}`;
  return `UPDATE tasks SET ${taskAssignments(task)}${endpoint} WHERE part = ${integer(partitionOfTask(task.id))} AND id = ${taskId(task.id)}`;
}

export function endpointOfTask({ tenantId }: Task, { request }: TaskVersion): LimitKey | null {
  return endpointKey(tenantId, request.url);
}

/** Every column that an edit may change; the key and the tenant it may not. */
function taskAssignments(task: Task): string {
  return taskValues(task)
    .map(([column, literal]) => `${column} = ${literal}`)
    .join(", ");
}

/** The same columns with what the task has in them, as literals. */
export function taskValues(task: Task): readonly (readonly [column: string, literal: string])[] {
  return [
    ["name", text(task.name)],
    ["description", text(task.description)],
    ["tags", json(task.tags)],
    ["status", text(task.status)],
    ["schedule", json(task.schedule)],
    ["priority", integer(priorityRank(task.priority))],
    ["catch_up", text(task.catchUp)],
    ["start_at", instant(task.startAtMs)],
    ["end_at", instant(task.endAtMs)],
    ["next_run_at", instant(task.nextRunAtMs)],
    ["made_until", instant(task.madeUntilMs)],
    ["version", integer(task.version)],
    ["request_version", integer(task.requestVersion)],
    ["timeout_ms", integer(task.timeoutMs)],
    ["max_attempts", integer(task.maxAttempts)],
    ["error", text(task.error)],
    ["created_at", instant(task.createdAtMs)],
    ["updated_at", instant(task.updatedAtMs)],
  ];
}
