import type { TaskId } from "#core/domain/ids.ts";
import { integer, taskKey } from "../literals.ts";

/**
 * Notes on tasks that have no further occurrence that they run once more: they are kept longer. Of a task that has one it says
 * nothing new.
 *
 * Index: primary key, a range per task in key order. Locks: the rows, held already (X). Isolation: READ COMMITTED. Result: not
 *   used.
 */
export function noteRunsSql(ids: readonly TaskId[]): string {
  const keys = ids.map(taskKey).map(({ part, id }) => `(${integer(part)},${id})`);
  return `UPDATE tasks FORCE INDEX (PRIMARY) SET ran_at = UTC_TIMESTAMP(3) WHERE (part, id) IN (${keys.join(",")}) AND status = 'completed'`;
}
