import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOfJobId } from "#core/domain/ids.ts";
import { REASON_DELETED, REASON_MISSED, REASON_PAUSED } from "#core/domain/job.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import { type Task, tagOf } from "#core/domain/task.ts";
import type { LockedTask, TaskEdit } from "#core/ports/task-store.ts";
import { buildTask } from "#test/contract/builders.ts";
import { decideDelete, decidePause, decideResume } from "./decide-pause.ts";
import { COUNTED_RUNS_MAX } from "./passed-runs.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 9, 0, 30);
const CONTEXT = { run: 4_711, retention: { succeededMs: 3_600_000, endedMs: 86_400_000 } };
const EVERY_MINUTE: Schedule = {
  type: "every",
  seconds: 60,
  anchor: "1970-01-01T00:00:00.000Z",
};

function lock(changes: Partial<Task> = {}, aheadFromMs: number | null = null): LockedTask {
  const { task, version } = buildTask(NOW_MS - 86_400_000, {
    task: {
      ...{ schedule: EVERY_MINUTE, nextRunAtMs: NOW_MS + 30_000, madeUntilMs: NOW_MS - 30_000 },
      ...{ version: 5, ...changes },
    },
  });
  return { task, version, nowMs: NOW_MS, plannedFromMs: null, aheadFromMs };
}

function written<R>(decided: TaskEdit<R>) {
  assert.equal(decided.kind, "write");
  assert(decided.kind === "write");
  return decided;
}

test("pause cancels the jobs, keeps where the schedule is, and moves the version", () => {
  const locked = lock();
  const decided = written(decidePause(locked));
  assert.deepEqual(decided.jobsEffect, { kind: "cancel", reason: REASON_PAUSED });
  assert.deepEqual(decided.task, {
    ...locked.task,
    status: "paused",
    version: 6,
    updatedAtMs: NOW_MS,
  });
});

test("pause of a paused task changes nothing, of a completed one is refused", () => {
  assert.deepEqual(decidePause(lock({ status: "paused" })), { kind: "unchanged" });
  assert.deepEqual(decidePause(lock({ status: "completed", nextRunAtMs: null })), {
    kind: "refuse",
    refusal: { kind: "completed" },
  });
});

test("a completed task whose last job is still ahead can be paused and resumed", () => {
  const atMs = NOW_MS + 2_000;
  const schedule: Schedule = { type: "at", at: new Date(atMs).toISOString() };
  const locked = lock({ schedule, status: "completed", nextRunAtMs: null }, atMs);
  const paused = written(decidePause(locked)).task;
  assert.equal(paused.status, "paused");
  const resumed = written(decideResume({ ...locked, task: paused }, CONTEXT));
  assert.equal(resumed.task.nextRunAtMs, atMs);
  assert.equal(resumed.task.status, "active");
});

test("resume goes on from now, with one cancelled row of what passed", () => {
  const locked = lock({ status: "paused", nextRunAtMs: NOW_MS - 150_000 });
  const decided = written(decideResume(locked, CONTEXT));
  assert.deepEqual(decided.jobsEffect, { kind: "resume" });
  assert.equal(decided.task.status, "active");
  assert.equal(decided.task.nextRunAtMs, NOW_MS + 30_000);
  assert.equal(decided.task.madeUntilMs, NOW_MS);
  assert.equal(decided.task.version, 6);
  assert.equal(decided.makeJobs.length, 1);
  const [row] = decided.makeJobs;
  assert(row !== undefined);
  assert.equal(row.status, "cancelled");
  assert.equal(row.reason, REASON_PAUSED);
  assert.equal(partsOfJobId(row.id).run, CONTEXT.run);
  assert.deepEqual(row.covers, { count: 3, fromMs: NOW_MS - 150_000, toMs: NOW_MS - 30_000 });
});

test("resume before anything passed leaves no row and takes up the next occurrence again", () => {
  // Jobs up to two minutes ahead were made and cancelled: they are made again.
  const locked = lock({ status: "paused", nextRunAtMs: NOW_MS + 150_000 });
  const decided = written(decideResume(locked, CONTEXT));
  assert.deepEqual(decided.makeJobs, []);
  assert.equal(decided.task.nextRunAtMs, NOW_MS + 30_000);
});

test("resume of an active task changes nothing, of a completed one is refused", () => {
  assert.deepEqual(decideResume(lock(), CONTEXT), { kind: "unchanged" });
  assert.deepEqual(decideResume(lock({ status: "completed" }), CONTEXT), {
    kind: "refuse",
    refusal: { kind: "completed" },
  });
});

test("resume completes an `at` that passed while paused", () => {
  const atMs = NOW_MS - 60_000;
  const schedule: Schedule = { type: "at", at: new Date(atMs).toISOString() };
  const locked = lock({ schedule, status: "paused", nextRunAtMs: atMs });
  const decided = written(decideResume(locked, CONTEXT));
  assert.equal(decided.task.status, "completed");
  assert.equal(decided.task.nextRunAtMs, null);
  assert.deepEqual(decided.makeJobs[0]?.covers, { count: 1, fromMs: atMs, toMs: atMs });
});

test("resume sets a stopped schedule going, or says again why it cannot go on", () => {
  const stopped = lock({ error: "zone gone", nextRunAtMs: null });
  const going = written(decideResume(stopped, CONTEXT));
  assert.equal(going.task.error, null);
  assert.equal(going.task.nextRunAtMs, NOW_MS + 30_000);
  assert.deepEqual(going.jobsEffect, { kind: "keep" });
  const schedule: Schedule = { type: "cron", expression: "0 9 * * *", timezone: "Mars/Base" };
  const still = written(
    decideResume(lock({ schedule, status: "paused", nextRunAtMs: NOW_MS - 1_000 }), CONTEXT),
  );
  assert.equal(still.task.status, "active");
  assert.equal(still.task.nextRunAtMs, null);
  assert.match(still.task.error ?? "", /Mars\/Base/);
  assert.deepEqual(still.makeJobs[0]?.covers, {
    count: 1,
    atLeast: true,
    fromMs: NOW_MS - 1_000,
    toMs: NOW_MS,
  });
});

test("what passed is counted one by one up to a bound; periods are counted by arithmetic", () => {
  const fromMs = Date.UTC(2026, 0, 1);
  const cron: Schedule = { type: "cron", expression: "* * * * *", timezone: "UTC" };
  const counted = (task: Partial<Task>) =>
    written(decideResume(lock({ status: "paused", nextRunAtMs: fromMs, ...task }), CONTEXT))
      .makeJobs[0]?.covers;
  assert.deepEqual(counted({ schedule: cron }), {
    count: COUNTED_RUNS_MAX,
    atLeast: true,
    fromMs,
    toMs: NOW_MS,
  });
  assert.deepEqual(counted({ schedule: EVERY_MINUTE }), {
    count: Math.floor((NOW_MS - fromMs) / 60_000) + 1,
    fromMs,
    toMs: NOW_MS - 30_000,
  });
  // The end of its window is not an occurrence any more.
  assert.deepEqual(counted({ schedule: EVERY_MINUTE, endAtMs: fromMs + 120_000 }), {
    count: 2,
    fromMs,
    toMs: fromMs + 60_000,
  });
});

test("delete cancels the jobs and accounts for what was due and not made", () => {
  const decided = written(decideDelete(lock({ nextRunAtMs: NOW_MS - 30_000 }), null, CONTEXT));
  assert.equal(decided.task.status, "deleted");
  assert.equal(decided.task.nextRunAtMs, null);
  assert.deepEqual(decided.jobsEffect, { kind: "cancel", reason: REASON_DELETED });
  assert.equal(decided.makeJobs[0]?.reason, REASON_MISSED);
});

test("delete of another version than asked for is refused", () => {
  const locked = lock();
  for (const tags of [[tagOf(locked.task)], ["4", "5"]])
    assert.equal(decideDelete(locked, tags, CONTEXT).kind, "write");
  for (const tags of [[tagOf({ ...locked.task, version: 4 })], ["4"], []])
    assert.deepEqual(decideDelete(locked, tags, CONTEXT), {
      kind: "refuse",
      refusal: { kind: "tag-mismatch", task: locked.task },
    });
});

test("what a resume kept, because it was claimed ahead, is not counted again when it has passed", () => {
  const nextRunAtMs = NOW_MS - 150_000;
  const paused = lock({ status: "paused", nextRunAtMs });
  const [third] = [2].map((n) => nextRunAtMs + n * 60_000);
  assert(third !== undefined);
  const rowsOf = (madeMs: readonly number[]) => {
    const edit = decideResume({ ...paused, madeMs }, CONTEXT);
    assert(edit.kind === "write");
    return edit.makeJobs.map(({ covers }) => covers);
  };
  assert.deepEqual(rowsOf([]), [{ count: 3, fromMs: nextRunAtMs, toMs: third }]);
  assert.deepEqual(rowsOf([nextRunAtMs]), [
    { count: 2, fromMs: nextRunAtMs + 60_000, toMs: third },
  ]);
  assert.deepEqual(rowsOf([nextRunAtMs + 60_000]), [
    { count: 2, fromMs: nextRunAtMs, toMs: third },
  ]);
  assert.deepEqual(rowsOf([nextRunAtMs, nextRunAtMs + 60_000, third]), []);
});

test("rows of a schedule before this one are no runs of it: what passed is counted without them", () => {
  const nextRunAtMs = NOW_MS - 150_000;
  const paused = lock({ status: "paused", nextRunAtMs });
  const others = Array.from({ length: 120 }, (_, second) => nextRunAtMs + 500 + second * 1_000);
  const coversOf = (madeMs: readonly number[], task: Partial<Task> = {}) =>
    written(decideResume({ ...paused, task: { ...paused.task, ...task }, madeMs }, CONTEXT))
      .makeJobs[0]?.covers;
  assert.deepEqual(coversOf(others), { count: 3, fromMs: nextRunAtMs, toMs: NOW_MS - 30_000 });
  assert.deepEqual(coversOf([...others, nextRunAtMs + 60_000])?.count, 2);
  const { makeJobs } = written(decideDelete({ ...paused, madeMs: others }, null, CONTEXT));
  assert.equal(makeJobs[0]?.covers?.count, 3);
  // What cannot be computed any more has an occurrence that is known: the next run.
  const schedule: Schedule = { type: "cron", expression: "* * * * *", timezone: "Mars/Base" };
  assert.deepEqual(coversOf(others, { schedule }), {
    ...{ count: 1, atLeast: true },
    ...{ fromMs: nextRunAtMs, toMs: NOW_MS },
  });
});

test("resume of a run that has passed by today's rules of its time zone, and not by those that it was stored by, makes it late", () => {
  const timezone = "Europe/Madrid";
  const passedMs = NOW_MS - 1_800_000;
  const storedMs = passedMs + 3_600_000;
  const daily: Schedule = { type: "cron", expression: "30 30 10 * * *", timezone };
  const once: Schedule = { type: "at", at: "2026-06-01T10:30:30", timezone };
  const yearly: Schedule = { type: "cron", expression: "30 30 10 1 6 *", timezone };
  for (const schedule of [once, yearly, daily]) {
    const { task, makeJobs } = written(
      decideResume(lock({ schedule, status: "paused", nextRunAtMs: storedMs }), CONTEXT),
    );
    assert.deepEqual([task.status, task.nextRunAtMs, makeJobs], ["active", storedMs, []]);
    const early = lock({ schedule, status: "paused", nextRunAtMs: passedMs - 1_800_000 });
    const before = decideResume({ ...early, nowMs: passedMs - 3_600_000 }, CONTEXT);
    assert.equal(written(before).task.nextRunAtMs, passedMs, "ahead by both: where it belongs");
  }
});

test("what passed during a pause is counted up to now, and no further than the window", () => {
  const fromMs = NOW_MS - 150_000;
  const count = (endAtMs: number) =>
    written(
      decideResume(lock({ status: "paused", nextRunAtMs: fromMs, endAtMs }), CONTEXT),
    ).makeJobs.map(({ covers }) => covers);
  assert.deepEqual(count(NOW_MS + 86_400_000), [{ count: 3, fromMs, toMs: fromMs + 120_000 }]);
  assert.deepEqual(count(fromMs + 60_001), [{ count: 2, fromMs, toMs: fromMs + 60_000 }]);
  assert.deepEqual(count(fromMs + 60_000), [{ count: 1, fromMs, toMs: fromMs }]);
});
