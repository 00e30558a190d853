import type { LimitKey } from "#core/domain/call-limit.ts";
import type { JobId } from "#core/domain/ids.ts";
import { text } from "../literals.ts";
import { jobGroup } from "./job-group.ts";

/**
 * Event 19 for jobs that lockLineSql has locked. They enter the queue's index at now, not at when they were due: claims do not look below
 * the heads that they have seen.
 *
 * Index: primary key of jobs, driven by the group in key order. Locks: rows held already (X). Isolation: READ COMMITTED. `status` is the
 * same whether it is assigned before `limit_key` or after: both are literals.
 * Result: the number of jobs sent.
 */
export function releaseJobsSql(
  jobs: readonly { readonly id: JobId }[],
  limitKey: LimitKey | null,
): string {
  const status = limitKey === null ? "pending" : "waiting";
  return `UPDATE ${jobGroup(jobs)} SET jobs.limit_key = ${text(limitKey)}, jobs.status = '${status}', jobs.due_at = GREATEST(jobs.run_at, UTC_TIMESTAMP(3)) WHERE jobs.status = 'waiting'`;
}
