/** What every BacklogStore must do: count what waits, by priority, up to a bound; and tell what is late. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job } from "#core/domain/job.ts";
import { PRIORITIES } from "#core/domain/queue.ts";
import { addTask, dbNow, makeWorker, plannedJob } from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

/** Registers the whole suite of the BacklogStore port for the adapter called `name`. */
export function backlogStoreContract(name: string, open: OpenStore): void {
  describe(`${name}: backlog store`, () => {
    test(
      "an empty shard has no backlog",
      onStore(open, async ({ shard }) => {
        const { priorities, dueSoon, limitsWaiting, liveWorkers } = await shard.backlog.measure(
          10,
          1_000,
          10,
        );
        const none = { due: 0, oldestDueAtMs: null, unmadeSinceMs: null };
        assert.deepEqual(
          [...priorities],
          PRIORITIES.map((priority) => [priority, none]),
        );
        assert.deepEqual([dueSoon, limitsWaiting, liveWorkers], [0, 0, 0]);
      }),
    );

    test(
      "jobs are counted by priority over all its lanes: due, due soon, and under a limit",
      onStore(open, async (store) => {
        const { shard } = store;
        const { task } = await addTask(store);
        const nowMs = await dbNow(store);
        let minute = 0;
        const put = (changes: Partial<Job>) =>
          store.putJob({ ...plannedJob(task, nowMs, -60_000 * ++minute), ...changes });
        await put({ queue: 0, dueAtMs: nowMs - 30_000 });
        await put({ queue: 3, dueAtMs: nowMs - 90_000 });
        await put({ queue: 16, dueAtMs: nowMs + 30_000 });
        await put({ queue: 17, dueAtMs: nowMs + 90_000 });
        await put({ queue: 63, dueAtMs: nowMs - 5_000 });
        await put({ queue: 32, dueAtMs: nowMs - 5_000, status: "running", workerId: makeWorker() });
        await put({ queue: 33, dueAtMs: nowMs - 5_000, status: "waiting" });
        await put({ queue: 1, dueAtMs: nowMs - 4_000, status: "waiting" });
        await put({ queue: 34, dueAtMs: nowMs + 5_000, status: "waiting" });
        const { priorities, dueSoon, limitsWaiting } = await shard.backlog.measure(
          100,
          60_000,
          100,
        );
        assert.deepEqual(
          [...priorities],
          [
            ["critical", { due: 2, oldestDueAtMs: nowMs - 90_000, unmadeSinceMs: null }],
            ["high", { due: 0, oldestDueAtMs: null, unmadeSinceMs: null }],
            ["normal", { due: 0, oldestDueAtMs: null, unmadeSinceMs: null }],
            ["low", { due: 1, oldestDueAtMs: nowMs - 5_000, unmadeSinceMs: null }],
          ],
        );
        assert.deepEqual([dueSoon, limitsWaiting], [4, 2]);
        const bounded = await shard.backlog.measure(1, 60_000, 3);
        assert.equal(bounded.priorities.get("critical")?.due, 1);
        assert.deepEqual([bounded.dueSoon, bounded.limitsWaiting], [3, 1]);
      }),
    );

    test(
      "a run that is due and not made is told by priority, of active tasks only",
      onStore(open, async (store) => {
        const { shard } = store;
        const nowMs = await dbNow(store);
        for (const task of [
          { priority: "high", nextRunAtMs: nowMs - 7_000 },
          { priority: "high", nextRunAtMs: nowMs - 2_000 },
          { priority: "low", nextRunAtMs: nowMs + 60_000 },
          { priority: "normal", nextRunAtMs: nowMs - 9_000, status: "paused" },
        ] as const)
          await addTask(store, { task });
        const { priorities } = await shard.backlog.measure(10, 60_000, 10);
        const unmade = [...priorities].map(([priority, of]) => [priority, of.unmadeSinceMs]);
        assert.deepEqual(unmade, [
          ["critical", null],
          ["high", nowMs - 7_000],
          ["normal", null],
          ["low", null],
        ]);
      }),
    );

    test(
      "executors with a live lease are counted",
      onStore(open, async ({ shard }) => {
        await shard.workers.register(makeWorker(), 60_000);
        await shard.workers.register(makeWorker(), 60_000);
        await shard.workers.register(makeWorker(), -5_000);
        assert.equal((await shard.backlog.measure(10, 0, 10)).liveWorkers, 2);
      }),
    );
  });
}
