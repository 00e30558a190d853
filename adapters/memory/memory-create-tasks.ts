/** Makes tasks in memory, each for itself. */
import { assert } from "#core/domain/assert.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { isCounted } from "#core/domain/quotas.ts";
import type { Task } from "#core/domain/task.ts";
import type { Creation, NewTask, OverQuota, TaskAllowance } from "#core/ports/task-store.ts";
import { capEndpoints } from "./memory-put-limit.ts";
import type { MemoryTables } from "./memory-tables.ts";

export function createTasks(
  tables: MemoryTables,
  created: readonly NewTask[],
  quota: TaskAllowance | null,
  nowMs: number,
): Creation[] {
  const limit = quota?.tasksMax ?? Number.POSITIVE_INFINITY;
  const tenantId = created[0]?.task.tenantId;
  let used = countUsed(tables, tenantId, limit);
  return created.map(({ task, version, sealed = [] }): Creation => {
    assert(task.tenantId === tenantId, "a group of tasks is one tenant's");
    const there = liveTaskNamed(tables, task.tenantId, task.name);
    if (there?.id === task.id) return { kind: "created" };
    if (there !== undefined) return { kind: "name-taken", taskId: there.id };
    if (used >= limit) return { kind: "quota", limit, used };
    assert(!tables.tasks.has(task.id), "a task id is fresh");
    used++;
    tables.tasks.set(task.id, task);
    tables.addVersion(version);
    tables.changeSecrets(task.id, { set: sealed, remove: [] });
    capEndpoints(tables, task.tenantId, [version.request.url], quota, nowMs);
    return { kind: "created" };
  });
}

/** The refusal of one task more; null where there is room. */
export function overQuota(
  tables: MemoryTables,
  tenantId: TenantId,
  quota: TaskAllowance | null,
): OverQuota | null {
  const limit = quota?.tasksMax ?? Number.POSITIVE_INFINITY;
  const used = countUsed(tables, tenantId, limit);
  return used < limit ? null : { kind: "quota", limit, used };
}

/** Counted no further than one beyond the limit. */
function countUsed(tables: MemoryTables, tenantId: TenantId | undefined, limit: number): number {
  const counted = [...tables.tasks.values()].filter(
    (task) => task.tenantId === tenantId && isCounted(task.status),
  );
  return Math.min(counted.length, limit + 1);
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
