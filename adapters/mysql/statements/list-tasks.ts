/**
 * A tenant's live tasks, newest first: ids begin with the creation time.
 *
 * Index of both: live (tenant_id, live_id), or by_status (tenant_id, status, id), backwards. Never another tenant's rows, nor deleted
 * ones. Locks: none. Isolation: READ COMMITTED.
 */
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { priorityRank } from "#core/domain/queue.ts";
import type { TaskFilter } from "#core/ports/task-store.ts";
import { integer, taskId, text } from "../literals.ts";
import { LISTED_TASK_COLUMNS, NEWEST_VERSION } from "../task-rows.ts";

/**
 * Stops at the limit, or below `downTo`: a filter by priority or tag walks what it leaves out (measured: a tag that 5 of 50,000 have,
 * 110 ms). Result: at most `limit` rows.
 */
export function listTasksSql(
  tenantId: TenantId,
  filter: TaskFilter,
  before: TaskId | null,
  limit: number,
  downTo: TaskId | null,
): string {
  const { index, place, conditions } = walkOf(tenantId, filter, before);
  const { priority, tag } = filter;
  if (downTo !== null) conditions.push(`${place} >= ${taskId(downTo)}`);
  if (priority !== null) conditions.push(`t.priority = ${priorityRank(priority)}`);
  if (tag !== null) conditions.push(`${text(tag)} MEMBER OF (t.tags)`);
  return `SELECT ${LISTED_TASK_COLUMNS} FROM tasks AS t FORCE INDEX (${index}) STRAIGHT_JOIN task_versions AS v FORCE INDEX (PRIMARY) ON ${NEWEST_VERSION} WHERE ${conditions.join(" AND ")} ORDER BY ${place} DESC LIMIT ${integer(limit)}`;
}

/**
 * The last of the next `rows` tasks that a list goes over, whatever their priority and tags. Nothing but the index. Result: its id, or no
 * row when there are fewer.
 */
export function selectTasksDownToSql(
  tenantId: TenantId,
  filter: Pick<TaskFilter, "status">,
  before: TaskId | null,
  rows: number,
): string {
  const { index, place, conditions } = walkOf(tenantId, filter, before);
  return `SELECT ${place} FROM tasks AS t FORCE INDEX (${index}) WHERE ${conditions.join(" AND ")} ORDER BY ${place} DESC LIMIT ${integer(rows - 1)}, 1`;
}

function walkOf(tenantId: TenantId, { status }: Pick<TaskFilter, "status">, before: TaskId | null) {
  const [index, place] = status === null ? ["live", "t.live_id"] : ["by_status", "t.id"];
  const conditions = [
    `t.tenant_id = ${text(tenantId)}`,
    status === null ? "t.live_id IS NOT NULL" : `t.status = ${text(status)}`,
  ];
  if (before !== null) conditions.push(`${place} < ${taskId(before)}`);
  return { index, place, conditions };
}
