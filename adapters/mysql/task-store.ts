/** Tasks of one shard. */
import { assert } from "#core/domain/assert.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import type { TaskStore } from "#core/ports/task-store.ts";
import { readInstant } from "./cells.ts";
import { editTask, NAME_KEY } from "./edit-task.ts";
import { isDuplicateOf } from "./errors.ts";
import { materializeDue } from "./materialize-due.ts";
import { selectClockSql } from "./statements/edit-jobs.ts";
import { insertJobsSql } from "./statements/insert-jobs.ts";
import { insertTaskSql } from "./statements/insert-task.ts";
import { insertTaskVersionSql } from "./statements/insert-task-version.ts";
import { listTasksSql } from "./statements/list-tasks.ts";
import { selectTaskExistsSql, selectTaskSql } from "./statements/select-task.ts";
import { selectVersionsSql } from "./statements/select-versions.ts";
import { readTaskWithVersion, readVersion } from "./task-rows.ts";
import type { Database } from "./transaction.ts";

/** Run numbers are random, of 65,535: more misses than this in one millisecond means a bug. */
const FRESH_IDS_MAX = 10;

export function taskStore(database: Database): TaskStore {
  return {
    create: (created) => createTask(database, created),
    async find(tenantId, taskId) {
      const [row] = await database.select(selectTaskSql(tenantId, taskId, "none"));
      return row === undefined ? null : readTaskWithVersion(row);
    },
    async exists(tenantId, taskId) {
      return (await database.select(selectTaskExistsSql(tenantId, taskId))).length > 0;
    },
    async list(tenantId, filter, before, limit) {
      const rows = await database.select(listTasksSql(tenantId, filter, before, limit));
      return rows.map(readTaskWithVersion);
    },
    edit: (tenantId, taskId, decide, retention) =>
      editTask(database, { tenantId, taskId }, decide, retention),
    runNow: (tenantId, taskId, make) => runNow(database, tenantId, taskId, make),
    materialize: (bounds, plan) => materializeDue(database, bounds, plan),
    async loadVersions(keys) {
      if (keys.length === 0) return [];
      return (await database.select(selectVersionsSql(keys))).map(readVersion);
    },
  };
}

async function createTask(
  database: Database,
  { task, version }: TaskWithVersion,
): Promise<{ readonly kind: "created" } | { readonly kind: "name-taken" }> {
  assert(version.taskId === task.id, "a task is made with a version of its own");
  try {
    return await database.transaction(async (session) => {
      await session.write(insertTaskSql(task));
      await session.write(insertTaskVersionSql(version));
      return { kind: "created" };
    });
  } catch (error) {
    if (isDuplicateOf(error, NAME_KEY)) return { kind: "name-taken" };
    throw error;
  }
}

/** The lock is shared: runs by hand do not wait for each other, while an edit, a pause and a delete wait for them. */
function runNow(
  database: Database,
  tenantId: TenantId,
  taskId: TaskId,
  make: (task: Task, nowMs: number) => Job,
): ReturnType<TaskStore["runNow"]> {
  return database.transaction(async (session) => {
    const [row] = await session.select(selectTaskSql(tenantId, taskId, "share"));
    if (row === undefined) return { kind: "not-found" };
    const { task } = readTaskWithVersion(row);
    const [clock] = await session.select(selectClockSql());
    for (let tries = 0; tries < FRESH_IDS_MAX; tries++) {
      const job = make(task, readInstant(clock?.[0]));
      if ((await session.write(insertJobsSql([job]))) === 1) return { kind: "made", job };
    }
    throw new Error("no free run number was found (indicates a bug)");
  });
}
