/** Test calls: jobs like those of runNow, of a tenant no more than its limit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeManualJob } from "#core/domain/make-job.ts";
import type { Task } from "#core/domain/task.ts";
import { addTask, dbNow, makeTenant, readJob, removeTask } from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const LIMIT = { callsMax: 3, windowMs: 60_000 };

export function testCallsContract(open: OpenStore): void {
  test(
    "a test is a job of its own; beyond the limit there is none, and the wait is told",
    onStore(open, async (store) => {
      const { task } = await addTask(store, { task: { status: "paused" } });
      const beforeMs = await dbNow(store);
      for (let run = 1; run <= LIMIT.callsMax; run++) {
        const made = await runTest(store, task, run);
        assert(made.kind === "made");
        assert.equal(made.job.trigger, "test");
        assert.deepEqual(await readJob(store, made.job), made.job);
      }
      const refused = await runTest(store, task, 9);
      assert(refused.kind === "limited");
      const goneMs = (await dbNow(store)) - beforeMs;
      assert(refused.retryAfterMs <= LIMIT.windowMs);
      assert(refused.retryAfterMs >= LIMIT.windowMs - goneMs);
      const { tenantId, id } = task;
      const found = await store.shard.tasks.find(tenantId, id);
      assert.deepEqual(found?.task, task, "the schedule has not moved");
      const other = await addTask(store);
      assert.equal((await runTest(store, other.task, 1)).kind, "made", "each tenant has its own");
    }),
  );

  test(
    "whoever asks at the same time, the limit holds exactly",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const { task: second } = await addTask(store, { task: { tenantId: task.tenantId } });
      const asked = Array.from({ length: 12 }, (_, run) =>
        runTest(store, run % 2 === 0 ? task : second, run + 1),
      );
      const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
      assert.deepEqual(kinds.filter((kind) => kind === "made").length, LIMIT.callsMax);
      assert.deepEqual(kinds.filter((kind) => kind === "limited").length, 12 - LIMIT.callsMax);
    }),
  );

  test(
    "past the window there is room again; what is not found does not count",
    onStore(open, async (store) => {
      const { task } = await addTask(store, { task: { status: "completed", nextRunAtMs: null } });
      const { task: gone } = await addTask(store, { task: { tenantId: task.tenantId } });
      await removeTask(store, gone);
      for (let run = 1; run <= LIMIT.callsMax + 1; run++)
        assert.deepEqual(await runTest(store, gone, run), { kind: "not-found" });
      assert.equal(
        (await runTest(store, { ...task, tenantId: makeTenant() }, 1)).kind,
        "not-found",
      );
      const brief = { callsMax: 2, windowMs: 50 };
      for (let run = 1; run <= 6; run++) {
        assert.equal((await runTest(store, task, run, brief)).kind, "made");
        const madeByMs = await dbNow(store);
        if (run % 2 === 0) while ((await dbNow(store)) < madeByMs + brief.windowMs);
      }
    }),
  );
}

function runTest(store: ContractStore, task: Task, run: number, limit = LIMIT) {
  return store.shard.tasks.runTest(
    task.tenantId,
    task.id,
    (locked, nowMs) => makeManualJob(locked, "test", nowMs, run, null),
    limit,
  );
}
