import { partitionOfTenant, type TaskId, type TenantId } from "#core/domain/ids.ts";
import { priorityRank } from "#core/domain/queue.ts";
import type { TaskFilter } from "#core/ports/task-store.ts";
import { integer, taskId, text } from "../literals.ts";
import { NEWEST_VERSION, TASK_WITH_VERSION_COLUMNS } from "../task-rows.ts";

/**
 * A tenant's live tasks, newest first: ids begin with the creation time.
 *
 * Index: primary key backwards within the tenant's partition, which few tenants share; stops at the limit.
 * Locks: none. Isolation: READ COMMITTED. Result: at most `limit` rows.
 */
export function listTasksSql(
  tenantId: TenantId,
  filter: TaskFilter,
  before: TaskId | null,
  limit: number,
): string {
  const conditions = [
    `t.part = ${integer(partitionOfTenant(tenantId))}`,
    `t.tenant_id = ${text(tenantId)}`,
    filter.status === null ? "t.status <> 'deleted'" : `t.status = ${text(filter.status)}`,
  ];
  if (before !== null) conditions.push(`t.id < ${taskId(before)}`);
  if (filter.priority !== null) conditions.push(`t.priority = ${priorityRank(filter.priority)}`);
  if (filter.tag !== null) conditions.push(`${text(filter.tag)} MEMBER OF (t.tags)`);
  return `SELECT ${TASK_WITH_VERSION_COLUMNS} FROM tasks AS t FORCE INDEX (PRIMARY) STRAIGHT_JOIN task_versions AS v FORCE INDEX (PRIMARY) ON ${NEWEST_VERSION} WHERE ${conditions.join(" AND ")} ORDER BY t.id DESC LIMIT ${integer(limit)}`;
}
