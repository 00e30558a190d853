import { partitionOfTask, type TaskId, type TenantId } from "#core/domain/ids.ts";
import { integer, taskId, text } from "../literals.ts";
import { lineOf, NEWEST_VERSION, TASK_WITH_VERSION_COLUMNS } from "../task-rows.ts";

/**
 * A live task with its newest version.
 *
 * Index: primary keys of tasks and task_versions, one row each.
 * Locks: none; or the task's row, X or S, as `lock` says: the first lock of every transaction that changes a task or makes its
 *   jobs. A tick passes over a row that is locked.
 * Isolation: READ COMMITTED: after a wait, the row as it was committed.
 * Result: one row, or none (absent, another tenant's, deleted). Under a lock with the line of its jobs and `jobs_below`: see TASK_LINE.
 */
export function selectTaskSql(
  tenantId: TenantId,
  id: TaskId,
  lock: "none" | "update" | "share",
): string {
  const line = lock === "none" ? "" : `, ${lineOf("t")}, t.jobs_below`;
  const locking = { none: "", update: " FOR UPDATE OF t", share: " FOR SHARE OF t" }[lock];
  return `SELECT ${TASK_WITH_VERSION_COLUMNS}${line} FROM tasks AS t FORCE INDEX (PRIMARY) STRAIGHT_JOIN task_versions AS v FORCE INDEX (PRIMARY) ON ${NEWEST_VERSION} WHERE t.part = ${integer(partitionOfTask(id))} AND t.id = ${taskId(id)} AND t.tenant_id = ${text(tenantId)} AND t.status <> 'deleted'${locking}`;
}

/**
 * A live task with its newest version, by its name.
 *
 * Index: tenant_live_name, one row; primary key of task_versions. Locks: none. Isolation: READ COMMITTED. Result: one row or none.
 */
export function selectTaskByNameSql(tenantId: TenantId, name: string): string {
  return `SELECT ${TASK_WITH_VERSION_COLUMNS} FROM tasks AS t FORCE INDEX (tenant_live_name) STRAIGHT_JOIN task_versions AS v FORCE INDEX (PRIMARY) ON ${NEWEST_VERSION} WHERE t.tenant_id = ${text(tenantId)} AND t.live_name = ${text(name)}`;
}

/**
 * Whether the tenant has or had this task.
 *
 * Index: primary key. Locks: none. Isolation: READ COMMITTED. Result: one row or none.
 */
export function selectTaskExistsSql(tenantId: TenantId, id: TaskId): string {
  return `SELECT 1 FROM tasks FORCE INDEX (PRIMARY) WHERE part = ${integer(partitionOfTask(id))} AND id = ${taskId(id)} AND tenant_id = ${text(tenantId)}`;
}
