import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { Job } from "#core/domain/job.ts";
import { buildTask, plannedJob } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { retryDeadLetters } from "./retry-dead-letters.ts";

test("what is behind the letters of a deleted task is reached, and asking until nothing matches ends", async () => {
  const clock = new ManualClock();
  const shards = openMemoryShards({ clock });
  const { tables } = shards;
  const nowMs = clock.nowMs();
  const gone = buildTask(nowMs);
  const live = buildTask(nowMs, { task: { tenantId: gone.task.tenantId } });
  for (const { task, version } of [gone, live]) {
    tables.tasks.set(task.id, task);
    tables.addVersion(version);
  }
  const die = ({ task }: typeof gone, count: number, agoMs: number) => {
    for (let n = 0; n < count; n++) {
      const ended = { status: "dead", claimNo: 1, attempt: 1, finishedAtMs: nowMs - agoMs - n };
      const job = { ...plannedJob(task, nowMs, -agoMs - n), ...ended } as Job;
      tables.jobs.set(job.id, job);
    }
  };
  die(gone, 30, 1_000);
  die(live, 25, 60_000);
  tables.tasks.set(gone.task.id, { ...gone.task, status: "deleted", nextRunAtMs: null });
  const all = { taskId: null, fromMs: null, toMs: null };
  const ask = () =>
    retryDeadLetters({ shards, clock }, gone.task.tenantId, all, { limit: 10, perSecond: 100 });
  for (const moved of [10, 10, 5, 0])
    assert.deepEqual(await ask(), { matched: moved, moved, failed: 0 });
});
