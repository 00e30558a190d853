import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { REASON_MISSED, REASON_PAUSED } from "#core/domain/job.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import { nextOccurrence } from "#core/domain/schedule.ts";
import type { Task } from "#core/domain/task.ts";
import type { LockedTask, TaskEdit } from "#core/ports/task-store.ts";
import { buildTask } from "#test/contract/builders.ts";
import type { EditRefusal } from "./decide-edit.ts";
import { decideEdit, OVERDUE_ROWS_MAX } from "./decide-edit.ts";
import type { TaskSettings } from "./task-settings.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 9, 0, 0);
const CONTEXT = { run: 4_711, retention: { succeededMs: 3_600_000, endedMs: 86_400_000 } };
const EVERY_MINUTE = every(60);
const HOURLY: Schedule = { type: "cron", expression: "0 * * * *", timezone: "UTC" };

function every(seconds: number): Schedule {
  return { type: "every", seconds, anchor: "1970-01-01T00:00:00.000Z" };
}

const REQUEST = {
  ...{ method: "POST", url: "https://a.example/", headers: {} },
  ...{ body: "x", bodyBase64: null },
};

function lock(changes: Partial<Task> = {}, plannedFromMs: number | null = null): LockedTask {
  const built = buildTask(NOW_MS - 86_400_000, {
    task: {
      ...{ schedule: EVERY_MINUTE, nextRunAtMs: NOW_MS + 60_000, madeUntilMs: NOW_MS },
      ...{ version: 5, requestVersion: 3, ...changes },
    },
    version: { request: REQUEST },
  });
  const version = { ...built.version, requestVersion: 3 };
  const { task } = built;
  return { task, version, nowMs: NOW_MS, plannedFromMs, aheadFromMs: plannedFromMs };
}

function settingsOf(
  { task, version }: LockedTask,
  changes: Partial<TaskSettings> = {},
): TaskSettings {
  return {
    name: task.name,
    description: task.description,
    tags: task.tags,
    schedule: task.schedule,
    priority: task.priority,
    catchUp: task.catchUp,
    startAtMs: task.startAtMs,
    endAtMs: task.endAtMs,
    request: version.request,
    timeoutMs: version.timeoutMs,
    retry: version.retry,
    ...changes,
  };
}

function edit(
  locked: LockedTask,
  changes: Partial<TaskSettings>,
  otherZoneData = false,
): TaskEdit<EditRefusal> {
  return decideEdit(locked, settingsOf(locked, changes), { ...CONTEXT, otherZoneData });
}

function written(decided: TaskEdit<EditRefusal>) {
  assert.equal(decided.kind, "write");
  assert(decided.kind === "write");
  return decided;
}

test("a save that changes nothing writes nothing, also with keys in another order", () => {
  const locked = lock({ nextRunAtMs: NOW_MS - 5_000 });
  const { bodyBase64, ...rest } = locked.version.request;
  assert.deepEqual(edit(locked, { request: { bodyBase64, ...rest } }), { kind: "unchanged" });
});

test("a new name moves the version and leaves due and planned runs alone", () => {
  const locked = lock({ nextRunAtMs: NOW_MS - 5_000 }, NOW_MS + 120_000);
  const decided = written(edit(locked, { name: "other", tags: ["a"], catchUp: "none" }));
  assert.deepEqual(decided.jobsEffect, { kind: "keep" });
  assert.deepEqual(decided.makeJobs, []);
  assert.equal(decided.newVersion, null);
  assert.deepEqual(decided.task, {
    ...locked.task,
    name: "other",
    tags: ["a"],
    catchUp: "none",
    version: 6,
    updatedAtMs: NOW_MS,
  });
});

test("without a name a task is called by its id", () => {
  const locked = lock();
  assert.equal(written(edit(locked, { name: null })).task.name, locked.task.id);
});

test("a new request makes a version and has planned jobs made anew", () => {
  const planned = NOW_MS + 120_000;
  const locked = lock({ nextRunAtMs: NOW_MS + 300_000, madeUntilMs: NOW_MS + 240_000 }, planned);
  const request = { ...locked.version.request, url: "https://b.example/" };
  const decided = written(edit(locked, { request, timeoutMs: 5_000 }));
  assert.deepEqual(decided.newVersion, {
    taskId: locked.task.id,
    requestVersion: 4,
    request,
    timeoutMs: 5_000,
    retry: RETRY_DEFAULT,
  });
  assert.deepEqual(decided.jobsEffect, { kind: "remove-planned" });
  assert.equal(decided.task.requestVersion, 4);
  assert.equal(decided.task.timeoutMs, 5_000);
  assert.equal(decided.task.nextRunAtMs, planned);
  assert.equal(
    nextOccurrence(decided.task.schedule, decided.task, decided.task.madeUntilMs ?? 0),
    planned,
  );
});

test("a new request keeps a run that is due when nothing is planned", () => {
  const locked = lock({ nextRunAtMs: NOW_MS - 5_000 });
  const decided = written(edit(locked, { retry: { ...RETRY_DEFAULT, maxAttempts: 2 } }));
  assert.equal(decided.task.nextRunAtMs, NOW_MS - 5_000);
  assert.equal(decided.task.maxAttempts, 2);
  assert.deepEqual(decided.makeJobs, []);
});

test("a new request moves the next run back, never over runs that have no row", () => {
  // Left of a schedule before: the last job that its edit left counts as planned once the database's clock has stepped back.
  for (const nextRunAtMs of [NOW_MS - 5_000, NOW_MS + 1_000, NOW_MS + 30_600]) {
    const locked = lock({ schedule: every(1), nextRunAtMs }, NOW_MS + 30_600);
    const { task } = written(edit(locked, { timeoutMs: 5_000 }));
    assert.equal(task.nextRunAtMs, nextRunAtMs);
    assert.equal(task.madeUntilMs, nextRunAtMs - 1);
  }
});

test("a completed task whose last job is planned ahead is active again when that job is made anew", () => {
  const atMs = NOW_MS + 120_000;
  const schedule: Schedule = { type: "at", at: new Date(atMs).toISOString() };
  const locked = lock({ schedule, status: "completed", nextRunAtMs: null }, atMs);
  const decided = written(edit(locked, { priority: "high" }));
  assert.equal(decided.task.status, "active");
  assert.equal(decided.task.nextRunAtMs, atMs);
});

test("a new schedule begins now and makes what was due before, of the old version", () => {
  const locked = lock({ nextRunAtMs: NOW_MS - 120_000, priority: "high" });
  const request = { ...locked.version.request, body: "new" };
  const decided = written(edit(locked, { schedule: HOURLY, request, priority: "low" }));
  assert.deepEqual(
    decided.makeJobs.map(({ scheduledAtMs, trigger, taskVersion, priority }) => [
      scheduledAtMs - NOW_MS,
      trigger,
      taskVersion,
      priority,
    ]),
    [
      [-120_000, "catch_up", 3, "high"],
      [-60_000, "schedule", 3, "high"],
      [0, "schedule", 3, "high"],
    ],
  );
  assert.equal(decided.task.nextRunAtMs, NOW_MS + 3_600_000);
  assert.equal(decided.task.madeUntilMs, NOW_MS);
  assert.equal(decided.task.requestVersion, 4);
  assert.deepEqual(decided.jobsEffect, { kind: "remove-planned" });
});

test("more overdue runs than an edit makes share one cancelled row", () => {
  const locked = lock({ schedule: every(1), nextRunAtMs: NOW_MS - 5_000_000 });
  const { makeJobs } = written(edit(locked, { schedule: HOURLY }));
  assert.equal(makeJobs.length, OVERDUE_ROWS_MAX + 1);
  const rest = makeJobs.at(-1);
  assert.equal(rest?.status, "cancelled");
  assert.equal(rest?.reason, REASON_MISSED);
  assert.deepEqual(rest?.covers, {
    count: 5_001 - OVERDUE_ROWS_MAX,
    fromMs: NOW_MS - 5_000_000 + OVERDUE_ROWS_MAX * 1_000,
    toMs: NOW_MS,
  });
});

test("a new schedule of a paused task leaves one row of what passed and stays paused", () => {
  const locked = lock({ status: "paused", nextRunAtMs: NOW_MS - 120_000 });
  const decided = written(edit(locked, { schedule: HOURLY }));
  assert.equal(decided.task.status, "paused");
  assert.equal(decided.makeJobs.length, 1);
  const [row] = decided.makeJobs;
  assert.equal(row?.reason, REASON_PAUSED);
  assert.deepEqual(row?.covers, { count: 3, fromMs: NOW_MS - 120_000, toMs: NOW_MS });
});

test("an edit that gives a completed task an occurrence makes it active", () => {
  const locked = lock({
    schedule: { type: "at", at: "2026-01-01T00:00:00Z" },
    status: "completed",
    nextRunAtMs: null,
  });
  const decided = written(edit(locked, { schedule: { type: "at", at: "2026-12-01T00:00:00Z" } }));
  assert.equal(decided.task.status, "active");
  assert.equal(decided.task.nextRunAtMs, Date.UTC(2026, 11, 1));
});

test("an `at` written differently is the same schedule", () => {
  const at = new Date(NOW_MS + 90_000).toISOString();
  const locked = lock({ schedule: { type: "at", at }, nextRunAtMs: NOW_MS + 90_000 });
  const other = at.replace(".000Z", "+00:00");
  const decided = written(edit(locked, { schedule: { type: "at", at: other } }));
  assert.deepEqual(decided.jobsEffect, { kind: "keep" });
  assert.deepEqual(decided.task.schedule, { type: "at", at: other });
});

test("an edit never fires for the past", () => {
  const decided = edit(lock(), { schedule: { type: "at", at: "2026-05-01T00:00:00Z" } });
  assert.equal(decided.kind, "refuse");
  assert(decided.kind === "refuse" && decided.refusal.kind === "invalid");
  assert.equal(decided.refusal.problems[0]?.field, "schedule.at");
});

test("a window without an occurrence is refused", () => {
  const decided = edit(lock({ schedule: HOURLY }), { endAtMs: NOW_MS + 60_000 });
  assert(decided.kind === "refuse" && decided.refusal.kind === "invalid");
  assert.equal(decided.refusal.problems[0]?.field, "schedule");
});

test("any save moves a next run that was stored by other rules of its time zone", () => {
  const schedule: Schedule = { type: "cron", expression: "0 9 * * *", timezone: "Europe/Madrid" };
  const belongsMs = NOW_MS + 22 * 3_600_000;
  for (const storedMs of [belongsMs - 3_600_000, belongsMs + 3_600_000]) {
    const locked = lock({ schedule, nextRunAtMs: storedMs });
    const same = written(edit(locked, {}));
    assert.equal(same.task.nextRunAtMs, belongsMs);
    assert.equal(same.task.version, 6);
    assert.deepEqual([same.jobsEffect, same.makeJobs], [{ kind: "keep" }, []]);
    assert.deepEqual(edit({ ...locked, task: same.task }, {}), { kind: "unchanged" });
    // With a job that is made already, by the same rules.
    const planned = { ...locked, plannedFromMs: storedMs };
    const { task } = written(edit(planned, { timeoutMs: 5_000 }));
    assert.equal(task.nextRunAtMs, Math.min(storedMs, belongsMs));
    assert.equal(written(edit(locked, { schedule: HOURLY })).task.nextRunAtMs, NOW_MS + 3_600_000);
  }
});

test("where the workers reckon with other rules a save leaves the next run to them, whatever it changes but the schedule", () => {
  const schedule: Schedule = { type: "cron", expression: "0 9 * * *", timezone: "Europe/Madrid" };
  const belongsMs = NOW_MS + 22 * 3_600_000;
  for (const nextRunAtMs of [belongsMs - 3_600_000, belongsMs + 3_600_000]) {
    const locked = lock({ schedule, nextRunAtMs });
    assert.deepEqual(edit(locked, {}, true), { kind: "unchanged" });
    for (const changes of [{ name: "other" }, { timeoutMs: 5_000 }])
      assert.equal(written(edit(locked, changes, true)).task.nextRunAtMs, nextRunAtMs);
    const hourly = written(edit(locked, { schedule: HOURLY }, true));
    assert.equal(hourly.task.nextRunAtMs, NOW_MS + 3_600_000);
  }
});

test("any edit sets a stopped schedule going, with a row of what it owes", () => {
  const locked = lock({
    error: "zone gone",
    nextRunAtMs: null,
    madeUntilMs: NOW_MS - 120_000,
  });
  const decided = written(edit(locked, { description: "again" }));
  assert.equal(decided.task.error, null);
  assert.equal(decided.task.nextRunAtMs, NOW_MS + 60_000);
  assert.deepEqual(decided.makeJobs[0]?.covers, {
    count: 2,
    fromMs: NOW_MS - 60_000,
    toMs: NOW_MS,
  });
});

test("a schedule that still cannot go on keeps its error", () => {
  const schedule: Schedule = { type: "cron", expression: "0 9 * * *", timezone: "Mars/Base" };
  const locked = lock({ schedule, error: "no such zone", nextRunAtMs: null });
  const decided = written(edit(locked, { description: "still" }));
  assert.equal(decided.task.error, "no such zone");
  assert.equal(decided.task.nextRunAtMs, null);
});

const schedules = fc.oneof(
  fc.integer({ min: 1, max: 90_000 }).map(every),
  fc
    .constantFrom(
      "* * * * *",
      "*/7 * * * *",
      "0 * * * *",
      "30 2 * * *",
      "0 0 1 * *",
      "*/10 * * * * *",
    )
    .map((expression): Schedule => ({ type: "cron", expression, timezone: "Europe/Madrid" })),
);

test("property: whatever the edit, every occurrence up to now has exactly one row and the next is later", () => {
  fc.assert(
    fc.property(
      schedules,
      schedules,
      fc.integer({ min: -3 * 86_400, max: 3_600 }),
      fc.constantFrom("all" as const, "latest" as const, "none" as const),
      fc.constantFrom("active" as const, "paused" as const),
      (before, after, sinceSeconds, catchUp, status) => {
        const nextRunAtMs = nextOccurrence(
          before,
          { startAtMs: null, endAtMs: null },
          NOW_MS + sinceSeconds * 1_000,
        );
        assert(nextRunAtMs !== null);
        const locked = lock({ schedule: before, nextRunAtMs, catchUp, status });
        const decided = edit(locked, { schedule: after });
        if (decided.kind !== "write") return;
        if (JSON.stringify(before) === JSON.stringify(after)) return;
        assert.ok((decided.task.nextRunAtMs ?? 0) > NOW_MS);
        let count = 0;
        for (const job of decided.makeJobs) {
          assert.ok(job.scheduledAtMs <= NOW_MS && job.scheduledAtMs >= nextRunAtMs);
          assert.ok(status === "active" || job.status === "cancelled");
          count += job.covers?.count ?? 1;
        }
        assert.equal(new Set(decided.makeJobs.map(({ id }) => id)).size, decided.makeJobs.length);
        assert.ok(decided.makeJobs.length <= OVERDUE_ROWS_MAX + 61);
        if (decided.makeJobs.some((job) => job.covers?.atLeast)) return;
        assert.equal(count, occurrencesUpToNow(before, nextRunAtMs));
      },
    ),
    { numRuns: 60 },
  );
});

function occurrencesUpToNow(schedule: Schedule, fromMs: number): number {
  let count = 0;
  let atMs: number | null = fromMs;
  while (atMs !== null && atMs <= NOW_MS) {
    count++;
    atMs = nextOccurrence(schedule, { startAtMs: null, endAtMs: null }, atMs);
  }
  return count;
}

test("a save that changes nothing sets a stopped schedule going again", () => {
  const locked = lock({ error: "no such zone", nextRunAtMs: null });
  const { task } = written(edit(locked, {}));
  assert.equal(task.error, null);
  assert.equal(task.nextRunAtMs, NOW_MS + 60_000);
});

test("a paused task whose pause has not reached all of its jobs stays paused when it is edited", () => {
  const locked = lock({ status: "paused" }, NOW_MS + 40_000);
  for (const changes of [{ timeoutMs: 5_000 }, { priority: "low" as const }])
    assert.equal(written(edit(locked, changes)).task.status, "paused");
});

test("a save that changes nothing of a schedule that still cannot go on changes no version", () => {
  const locked = lock({ endAtMs: NOW_MS - 1, error: "no such zone", nextRunAtMs: null });
  assert.deepEqual(edit(locked, {}), { kind: "unchanged" });
});
