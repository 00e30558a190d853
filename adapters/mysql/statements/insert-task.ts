import { partitionOfTask, type TaskId } from "#core/domain/ids.ts";
import type { Task } from "#core/domain/task.ts";
import { integer, taskId, taskKey, text } from "../literals.ts";
import { taskValues } from "./update-task.ts";

/** Columns and a row's values, the key first. */
function row(task: Task): { readonly columns: string; readonly values: string } {
  const cells = [
    ["part", integer(partitionOfTask(task.id))],
    ["id", taskId(task.id)],
    ["tenant_id", text(task.tenantId)],
    ...taskValues(task),
  ] as const;
  const columns = cells.map(([column]) => column).join(", ");
  return { columns, values: `(${cells.map(([, literal]) => literal).join(", ")})` };
}

/**
 * Inserts a task.
 *
 * Index: primary key, and the unique tenant_live_name: a duplicate of it (1062) is a name that is taken.
 * Locks: the new row (X).
 * Isolation: READ COMMITTED.
 * Result: 1.
 */
export function insertTaskSql(task: Task): string {
  const { columns, values } = row(task);
  return `INSERT INTO tasks (${columns}) VALUES ${values}`;
}

/**
 * Inserts tasks of one tenant; one whose name is taken is left out, within the group all but the first of a name.
 *
 * Index: primary key, and the unique tenant_live_name. Rows come in the order of their names: two groups that share some wait for
 *   each other, not crosswise.
 * Locks: the new rows (X); of a name that is taken, the row that has it (X).
 * Isolation: READ COMMITTED.
 * Result: the number of rows that are new.
 */
export function insertTasksSql(tasks: readonly Task[]): string {
  // Sorting is stable: of one name the first stays the first.
  const rows = [...tasks].sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))).map(row);
  return `INSERT INTO tasks (${rows[0]?.columns}) VALUES ${rows.map(({ values }) => values).join(", ")} ON DUPLICATE KEY UPDATE tasks.id = tasks.id`;
}

/** Index: primary key, driven by the group. Locks: none. Isolation: READ COMMITTED. Result: ids that exist. */
export function selectTaskIdsSql(ids: readonly TaskId[]): string {
  const rows = ids.map(taskKey).map(({ part, id }) => `ROW(${part},${id})`);
  return `SELECT t.id FROM (VALUES ${rows.join(",")}) AS r (part, id) STRAIGHT_JOIN tasks AS t FORCE INDEX (PRIMARY) ON t.part = r.part AND t.id = r.id`;
}
