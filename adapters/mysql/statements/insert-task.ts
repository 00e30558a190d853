import { partitionOfTask } from "#core/domain/ids.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import { integer, taskId, text } from "../literals.ts";
import { endpointOfTask, taskValues } from "./update-task.ts";

/** Columns and a row's values, the key first. */
function row({ task, version }: TaskWithVersion): {
  readonly columns: string;
  readonly values: string;
} {
  const cells = [
    ["part", integer(partitionOfTask(task.id))],
    ["id", taskId(task.id)],
    ["tenant_id", text(task.tenantId)],
    ...taskValues(task),
    ["endpoint_key", text(endpointOfTask(task, version))],
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
export function insertTaskSql(made: TaskWithVersion): string {
  const { columns, values } = row(made);
  return `INSERT INTO tasks (${columns}) VALUES ${values}`;
}

/**
 * Inserts tasks of one tenant; the names were free a moment ago. Never ON DUPLICATE KEY: that locks the row behind a name that is
 * taken after all, in the opposite order of an edit of it (a deadlock, met in test/integration/contention.test.ts).
 *
 * Index: primary key, and the unique tenant_live_name: a duplicate of it (1062) is a name that is taken. Rows come in the order of
 *   their names: two groups that share some wait for each other, not crosswise.
 * Locks: the new rows (X).
 * Isolation: READ COMMITTED.
 * Result: the number of rows sent.
 */
export function insertTasksSql(made: readonly TaskWithVersion[]): string {
  const rows = [...made].sort((a, b) => (a.task.name < b.task.name ? -1 : 1)).map(row);
  return `INSERT INTO tasks (${rows[0]?.columns}) VALUES ${rows.map(({ values }) => values).join(", ")}`;
}
