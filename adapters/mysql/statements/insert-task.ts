import { partitionOfTask } from "#core/domain/ids.ts";
import type { Task } from "#core/domain/task.ts";
import { integer, taskId, text } from "../literals.ts";
import { taskAssignments } from "./update-task.ts";

/**
 * Inserts a task.
 *
 * Index: primary key, and the unique tenant_live_name: a duplicate of it (1062) is a name that is taken.
 * Locks: the new row (X).
 * Isolation: READ COMMITTED.
 * Result: 1.
 */
export function insertTaskSql(task: Task): string {
  const key = `part = ${integer(partitionOfTask(task.id))}, id = ${taskId(task.id)}, tenant_id = ${text(task.tenantId)}`;
  return `INSERT INTO tasks SET ${key}, ${taskAssignments(task)}`;
}
