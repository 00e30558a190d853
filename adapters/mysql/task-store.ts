/** Tasks of one shard. */
import { assert } from "#core/domain/assert.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import type { TaskStore } from "#core/ports/task-store.ts";
import { editTask, NAME_KEY } from "./edit-task.ts";
import { isDuplicateOf } from "./errors.ts";
import { materializeDue } from "./materialize-due.ts";
import { pruneRows, purgeTasks } from "./purge-tasks.ts";
import { runNow } from "./run-now.ts";
import { insertTaskSql } from "./statements/insert-task.ts";
import { insertTaskVersionSql } from "./statements/insert-task-version.ts";
import { listTasksSql } from "./statements/list-tasks.ts";
import { selectTaskExistsSql, selectTaskSql } from "./statements/select-task.ts";
import { selectVersionsSql } from "./statements/select-versions.ts";
import { readTaskWithVersion, readVersion } from "./task-rows.ts";
import type { Database } from "./transaction.ts";

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
    purge: (limit, olderThanMs) => purgeTasks(database, limit, olderThanMs),
    prune: (limit) => pruneRows(database, limit),
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
