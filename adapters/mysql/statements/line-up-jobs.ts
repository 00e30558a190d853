/** Event 21: jobs of tasks for which a limit holds from now on. Isolation of all: READ COMMITTED. */
import { type LimitKey, tenantKeyOf, tenantOf } from "#core/domain/call-limit.ts";
import type { JobId, TaskId } from "#core/domain/ids.ts";
import { integer, jobIdsFrom, taskId, text } from "../literals.ts";
import { jobGroup } from "./job-group.ts";

/** A tenant's own key, or those of some of its endpoints. */
type Keys = readonly [LimitKey, ...LimitKey[]];

/**
 * Tasks that keys hold for, a page at a time. Index: live (tenant_id, live_id), in its order; of endpoints it reads the tenant's other
 * tasks too. Locks: none. Result: ids, after `after`.
 */
export function listLimitedTasksSql(keys: Keys, after: TaskId | null, max: number): string {
  const [key] = keys;
  const ofEndpoint =
    key === tenantKeyOf(key) ? "" : ` AND endpoint_key IN (${keys.map(text).join(",")})`;
  const from = after === null ? "live_id IS NOT NULL" : `live_id > ${taskId(after)}`;
  return `SELECT live_id FROM tasks FORCE INDEX (live) WHERE tenant_id = ${text(tenantOf(key))} AND ${from}${ofEndpoint} ORDER BY live_id LIMIT ${integer(max)}`;
}

/**
 * In line, and in none that this key takes the place of. A rescue names the last holder still, whose late answer counts: it claimed the
 * job without a limit, and would not take it out of a line.
 */
function isUnlined(key: LimitKey): string {
  const tenant = tenantKeyOf(key);
  const other = key === tenant ? "" : ` OR jobs.limit_key = ${text(tenant)}`;
  return `jobs.status IN ('pending', 'waiting') AND ((jobs.limit_key IS NULL AND jobs.worker_id IS NULL)${other})`;
}

/**
 * Jobs of their newest request that were scheduled at `sinceMs` or later.
 *
 * Index: by_task (task_id, id) of jobs, a range for each task, then the primary key of tasks. Locks: none. Result: (id, key of its
 * endpoint). `key` is the tenant's, or one of its endpoints': of those one is as another.
 */
export function listUnlinedSql(key: LimitKey, tasks: readonly TaskId[], sinceMs: number): string {
  const rows = tasks.map((id) => `ROW(${taskId(id)})`).join(",");
  return `SELECT jobs.id, tasks.endpoint_key FROM (VALUES ${rows}) AS r (task_id) STRAIGHT_JOIN jobs FORCE INDEX (by_task) ON jobs.task_id = r.task_id AND jobs.id >= ${jobIdsFrom(sinceMs)} STRAIGHT_JOIN tasks FORCE INDEX (PRIMARY) ON tasks.part = jobs.part AND tasks.id = jobs.task_id WHERE ${isUnlined(key)} AND jobs.task_version = tasks.request_version`;
}

/**
 * Index: primary key of jobs, driven by the group in key order. Locks: the rows (X): waits for a claim, then passes over what it took.
 * `status` does not depend on the order of the assignments. Result: how many.
 */
export function lineUpJobsSql(key: LimitKey, jobs: readonly { readonly id: JobId }[]): string {
  return `UPDATE ${jobGroup(jobs)} SET jobs.status = 'waiting', jobs.limit_key = ${text(key)} WHERE ${isUnlined(key)}`;
}
