import type { TaskAdvance } from "#core/ports/task-store.ts";
import { instant, taskKey, text } from "../literals.ts";

/** An advance with the next run that the tick read: the guard. */
export interface GuardedAdvance extends TaskAdvance {
  readonly wasNextRunAtMs: number;
}

/**
 * Moves tasks on after their runs were made. No next run and no error means completed; with an error the task stays active.
 *
 * Index: primary key of tasks, a row at a time, driven by the group (STRAIGHT_JOIN) in key order.
 * Locks: rows that the tick holds already (X).
 * Isolation: READ COMMITTED. No assignment reads a column that another one writes.
 * Result: the number of tasks moved; fewer than sent means that a row changed under the tick's lock, which cannot be.
 */
export function advanceTasksSql(advances: readonly GuardedAdvance[]): string {
  const keyed = advances.map((advance) => ({ advance, key: taskKey(advance.taskId) }));
  keyed.sort((a, b) => a.key.part - b.key.part || (a.key.id < b.key.id ? -1 : 1));
  const rows = keyed.map(
    ({ advance, key }) =>
      `ROW(${key.part},${key.id},${instant(advance.wasNextRunAtMs)},${instant(advance.nextRunAtMs)},${instant(advance.madeUntilMs)},${text(advance.error)})`,
  );
  return `UPDATE (VALUES ${rows.join(",")}) AS r (part, id, was, next_run_at, made_until, error) STRAIGHT_JOIN tasks FORCE INDEX (PRIMARY) ON tasks.part = r.part AND tasks.id = r.id SET tasks.next_run_at = r.next_run_at, tasks.made_until = COALESCE(r.made_until, tasks.made_until), tasks.error = r.error, tasks.status = IF(r.next_run_at IS NULL AND r.error IS NULL, 'completed', 'active') WHERE tasks.next_run_at = r.was`;
}
