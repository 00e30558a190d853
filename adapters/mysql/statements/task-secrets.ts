/** Secrets of tasks: written under the lock of their task, in the transaction that makes or edits it. */
import type { TaskId } from "#core/domain/ids.ts";
import type { SealedSecret } from "#core/domain/task-secrets.ts";
import { bytes, taskKey, text } from "../literals.ts";

/** A secret and the task that it belongs to. */
export interface OwnedSecret {
  readonly taskId: TaskId;
  readonly secret: SealedSecret;
}

/**
 * Sets secrets, whatever they were. `version` and `updated_at` are read by nobody; they have no default.
 *
 * Index: primary key. Locks: the rows (X). Isolation: READ COMMITTED. Result: not used.
 */
export function upsertTaskSecretsSql(owned: readonly OwnedSecret[]): string {
  const rows = owned.map(({ taskId, secret: { name, fingerprint, sealed } }) => {
    const { part, id } = taskKey(taskId);
    return `(${part}, ${id}, ${text(name)}, 1, ${bytes(Buffer.from(fingerprint, "hex"))}, ${bytes(sealed)}, UTC_TIMESTAMP(3))`;
  });
  return `INSERT INTO task_secrets (part, task_id, name, version, fingerprint, sealed, updated_at) VALUES ${rows.join(", ")} AS fresh ON DUPLICATE KEY UPDATE version = task_secrets.version + 1, fingerprint = fresh.fingerprint, sealed = fresh.sealed, updated_at = fresh.updated_at`;
}

/**
 * Removes secrets of one task.
 *
 * Index: primary key, a range. Locks: the rows (X). Isolation: READ COMMITTED. Result: how many there were.
 */
export function deleteTaskSecretsSql(taskId: TaskId, names: readonly string[]): string {
  const { part, id } = taskKey(taskId);
  return `DELETE FROM task_secrets WHERE part = ${part} AND task_id = ${id} AND name IN (${names.map(text).join(", ")})`;
}

/**
 * Removes all secrets of tasks that are purged.
 *
 * Index: primary key, driven by the group in key order. Locks: the rows (X). Isolation: READ COMMITTED. Result: not used.
 */
export function purgeTaskSecretsSql(taskIds: readonly TaskId[]): string {
  const keys = taskIds.map(taskKey).sort((a, b) => a.part - b.part || (a.id < b.id ? -1 : 1));
  const rows = keys.map(({ part, id }) => `ROW(${part},${id})`).join(",");
  return `DELETE s FROM (VALUES ${rows}) AS r (part, id) STRAIGHT_JOIN task_secrets AS s FORCE INDEX (PRIMARY) ON s.part = r.part AND s.task_id = r.id`;
}
