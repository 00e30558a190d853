import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { Job } from "#core/domain/job.ts";
import { LISTED_ROWS_MAX, LISTED_ROWS_MS_MAX } from "#core/domain/limits.ts";
import type { DeadLetterFilter, DeadLetterPlace } from "#core/ports/job-store.ts";
import { buildTask, plannedJob } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { retryDeadLetters } from "./retry-dead-letters.ts";

const ALL: DeadLetterFilter = { taskId: null, fromMs: null, toMs: null };

/** A tenant's letters: `gone` of a task that it has deleted, a millisecond apart, then, older, `live` of another. */
function openWorld({ gone, live }: { readonly gone: number; readonly live: number }) {
  const clock = new ManualClock();
  const shards = openMemoryShards({ clock });
  const { tables } = shards;
  const nowMs = clock.nowMs();
  const deleted = buildTask(nowMs);
  const { tenantId } = deleted.task;
  const present = buildTask(nowMs, { task: { tenantId } });
  for (const { task, version } of [deleted, present]) {
    tables.tasks.set(task.id, task);
    tables.addVersion(version);
  }
  const die = ({ task }: typeof deleted, count: number, agoMs: number) => {
    for (let n = 0; n < count; n++) {
      const ended = { status: "dead", claimNo: 1, attempt: 1, finishedAtMs: nowMs - agoMs - n };
      const job = { ...plannedJob(task, nowMs, -agoMs - n), ...ended } as Job;
      tables.jobs.set(job.id, job);
    }
  };
  die(deleted, gone, 1_000);
  die(present, live, 60_000);
  tables.tasks.set(deleted.task.id, { ...deleted.task, status: "deleted", nextRunAtMs: null });
  const ask = (limit: number, filter: Partial<DeadLetterFilter> = {}) => {
    const pace = { limit, perSecond: 100 };
    return retryDeadLetters({ shards, clock }, tenantId, { ...ALL, ...filter }, pace);
  };
  const { jobs } = shards.forTenant(tenantId);
  return { clock, jobs, nowMs, ask };
}

const retried = (moved: number) => ({ kind: "retried", matched: moved, moved, failed: 0 });

test("what is behind the letters of a deleted task is reached, and asking until nothing matches ends", async () => {
  const { ask } = openWorld({ gone: 30, live: 25 });
  for (const moved of [10, 10, 5, 0]) assert.deepEqual(await ask(10), retried(moved));
});

test("letters of deleted tasks are passed over in steps of bounded length", async () => {
  for (const [gone, live] of [
    [LISTED_ROWS_MAX - 1, 1],
    [LISTED_ROWS_MAX, 1],
    [LISTED_ROWS_MAX + 1, 250],
    [2 * LISTED_ROWS_MAX - 125, 250],
  ] as const) {
    const { jobs, ask } = openWorld({ gone, live });
    const steps: (DeadLetterPlace | null)[] = [];
    const { findLettersDownTo, listDeadLetters } = jobs;
    jobs.findLettersDownTo = async (...asked) => {
      assert.equal(asked[3], LISTED_ROWS_MAX);
      const downTo = await findLettersDownTo.apply(jobs, asked);
      steps.push(downTo);
      return downTo;
    };
    jobs.listDeadLetters = (...asked) => {
      assert.equal(asked[4], steps.at(-1), "nothing is read beyond a step");
      return listDeadLetters.apply(jobs, asked);
    };
    assert.deepEqual(await ask(1_000), retried(live), `${gone} and ${live}`);
    assert.ok(steps.length <= 2 + Math.floor(gone / LISTED_ROWS_MAX) + Math.floor(live / 100));
  }
});

test("when time is up what was found is retried; where that is nothing, it says from where to ask again", async () => {
  const { clock, jobs, nowMs, ask } = openWorld({ gone: 2 * LISTED_ROWS_MAX, live: 250 });
  const { findLettersDownTo } = jobs;
  jobs.findLettersDownTo = async (...asked) => {
    await clock.advance(LISTED_ROWS_MS_MAX);
    return findLettersDownTo.apply(jobs, asked);
  };
  const first = await ask(1_000);
  assert.deepEqual(first, { kind: "passed-over", downToMs: nowMs - 1_000 - LISTED_ROWS_MAX + 1 });
  const second = await ask(1_000, { toMs: first.downToMs + 1 });
  assert(second.kind === "passed-over" && second.downToMs < first.downToMs);
  const toMs = second.downToMs + 1;
  for (const moved of [100, 100, 50, 0])
    assert.deepEqual(await ask(1_000, { toMs }), retried(moved));
});
