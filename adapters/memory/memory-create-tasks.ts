/** Makes tasks in memory, each for itself: one or many at once, under an idempotency key if there is one. */
import { assert } from "#core/domain/assert.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { isCounted } from "#core/domain/quotas.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type {
  CreatedMany,
  Creation,
  NewTask,
  OverQuota,
  TaskAllowance,
} from "#core/ports/task-store.ts";
import { oncePerKey } from "./memory-once-per-key.ts";
import { capEndpoints } from "./memory-put-limit.ts";
import type { MemoryTables } from "./memory-tables.ts";

export function createTask(
  tables: MemoryTables,
  created: NewTask,
  idempotency: Idempotency<TaskWithVersion> | null,
  quota: TaskAllowance | null,
): Promise<Creation | Replay> {
  const { tenantId } = created.task;
  return tables.transact("create", (nowMs) =>
    oncePerKey<TaskWithVersion, Creation>(tables, tenantId, idempotency, nowMs, () => {
      const [result] = createGroup(tables, [created], quota, nowMs);
      assert(result !== undefined, "a task that is to be made has a result");
      return { result, made: result.kind === "created" ? created : null };
    }),
  );
}

export function createTasks(
  tables: MemoryTables,
  created: readonly NewTask[],
  idempotency: Idempotency<readonly Creation[]> | null,
  quota: TaskAllowance | null,
): Promise<CreatedMany | Replay> {
  const tenantId = created[0]?.task.tenantId;
  if (tenantId === undefined) return Promise.resolve({ kind: "made", creations: [] });
  return tables.transact("createMany", (nowMs) =>
    oncePerKey<readonly Creation[], CreatedMany>(tables, tenantId, idempotency, nowMs, () => {
      const creations = createGroup(tables, created, quota, nowMs);
      const isMade = creations.some(({ kind }) => kind === "created");
      return { result: { kind: "made", creations }, made: isMade ? creations : null };
    }),
  );
}

function createGroup(
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
