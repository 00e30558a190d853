/** Make and take: critical tasks become jobs in a worker's hands, in one transaction. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeScheduledJob } from "#core/domain/make-job.ts";
import type { Task } from "#core/domain/task.ts";
import type { DueTasks, MaterializePlan } from "#core/ports/task-store.ts";
import { addJobs, addTask, addWorker, dbNow, HOUR_MS, makeWorker, readJob } from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

function planAll({ nowMs, due }: DueTasks): MaterializePlan {
  return {
    jobs: due.map((task) => makeScheduledJob(task, "schedule", task.nextRunAtMs ?? 0, nowMs)),
    advances: due.map((task) => ({
      taskId: task.id,
      nextRunAtMs: nowMs + HOUR_MS,
      madeUntilMs: task.nextRunAtMs,
      error: null,
    })),
  };
}

async function addDue(store: ContractStore, inMs: number, more: Partial<Task> = {}): Promise<Task> {
  const nextRunAtMs = (await dbNow(store)) + inMs;
  const { task } = await addTask(store, { task: { priority: "critical", nextRunAtMs, ...more } });
  return task;
}

export function takeContract(open: OpenStore): void {
  test(
    "critical tasks that are due are running jobs of the worker, and move on; all others stay (1, 4)",
    onStore(open, async (store) => {
      const due = await addDue(store, 1_000);
      const late = await addDue(store, -30_000);
      const others = [
        await addDue(store, 20_000),
        await addDue(store, -90_000),
        await addDue(store, 0, { priority: "high" }),
        await addDue(store, 0, { status: "paused" }),
      ];
      const workerId = await addWorker(store);
      const queues = [{ queue: 0, floorMs: null }];
      const poll = { workerId, queues, revocationsWithinMs: 30_000 };
      assert.equal((await store.shard.jobs.poll(poll)).criticalTask, true);
      const taken = await store.shard.jobs.takeCritical({ workerId, tasksMax: 10 }, planAll);
      assert(taken.kind === "claimed");
      assert.deepEqual(taken.jobs.map(({ taskId }) => taskId).sort(), [due.id, late.id].sort());
      for (const held of taken.jobs) {
        const row = await readJob(store, held);
        assert.deepEqual(
          [row.status, row.workerId, row.claimNo, row.attempt],
          ["running", workerId, 1, 1],
        );
        assert.deepEqual([held.claimNo, held.attempt, held.dueAtMs], [1, 1, row.dueAtMs]);
        const task = await store.shard.tasks.find(held.tenantId, held.taskId);
        assert.equal(task?.task.nextRunAtMs, taken.claimedAtMs + HOUR_MS);
      }
      for (const { id, tenantId, nextRunAtMs } of others)
        assert.equal((await store.shard.tasks.find(tenantId, id))?.task.nextRunAtMs, nextRunAtMs);
      assert.equal((await store.shard.jobs.poll(poll)).criticalTask, false);
      const again = await store.shard.jobs.takeCritical({ workerId, tasksMax: 10 }, planAll);
      assert(again.kind === "claimed" && again.jobs.length === 0);
      assert.equal((await store.shard.jobs.adopt({ workerId, ...taken })).jobs.length, 2);
    }),
  );

  test(
    "a job that is there is taken when it is pending, and left when it is anything else",
    onStore(open, async (store) => {
      const pending = await addDue(store, -1_000);
      const ended = await addDue(store, -1_000);
      const rows = [pending, ended].map((task) =>
        makeScheduledJob(task, "schedule", task.nextRunAtMs ?? 0, task.nextRunAtMs ?? 0),
      );
      for (const [i, task] of [pending, ended].entries())
        await addJobs(store, task, rows.slice(i, i + 1));
      const [, done] = rows;
      assert(done !== undefined);
      await store.putJob({ ...done, status: "succeeded", claimNo: 1, attempt: 1 });
      const workerId = await addWorker(store);
      const taken = await store.shard.jobs.takeCritical({ workerId, tasksMax: 10 }, planAll);
      assert(taken.kind === "claimed");
      assert.deepEqual(
        taken.jobs.map(({ taskId }) => taskId),
        [pending.id],
      );
      assert.equal((await readJob(store, done)).status, "succeeded");
    }),
  );

  test(
    "a task moves on though its plan has no job",
    onStore(open, async (store) => {
      const task = await addDue(store, 0);
      const workerId = await addWorker(store);
      const skip = (due: DueTasks) => ({ ...planAll(due), jobs: [] });
      const taken = await store.shard.jobs.takeCritical({ workerId, tasksMax: 10 }, skip);
      assert(taken.kind === "claimed" && taken.jobs.length === 0);
      const found = await store.shard.tasks.find(task.tenantId, task.id);
      assert.equal(found?.task.nextRunAtMs, taken.claimedAtMs + HOUR_MS);
    }),
  );

  test(
    "a fenced worker makes nothing",
    onStore(open, async (store) => {
      const task = await addDue(store, 0);
      const never = () => assert.fail("plan was called");
      const request = { workerId: makeWorker(), tasksMax: 10 };
      assert.deepEqual(await store.shard.jobs.takeCritical(request, never), { kind: "fenced" });
      const found = await store.shard.tasks.find(task.tenantId, task.id);
      assert.equal(found?.task.nextRunAtMs, task.nextRunAtMs);
    }),
  );
}
