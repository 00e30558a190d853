/** Makes tasks in memory, each for itself. */
import { assert } from "#core/domain/assert.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { Task } from "#core/domain/task.ts";
import type { Creation, NewTask, TaskQuota } from "#core/ports/task-store.ts";
import type { MemoryTables } from "./memory-tables.ts";

export const NAME_TAKEN: Creation = { kind: "name-taken" };

export function createTasks(
  tables: MemoryTables,
  created: readonly NewTask[],
  quota: TaskQuota | null,
): Creation[] {
  const limit = quota?.tasksMax ?? Number.POSITIVE_INFINITY;
  const tenantId = created[0]?.task.tenantId;
  const open = [...tables.tasks.values()].filter(
    (task) => task.tenantId === tenantId && (task.status === "active" || task.status === "paused"),
  );
  // Counted no further than one beyond the limit.
  let used = Math.min(open.length, limit + 1);
  return created.map(({ task, version, sealed = [] }): Creation => {
    assert(task.tenantId === tenantId, "a group of tasks is one tenant's");
    const there = liveTaskNamed(tables, task.tenantId, task.name);
    if (there?.id === task.id) return { kind: "created" };
    if (there !== undefined) return NAME_TAKEN;
    if (used >= limit) return { kind: "quota", limit, used };
    assert(!tables.tasks.has(task.id), "a task id is fresh");
    used++;
    tables.tasks.set(task.id, task);
    tables.addVersion(version);
    tables.changeSecrets(task.id, { set: sealed, remove: [] });
    return { kind: "created" };
  });
}

export function liveTaskNamed(
  tables: MemoryTables,
  tenantId: TenantId,
  name: string,
): Task | undefined {
  return [...tables.tasks.values()].find(
    (task) => task.tenantId === tenantId && task.name === name && task.status !== "deleted",
  );
}
