/** The endpoints that tasks call, where the release that wrote their rows did not know of them. Isolation of both: READ COMMITTED. */
import type { LimitKey } from "#core/domain/call-limit.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { integer, taskId, taskKey, text } from "../literals.ts";
import { NEWEST_VERSION } from "../task-rows.ts";

/**
 * A tenant's tasks with the URL of their newest version, a page at a time: all, or those whose row names no endpoint.
 *
 * Index: live (tenant_id, live_id), in its order, then the primary key of task_versions. Locks: none. Result: (id, newest version,
 * endpoint as the row has it, URL), after `after`.
 */
export function listEndpointsSql(
  tenantId: TenantId,
  whose: "all" | "missing",
  after: TaskId | null,
  max: number,
): string {
  const from = after === null ? "t.live_id IS NOT NULL" : `t.live_id > ${taskId(after)}`;
  const missing = whose === "missing" ? " AND t.endpoint_key IS NULL" : "";
  return `SELECT t.live_id, t.request_version, t.endpoint_key, v.request ->> '$.url' FROM tasks AS t FORCE INDEX (live) STRAIGHT_JOIN task_versions AS v FORCE INDEX (PRIMARY) ON ${NEWEST_VERSION} WHERE t.tenant_id = ${text(tenantId)} AND ${from}${missing} ORDER BY t.live_id LIMIT ${integer(max)}`;
}

export interface TaskEndpoint {
  readonly taskId: TaskId;
  readonly requestVersion: number;
  readonly key: LimitKey | null;
}

/**
 * Index: primary key of tasks, a row at a time, driven by the group (STRAIGHT_JOIN) in key order. Locks: the rows (X): waits for an edit,
 * and then leaves what has a newer version as it is. Result: how many were changed.
 */
export function fillEndpointsSql(endpoints: readonly TaskEndpoint[]): string {
  const rows = endpoints
    .map(({ taskId, requestVersion, key }) => ({ ...taskKey(taskId), requestVersion, key }))
    .sort((a, b) => a.part - b.part || (a.id < b.id ? -1 : 1))
    .map(
      ({ part, id, requestVersion, key }) =>
        `ROW(${part},${id},${integer(requestVersion)},${text(key)})`,
    );
  return `UPDATE (VALUES ${rows.join(",")}) AS r (part, id, request_version, endpoint_key) STRAIGHT_JOIN tasks FORCE INDEX (PRIMARY) ON tasks.part = r.part AND tasks.id = r.id SET tasks.endpoint_key = r.endpoint_key WHERE tasks.request_version = r.request_version`;
}
