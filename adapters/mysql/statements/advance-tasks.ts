import type { TaskAdvance } from "#core/ports/task-store.ts";
import { type GroupColumn, groupColumn, splitColumns } from "../group-columns.ts";
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
  const { expressions, names, row } = splitColumns(COLUMNS, advances);
  const [was, nextRunAt, madeUntil, error] = expressions;
  const rows = advances
    .map((advance) => ({ advance, ...taskKey(advance.taskId) }))
    .sort((a, b) => a.part - b.part || (a.id < b.id ? -1 : 1))
    .map(({ advance, part, id }) => {
      const rest = row(advance);
      return rest === "" ? `ROW(${part},${id})` : `ROW(${part},${id},${rest})`;
    });
  return `UPDATE (VALUES ${rows.join(",")}) AS r (${names("part, id")}) STRAIGHT_JOIN tasks FORCE INDEX (PRIMARY) ON tasks.part = r.part AND tasks.id = r.id SET tasks.next_run_at = ${nextRunAt}, tasks.made_until = COALESCE(${madeUntil}, tasks.made_until), tasks.error = ${error}, tasks.status = IF(${nextRunAt} IS NULL AND ${error} IS NULL, 'completed', 'active') WHERE tasks.next_run_at = ${was}`;
}

const COLUMNS: readonly GroupColumn<GuardedAdvance>[] = [
  groupColumn("was", (advance) => advance.wasNextRunAtMs, instant),
  groupColumn("next_run_at", (advance) => advance.nextRunAtMs, instant),
  groupColumn("made_until", (advance) => advance.madeUntilMs, instant),
  groupColumn("error", (advance) => advance.error, text),
];
