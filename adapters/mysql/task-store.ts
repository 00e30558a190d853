/** Tasks of one shard. */
import { assert } from "#core/domain/assert.ts";
import type { TaskStore } from "#core/ports/task-store.ts";
import { readTaskId } from "./cells.ts";
import { createTask, createTasks } from "./create-tasks.ts";
import { EDIT_WALK, editTask } from "./edit-task.ts";
import { GROUP_WALK, goOnWithJobs, listUnfinished } from "./go-on-with-jobs.ts";
import { loadCallParts } from "./load-call-parts.ts";
import { materializeDue } from "./materialize-due.ts";
import { findAnswer } from "./once-per-key.ts";
import { pruneRows, purgeTasks } from "./purge-tasks.ts";
import { runNow, runTest } from "./run-now.ts";
import { listTasksSql, selectTasksDownToSql } from "./statements/list-tasks.ts";
import { lookAheadSql } from "./statements/look-ahead.ts";
import {
  selectTaskByNameSql,
  selectTaskExistsSql,
  selectTaskSql,
} from "./statements/select-task.ts";
import { selectVersionsSql } from "./statements/select-versions.ts";
import { readDueAhead, readTaskWithVersion, readVersion } from "./task-rows.ts";
import type { Database } from "./transaction.ts";
import type { WalkBounds } from "./walk-jobs.ts";

/** `walks`: how many jobs a change of their task reaches in one transaction; tests choose fewer. */
export function taskStore(
  database: Database,
  walks: { readonly edit: WalkBounds; readonly group: WalkBounds } = {
    edit: EDIT_WALK,
    group: GROUP_WALK,
  },
): TaskStore {
  return {
    create: (created, idempotency = null, quota = null) =>
      createTask(database, created, idempotency, quota),
    createMany: (created, idempotency = null, quota = null) =>
      createTasks(database, created, idempotency, quota),
    async find(tenantId, taskId) {
      const [row] = await database.select(selectTaskSql(tenantId, taskId, "none"));
      return row === undefined ? null : readTaskWithVersion(row);
    },
    async findByName(tenantId, name) {
      const [row] = await database.select(selectTaskByNameSql(tenantId, name));
      return row === undefined ? null : readTaskWithVersion(row);
    },
    async exists(tenantId, taskId) {
      return (await database.select(selectTaskExistsSql(tenantId, taskId))).length > 0;
    },
    async list(tenantId, filter, before, limit, downTo = null) {
      const rows = await database.select(listTasksSql(tenantId, filter, before, limit, downTo));
      return rows.map(readTaskWithVersion);
    },
    async findListedDownTo(tenantId, filter, before, rows) {
      const [row] = await database.select(selectTasksDownToSql(tenantId, filter, before, rows));
      return row === undefined ? null : readTaskId(row[0]);
    },
    edit: (tenantId, taskId, decide, retention, quota = null) =>
      editTask(database, { tenantId, taskId, quota }, decide, retention, walks.edit),
    listUnfinished: (limit) => listUnfinished(database, limit),
    goOnWithJobs: (tenantId, taskId, change, retention) =>
      goOnWithJobs(database, { tenantId, taskId }, change, retention, walks.group),
    runNow: (tenantId, taskId, make, idempotency = null) =>
      runNow(database, tenantId, taskId, make, idempotency),
    runTest: (tenantId, taskId, make, limit) => runTest(database, tenantId, taskId, make, limit),
    materialize: (bounds, plan) => materializeDue(database, bounds, plan),
    async lookAhead(afterMs, untilMs, depth) {
      const [row] = await database.select(lookAheadSql(afterMs, untilMs, depth));
      assert(row !== undefined, "a look ahead answers one row");
      return readDueAhead(row);
    },
    purgeEnded: (limit, olderThanMs) => purgeTasks(database, limit, olderThanMs),
    findAnswer: (tenantId, request) => findAnswer(database, tenantId, request),
    pruneUnread: (limit) => pruneRows(database, limit),
    loadCallParts: (request) => loadCallParts(database, request),
    async loadVersions(keys, bodies) {
      if (keys.length === 0) return [];
      return (await database.select(selectVersionsSql(keys, bodies))).map(readVersion);
    },
  };
}
