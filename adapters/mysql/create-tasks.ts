/** Makes tasks: one or many at once, under an idempotency key if there is one. */
import { assert } from "#core/domain/assert.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { BULK_TASKS_MAX } from "#core/domain/limits.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { CreatedMany, Creation, NewTask, TaskAllowance } from "#core/ports/task-store.ts";
import { cappingEndpoints } from "./cap-endpoints.ts";
import { readTaskId } from "./cells.ts";
import { isDuplicateOf } from "./errors.ts";
import { NAME_KEY, nameTaken } from "./name-taken.ts";
import { oncePerKey } from "./once-per-key.ts";
import type { Session } from "./pool.ts";
import { insertTaskSql, insertTasksSql } from "./statements/insert-task.ts";
import { insertTaskVersionSql, insertTaskVersionsSql } from "./statements/insert-task-version.ts";
import { selectNamesSql } from "./statements/task-quota.ts";
import { upsertTaskSecretsSql } from "./statements/task-secrets.ts";
import { countUsed, overQuota } from "./task-quota.ts";
import type { Database } from "./transaction.ts";

/** How often a group begins anew because one of its names was taken between its read and its write. */
const NAME_RACES_MAX = 5;

const CREATED = { kind: "created" } as const;

export async function createTask(
  database: Database,
  created: NewTask,
  idempotency: Idempotency<TaskWithVersion> | null,
  quota: TaskAllowance | null,
): Promise<Creation | Replay> {
  const { task, version, sealed = [] } = created;
  const { tenantId } = task;
  assert(version.taskId === task.id, "a task is made with a version of its own");
  try {
    return await cappingEndpoints(database, { tenantId, quota }, (session, cap) =>
      oncePerKey<TaskWithVersion, Creation>(session, tenantId, idempotency, async () => {
        const over = await overQuota(session, tenantId, quota);
        if (over !== null) {
          // Under the tenant's lock: whoever has taken the last place has committed the name too.
          const taken = await nameTaken(session, tenantId, task.name);
          return { result: taken.taskId === null ? over : taken, made: null };
        }
        await session.write(insertTaskSql(created));
        await session.write(insertTaskVersionSql(version));
        const owned = sealed.map((secret) => ({ taskId: task.id, secret }));
        if (owned.length > 0) await session.write(upsertTaskSecretsSql(owned));
        await cap([version.request.url]);
        return { result: CREATED, made: created };
      }),
    );
  } catch (error) {
    if (isDuplicateOf(error, NAME_KEY)) return nameTaken(database, tenantId, task.name);
    throw error;
  }
}

export async function createTasks(
  database: Database,
  created: readonly NewTask[],
  idempotency: Idempotency<readonly Creation[]> | null,
  quota: TaskAllowance | null,
): Promise<CreatedMany | Replay> {
  assert(created.length <= BULK_TASKS_MAX, "a group of tasks is bounded");
  const tenantId = created[0]?.task.tenantId;
  if (tenantId === undefined) return { kind: "made", creations: [] };
  for (const { task, version } of created) {
    assert(task.tenantId === tenantId, "a group of tasks is one tenant's");
    assert(version.taskId === task.id, "a task is made with a version of its own");
  }
  for (let tries = 1; ; tries++) {
    try {
      return await cappingEndpoints(database, { tenantId, quota }, (session, cap) =>
        oncePerKey<readonly Creation[], CreatedMany>(session, tenantId, idempotency, async () => {
          const { creations, fresh } = await createGroup(session, tenantId, created, quota);
          await cap(fresh.map(({ version }) => version.request.url));
          const isMade = creations.some(({ kind }) => kind === "created");
          return { result: { kind: "made", creations }, made: isMade ? creations : null };
        }),
      );
    } catch (error) {
      // Somebody has taken one of the names just now: who has which is read again.
      if (!isDuplicateOf(error, NAME_KEY)) throw error;
      if (tries >= NAME_RACES_MAX)
        throw new StoreUnavailable("others take the group's names at the same time", {
          cause: error,
        });
    }
  }
}

async function createGroup(
  session: Session,
  tenantId: TenantId,
  created: readonly NewTask[],
  quota: TaskAllowance | null,
): Promise<{ readonly creations: readonly Creation[]; readonly fresh: readonly NewTask[] }> {
  const used = quota === null ? 0 : await countUsed(session, tenantId, quota, created.length);
  const limit = quota === null ? Number.POSITIVE_INFINITY : quota.tasksMax;
  const names = created.map(({ task }) => task.name);
  const rows = await session.select(selectNamesSql(tenantId, names));
  const owners = new Map(rows.map((row) => [row[0] as string, readTaskId(row[1])]));
  const fresh: NewTask[] = [];
  const creations = created.map((one): Creation => {
    const { id, name } = one.task;
    const owner = owners.get(name);
    if (owner !== undefined) return owner === id ? CREATED : { kind: "name-taken", taskId: owner };
    if (used + fresh.length >= limit) return { kind: "quota", limit, used: used + fresh.length };
    owners.set(name, id);
    fresh.push(one);
    return CREATED;
  });
  if (fresh.length > 0) {
    await session.write(insertTasksSql(fresh));
    await session.write(insertTaskVersionsSql(fresh.map(({ version }) => version)));
    const owned = fresh.flatMap(({ task, sealed = [] }) =>
      sealed.map((secret) => ({ taskId: task.id, secret })),
    );
    if (owned.length > 0) await session.write(upsertTaskSecretsSql(owned));
  }
  return { creations, fresh };
}
