import type { JobId } from "#core/domain/ids.ts";
import { jobId } from "../literals.ts";

/**
 * Takes jobs that will not run out of the lines of their limits.
 *
 * Index: primary key (job_id, limit_key). Locks: the rows removed (X). Isolation: READ COMMITTED. Result: how many.
 */
export function deleteLimitedSql(ids: readonly JobId[]): string {
  return `DELETE FROM limited WHERE job_id IN (${ids.map(jobId).join(",")})`;
}
