/** Makes tasks: one, under an idempotency key if it has one, or many at once. */
import { assert } from "#core/domain/assert.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { BULK_TASKS_MAX } from "#core/domain/limits.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { Creation, TaskQuota } from "#core/ports/task-store.ts";
import { readTaskId } from "./cells.ts";
import { NAME_KEY } from "./edit-task.ts";
import { isDuplicateOf } from "./errors.ts";
import { oncePerKey } from "./once-per-key.ts";
import type { Session } from "./pool.ts";
import { insertTaskSql, insertTasksSql, selectTaskIdsSql } from "./statements/insert-task.ts";
import { insertTaskVersionSql, insertTaskVersionsSql } from "./statements/insert-task-version.ts";
import { countOpenTasksSql, lockTenantSql, selectTakenNamesSql } from "./statements/task-quota.ts";
import type { Database } from "./transaction.ts";

/**
 * Nearer to its quota than this a tenant's tasks are counted under its lock. Farther from it they are not: what others have
 * under way just now, and nobody sees yet, is less.
 */
const COUNTED_LOCKED = 1_000;

const CREATED = { kind: "created" } as const;
const NAME_TAKEN = { kind: "name-taken" } as const;

export async function createTask(
  database: Database,
  created: TaskWithVersion,
  idempotency: Idempotency<TaskWithVersion> | null,
  quota: TaskQuota | null,
): Promise<Creation | Replay> {
  const { task, version } = created;
  assert(version.taskId === task.id, "a task is made with a version of its own");
  try {
    return await database.transaction((session) =>
      oncePerKey<TaskWithVersion, Creation>(session, task.tenantId, idempotency, async () => {
        const refusal = await overQuota(session, task.tenantId, quota);
        if (refusal !== null) return { result: refusal, made: null };
        await session.write(insertTaskSql(task));
        await session.write(insertTaskVersionSql(version));
        return { result: CREATED, made: created };
      }),
    );
  } catch (error) {
    if (isDuplicateOf(error, NAME_KEY)) return NAME_TAKEN;
    throw error;
  }
}

async function overQuota(
  session: Session,
  tenantId: TenantId,
  quota: TaskQuota | null,
): Promise<Creation | null> {
  if (quota === null) return null;
  const used = await countUsed(session, tenantId, quota, 1);
  return used < quota.tasksMax ? null : { kind: "quota", limit: quota.tasksMax, used };
}

/** Under the tenant's lock where the tasks wanted may be its last: then it holds until the transaction ends. */
async function countUsed(
  session: Session,
  tenantId: TenantId,
  { tasksMax }: TaskQuota,
  wanted: number,
): Promise<number> {
  const count = async () => {
    const [row] = await session.select(countOpenTasksSql(tenantId, tasksMax + 1));
    return Number(row?.[0]);
  };
  const used = await count();
  if (used + wanted + COUNTED_LOCKED <= tasksMax) return used;
  await session.write(lockTenantSql(tenantId));
  return count();
}

export function createTasks(
  database: Database,
  created: readonly TaskWithVersion[],
  quota: TaskQuota | null,
): Promise<readonly Creation[]> {
  assert(created.length <= BULK_TASKS_MAX, "a group of tasks is bounded");
  const tenantId = created[0]?.task.tenantId;
  if (tenantId === undefined) return Promise.resolve([]);
  for (const { task, version } of created) {
    assert(task.tenantId === tenantId, "a group of tasks is one tenant's");
    assert(version.taskId === task.id, "a task is made with a version of its own");
  }
  return database.transaction(async (session) => {
    const refused = await refusedByQuota(session, tenantId, created, quota);
    const wanted = created.filter(({ task }) => !refused.has(task.id));
    const made = await insertThoseFree(session, wanted);
    const versions = wanted.filter(({ task }) => made.has(task.id));
    if (versions.length > 0) {
      await session.write(insertTaskVersionsSql(versions.map(({ version }) => version)));
    }
    return created.map(
      ({ task: { id } }) => refused.get(id) ?? (made.has(id) ? CREATED : NAME_TAKEN),
    );
  });
}

/** What has no room; names that are taken take none. */
async function refusedByQuota(
  session: Session,
  tenantId: TenantId,
  created: readonly TaskWithVersion[],
  quota: TaskQuota | null,
): Promise<Map<TaskId, Creation>> {
  const refused = new Map<TaskId, Creation>();
  if (quota === null) return refused;
  const used = await countUsed(session, tenantId, quota, created.length);
  let room = quota.tasksMax - used;
  if (room >= created.length) return refused;
  const names = created.map(({ task }) => task.name);
  const rows = await session.select(selectTakenNamesSql(tenantId, names));
  const taken = new Set(rows.map((row) => row[0] as string));
  for (const { task } of created) {
    if (taken.has(task.name)) continue;
    if (room > 0) {
      room--;
      taken.add(task.name);
    } else refused.set(task.id, { kind: "quota", limit: quota.tasksMax, used });
  }
  return refused;
}

/** Inserts the tasks whose names are free, and tells which those are. */
async function insertThoseFree(
  session: Session,
  created: readonly TaskWithVersion[],
): Promise<Set<TaskId>> {
  if (created.length === 0) return new Set();
  const tasks = created.map(({ task }) => task);
  const ids = tasks.map(({ id }) => id);
  const inserted = await session.write(insertTasksSql(tasks));
  if (inserted === ids.length) return new Set(ids);
  const rows = await session.select(selectTaskIdsSql(ids));
  return new Set(rows.map((row) => readTaskId(row[0])));
}
