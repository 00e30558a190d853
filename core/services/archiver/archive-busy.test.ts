/** One task's partition in history is busy: what it has taken of that task is deleted, and no other task's jobs wait for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { JobId, TaskId } from "#core/domain/ids.ts";
import { ARCHIVE_COPY_MAX, ARCHIVE_READ_MAX } from "#core/domain/limits.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import { buildTask } from "#test/contract/builders.ts";
import { openWorld, withMonotonic } from "#test/support/archiver-world.ts";
import { archiveJobs } from "./archive-jobs.ts";

const FOR_EVER = Number.POSITIVE_INFINITY;

/** History whose partition of one task takes so many of one write, and then is busy; `onBusy` hears of that. */
function throttled(
  history: Pick<HistoryStore, "write">,
  hot: TaskId,
  takes: number,
  onBusy: () => void = () => {},
): Pick<HistoryStore, "write"> {
  return {
    async write(entries, onDurable) {
      let left = takes;
      const taken = entries.filter(({ job }) => job.taskId !== hot || left-- > 0);
      await history.write(taken);
      for (const entry of taken) onDurable?.(entry);
      if (taken.length === entries.length) return;
      onBusy();
      throw new StoreUnavailable("busy");
    },
  };
}

test("what history took of a group goes when the rest failed, and nothing else does; the others are moved", async () => {
  const { deps, task, said, add, archived } = openWorld();
  const other = buildTask(0).task;
  const others: JobId[] = [];
  const hot = [...Array(3)].flatMap(() => {
    others.push(...add(100, { taskId: other.id }));
    return add(ARCHIVE_COPY_MAX);
  });
  const history = throttled(deps.history, task.id, 100);
  const { moved, end } = await archiveJobs({ ...deps, history }, FOR_EVER);
  assert.deepEqual([moved, end], [hot.length + others.length, "drained"]);
  for (const id of [...hot, ...others]) assert.ok(await archived(id));
  assert.match(said[0] ?? "", /history is busy with some tasks' jobs/);
});

test("a partition that takes nothing keeps no other task's jobs in MySQL, and ends the run as stopped", async () => {
  const { tables, deps, task, add } = openWorld();
  const hot = add(2 * ARCHIVE_COPY_MAX);
  add(ARCHIVE_COPY_MAX, { taskId: buildTask(0).task.id });
  let busy = 0;
  const history = throttled(deps.history, task.id, 0, () => busy++);
  const { moved, end } = await archiveJobs({ ...deps, history }, FOR_EVER);
  assert.deepEqual([moved, end], [ARCHIVE_COPY_MAX, "stopped"]);
  assert.deepEqual(new Set(tables.jobs.keys()), new Set(hot));
  // Of each read its first group only: the next ones go to the same partition.
  assert.equal(busy, 2);
});

test("one that fills the oldest read keeps no jobs of other queues in MySQL", async () => {
  const { clock, tables, deps, task, add } = openWorld();
  const hot = add(ARCHIVE_READ_MAX + 2_000, { status: "dead", dueAtMs: clock.nowMs() - 60_000 });
  const others = add(2 * ARCHIVE_READ_MAX, { taskId: buildTask(0).task.id });
  let spentMs = 0;
  const history = throttled(deps.history, task.id, 50, () => {
    spentMs += 5_000;
  });
  const slow = withMonotonic(clock, () => spentMs);
  const { moved, end } = await archiveJobs({ ...deps, clock: slow, history }, 25_000);
  assert.deepEqual([moved, end], [others.length + 5 * 50, "time-up"]);
  assert.equal(tables.jobs.size, hot.length - 5 * 50);
});
