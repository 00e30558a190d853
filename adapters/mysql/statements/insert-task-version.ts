import { partitionOfTask } from "#core/domain/ids.ts";
import type { TaskVersion } from "#core/domain/task.ts";
import { integer, json, taskId } from "../literals.ts";

/**
 * Inserts an immutable version, in the transaction that makes or edits its task.
 *
 * Index: primary key. Locks: the new row (X). Isolation: READ COMMITTED. Result: 1.
 */
export function insertTaskVersionSql(version: TaskVersion): string {
  return `INSERT INTO task_versions (part, task_id, request_version, request, timeout_ms, retry) VALUES (${integer(partitionOfTask(version.taskId))}, ${taskId(version.taskId)}, ${integer(version.requestVersion)}, ${json(version.request)}, ${integer(version.timeoutMs)}, ${json(version.retry)})`;
}
