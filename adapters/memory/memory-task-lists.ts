import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { Task } from "#core/domain/task.ts";
import type { TaskFilter } from "#core/ports/task-store.ts";
import type { MemoryTables } from "./memory-tables.ts";

/** A tenant's live tasks below `before` that the filter lets through, newest first. */
export function tasksListed(
  tables: MemoryTables,
  tenantId: TenantId,
  { status, priority, tag }: TaskFilter,
  before: TaskId | null,
): Task[] {
  const tasks = [...tables.tasks.values()].filter(
    (task) =>
      task.tenantId === tenantId &&
      task.status !== "deleted" &&
      (before === null || task.id < before) &&
      (status === null || task.status === status) &&
      (priority === null || task.priority === priority) &&
      (tag === null || task.tags.includes(tag)),
  );
  return tasks.sort((a, b) => (a.id > b.id ? -1 : 1));
}
