/**
 * Random lives of one task over stores in memory: time passes, the scheduler ticks (also with a horizon of minutes), the task is
 * edited, paused and resumed. A model of a few lines says which occurrences there were; the rows must agree with it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { partsOfJobId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { FROZEN_MS } from "#core/domain/limits.ts";
import { planRuns } from "#core/domain/plan-runs.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import { nextOccurrence } from "#core/domain/schedule.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { createTask } from "./create-task.ts";
import { editTask } from "./edit-task.ts";
import { pauseTask } from "./pause-task.ts";
import { resumeTask } from "./resume-task.ts";
import type { TaskSettings } from "./task-settings.ts";

const TENANT = "acme" as TenantId;
const RETENTION = { succeededMs: 3_600_000, endedMs: 86_400_000 };
const START_MS = Date.UTC(2026, 5, 1, 9, 0, 0);
const ALWAYS = { startAtMs: null, endAtMs: null };

const SCHEDULES: readonly Schedule[] = [
  { type: "every", seconds: 20, anchor: "1970-01-01T00:00:00.000Z" },
  { type: "every", seconds: 45, anchor: "1970-01-01T00:00:07.000Z" },
  { type: "cron", expression: "* * * * *", timezone: "UTC" },
  { type: "cron", expression: "*/30 * * * * *", timezone: "Europe/Madrid" },
];

type Step =
  | { kind: "wait"; seconds: number }
  | { kind: "tick"; horizonMs: number }
  | { kind: "schedule"; index: number }
  | { kind: "request"; url: string }
  | { kind: "priority"; high: boolean }
  | { kind: "save" | "pause" | "resume" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      seconds: fc.integer({ min: 0, max: 200 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("tick" as const),
      horizonMs: fc.constantFrom(30_000, 300_000),
    }),
  },
  fc.record({ kind: fc.constant("schedule" as const), index: fc.nat(SCHEDULES.length - 1) }),
  fc.record({
    kind: fc.constant("request" as const),
    url: fc.constantFrom("https://a.example/", "https://b.example/"),
  }),
  fc.record({ kind: fc.constant("priority" as const), high: fc.boolean() }),
  fc.record({ kind: fc.constantFrom("save" as const, "pause" as const, "resume" as const) }),
);

/** What happened, to hold the rows against. */
interface History {
  /** From `fromMs` on the task had this schedule. */
  schedules: { fromMs: number; schedule: Schedule }[];
  versions: { fromMs: number; version: number }[];
  paused: { fromMs: number; toMs: number }[];
}

async function live(steps: readonly Step[]) {
  const clock = new ManualClock(START_MS);
  const shards = openMemoryShards({ clock });
  let drawn = 0;
  const random = {
    bytes: (length: number) => new Uint8Array(length).fill(++drawn),
    unit: () => 0.5,
  };
  const deps = { shards, clock, random, retention: RETENTION };
  let settings: TaskSettings = {
    name: "digest",
    description: null,
    tags: [],
    schedule: SCHEDULES[0] as Schedule,
    priority: "normal",
    catchUp: "all",
    startAtMs: null,
    endAtMs: null,
    request: {
      method: "POST",
      url: "https://a.example/",
      headers: {},
      body: null,
      bodyBase64: null,
    },
    timeoutMs: 30_000,
    retry: RETRY_DEFAULT,
  };
  const made = await createTask(deps, TENANT, settings);
  assert(made.kind === "created");
  const { id } = made.created.task;
  const history: History = {
    schedules: [{ fromMs: START_MS, schedule: settings.schedule }],
    versions: [{ fromMs: START_MS, version: 1 }],
    paused: [],
  };
  let pausedFromMs: number | null = null;

  const tick = (horizonMs: number) =>
    shards
      .forTask(id)
      .tasks.materialize(
        { horizonMs, missedTasksMax: 10, missedOldestMax: 1, tasksMax: 10 },
        ({ nowMs, missed, due }) => {
          const plans = [...missed, ...due].map((task) => ({
            taskId: task.id,
            error: null,
            ...planRuns(task, {
              nowMs,
              untilMs: nowMs + horizonMs,
              missedRowsMax: 100,
              dueRowsMax: 100,
              stepsMax: 1_000,
              retention: RETENTION,
            }),
          }));
          return { jobs: plans.flatMap(({ jobs }) => jobs), advances: plans };
        },
      );
  const edit = async (changes: Partial<TaskSettings>) => {
    settings = { ...settings, ...changes };
    const result = await editTask(deps, TENANT, id, null, () => ({ kind: "ok", settings }));
    assert(result.kind === "written" || result.kind === "unchanged");
    const version = result.current.task.requestVersion;
    if (version !== history.versions.at(-1)?.version)
      history.versions.push({ fromMs: clock.nowMs(), version });
  };
  const resume = async () => {
    await resumeTask(deps, TENANT, id);
    if (pausedFromMs !== null) history.paused.push({ fromMs: pausedFromMs, toMs: clock.nowMs() });
    pausedFromMs = null;
  };

  for (const next of steps) {
    switch (next.kind) {
      case "wait":
        await clock.advance(next.seconds * 1_000 + 137);
        break;
      case "tick":
        await tick(next.horizonMs);
        break;
      case "schedule": {
        const schedule = SCHEDULES[next.index] as Schedule;
        if (schedule === settings.schedule) break;
        await edit({ schedule });
        history.schedules.push({ fromMs: clock.nowMs(), schedule });
        break;
      }
      case "request":
        await edit({ request: { ...settings.request, url: next.url } });
        break;
      case "priority":
        await edit({ priority: next.high ? "high" : "normal" });
        break;
      case "save":
        await edit({});
        break;
      case "pause":
        await pauseTask(deps, TENANT, id);
        pausedFromMs ??= clock.nowMs();
        break;
      case "resume":
        await resume();
        break;
    }
  }
  await resume();
  while ((await tick(0)) !== null);
  return { jobs: [...shards.tables.jobs.values()], history, nowMs: clock.nowMs() };
}

function occurrences({ schedules }: History, untilMs: number): Set<number> {
  const all = new Set<number>();
  for (const [at, { fromMs, schedule }] of schedules.entries()) {
    const toMs = schedules[at + 1]?.fromMs ?? untilMs;
    let next = nextOccurrence(schedule, ALWAYS, fromMs);
    while (next !== null && next <= toMs) {
      all.add(next);
      next = nextOccurrence(schedule, ALWAYS, next);
    }
  }
  return all;
}

function isOwnRow(job: Job): boolean {
  return partsOfJobId(job.id).run === 0;
}

test("property: every occurrence is covered, and nothing runs that should not", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const { jobs, history, nowMs } = await live(steps);
      const expected = occurrences(history, nowMs);
      const own = new Map(jobs.filter(isOwnRow).map((job) => [job.scheduledAtMs, job]));
      for (const atMs of expected) {
        const covered =
          own.has(atMs) ||
          jobs.some(
            ({ covers }) => covers !== null && covers.fromMs <= atMs && atMs <= covers.toMs,
          );
        assert.ok(covered, `${new Date(atMs).toISOString()} has no row`);
      }
      for (const { covers } of jobs) {
        if (covers === null) continue;
        const { fromMs, toMs, count } = covers;
        const passed = [...expected].filter((atMs) => fromMs <= atMs && atMs <= toMs);
        assert.equal(count, passed.filter((atMs) => !own.has(atMs)).length, "missed runs");
      }
      for (const job of jobs.filter(({ status }) => status === "pending")) {
        const { scheduledAtMs, taskVersion } = job;
        const frozen = history.schedules.some(
          ({ fromMs }) => fromMs < scheduledAtMs && scheduledAtMs <= fromMs + FROZEN_MS,
        );
        const when = new Date(scheduledAtMs).toISOString();
        if (scheduledAtMs <= nowMs)
          assert.ok(expected.has(scheduledAtMs) || frozen, `${when} is no occurrence`);
        assert.ok(
          !history.paused.some(
            ({ fromMs, toMs }) => fromMs < scheduledAtMs && scheduledAtMs <= toMs,
          ),
          `${when} passed while paused, and runs`,
        );
        const newest = history.versions.filter(({ fromMs }) => fromMs + FROZEN_MS < scheduledAtMs);
        assert.ok(taskVersion >= (newest.at(-1)?.version ?? 1), `${when} calls an old version`);
      }
    }),
    { numRuns: 300 },
  );
});
