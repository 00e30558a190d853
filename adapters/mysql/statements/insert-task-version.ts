import { partitionOfTask } from "#core/domain/ids.ts";
import type { TaskVersion } from "#core/domain/task.ts";
import { integer, json, taskId } from "../literals.ts";

const INTO =
  "INSERT INTO task_versions (part, task_id, request_version, request, timeout_ms, retry) VALUES";

function row(version: TaskVersion): string {
  return `(${integer(partitionOfTask(version.taskId))}, ${taskId(version.taskId)}, ${integer(version.requestVersion)}, ${json(version.request)}, ${integer(version.timeoutMs)}, ${json(version.retry)})`;
}

/**
 * Inserts an immutable version, in the transaction that makes or edits its task.
 *
 * Index: primary key. Locks: the new row (X). Isolation: READ COMMITTED. Result: 1.
 */
export function insertTaskVersionSql(version: TaskVersion): string {
  return `${INTO} ${row(version)}`;
}

/**
 * Inserts the versions of tasks that the same transaction has inserted.
 *
 * Index: primary key. Locks: the new rows (X). Isolation: READ COMMITTED. Result: the number of rows sent.
 */
export function insertTaskVersionsSql(versions: readonly TaskVersion[]): string {
  return `${INTO} ${versions.map(row).join(", ")}`;
}
