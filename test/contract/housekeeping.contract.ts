/** What is removed at last: tasks that ended long ago, and rows that nobody reads any more. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeManualJob } from "#core/domain/make-job.ts";
import type { Task } from "#core/domain/task.ts";
import { addTask, dbNow, HOUR_MS, plannedJob, removeTask } from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const KEPT_MS = 10 * HOUR_MS;

export function housekeepingContract(open: OpenStore): void {
  test(
    "tasks that ended long ago are purged with their versions, the oldest first, up to the limit",
    onStore(open, async (store) => {
      const nowMs = await dbNow(store);
      const longAgo = { updatedAtMs: nowMs - KEPT_MS - 60_000 };
      const oldest = await add(store, { status: "deleted", updatedAtMs: nowMs - 2 * KEPT_MS });
      const old = await add(store, { status: "completed", ...longAgo });
      const others = [
        await add(store, { status: "active", ...longAgo }),
        await add(store, { status: "paused", ...longAgo }),
        await add(store, { status: "completed", ...longAgo, madeUntilMs: nowMs - HOUR_MS }),
        await add(store, { status: "completed" }),
        await add(store, { status: "deleted" }),
      ];
      assert.equal(await store.shard.tasks.purgeEnded(1, KEPT_MS), 1);
      assert.deepEqual(await there(store, [oldest, old, ...others]), [old, ...others]);
      assert.equal(await store.shard.tasks.purgeEnded(50, KEPT_MS), 1);
      assert.equal(await store.shard.tasks.purgeEnded(50, KEPT_MS), 0);
      assert.deepEqual(await there(store, [old, ...others]), others);
      const versions = await store.shard.tasks.loadVersions(
        [oldest, old, ...others].map(({ id }) => ({ taskId: id, requestVersion: 1 })),
      );
      const expected = others.map(({ id }) => id).sort();
      assert.deepEqual(versions.map(({ taskId }) => taskId).sort(), expected);
    }),
  );

  test(
    "a task that has jobs is never purged, and does not keep others from it",
    onStore(open, async (store) => {
      const nowMs = await dbNow(store);
      const deleted = await add(store, { updatedAtMs: nowMs - 3 * KEPT_MS });
      const job = plannedJob(deleted, nowMs, -3 * KEPT_MS);
      await removeTask(store, deleted);
      const busy = await add(store, { status: "completed", updatedAtMs: nowMs - 2 * KEPT_MS });
      await store.putJob({ ...plannedJob(busy, nowMs, -2 * KEPT_MS), status: "dead" });
      await store.putJob({ ...job, status: "cancelled" });
      const idle = await add(store, { status: "deleted", updatedAtMs: nowMs - KEPT_MS - 1_000 });
      assert.equal(await store.shard.tasks.purgeEnded(1, KEPT_MS), 1);
      assert.deepEqual(await there(store, [deleted, busy, idle]), [deleted, busy]);
    }),
  );

  test(
    "a completed task is kept from its last run by hand on",
    onStore(open, async (store) => {
      const nowMs = await dbNow(store);
      const task = await add(store, { status: "completed", updatedAtMs: nowMs - 2 * KEPT_MS });
      const ran = await store.shard.tasks.runNow(task.tenantId, task.id, (current, atMs) =>
        makeManualJob(current, "manual", atMs, 7, null),
      );
      assert(ran.kind === "made");
      const ended = { ...ran.job, status: "succeeded", dueAtMs: nowMs - 1 } as const;
      await store.putJob(ended);
      assert.equal(await store.shard.jobs.deleteArchived([ended]), 1);
      assert.equal(await store.shard.tasks.purgeEnded(50, KEPT_MS), 0);
      assert.equal(await store.shard.tasks.purgeEnded(50, -60_000), 1);
    }),
  );

  test(
    "nothing is pruned of a store in which nothing is old",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      await removeTask(store, task);
      assert.equal(await store.shard.tasks.pruneUnread(50), 0);
      assert.equal((await store.shard.jobs.listRevocations(60_000)).length, 1);
    }),
  );
}

async function add(store: ContractStore, changes: Partial<Task>): Promise<Task> {
  return (await addTask(store, { task: { nextRunAtMs: null, ...changes } })).task;
}

async function there(store: ContractStore, tasks: readonly Task[]): Promise<Task[]> {
  const found = await Promise.all(
    tasks.map(({ tenantId, id }) => store.shard.tasks.exists(tenantId, id)),
  );
  return tasks.filter((_, n) => found[n]);
}
