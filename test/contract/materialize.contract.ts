/** The scheduler's tick: what is locked, in which order, and what is written of the plan. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeJobId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { makeScheduledJob, makeSkippedJob } from "#core/domain/make-job.ts";
import { PRIORITIES } from "#core/domain/queue.ts";
import type { DueTask, Task } from "#core/domain/task.ts";
import type { DueTasks, MaterializePlan, TaskAdvance } from "#core/ports/task-store.ts";
import { eventually } from "#test/support/eventually.ts";
import {
  addJobs,
  addTask,
  dbNow,
  HOUR_MS,
  plannedJob,
  RETENTION,
  readJob,
  TICK_BOUNDS,
  writeEdit,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

export function materializeContract(open: OpenStore): void {
  reads(open);
  bounds(open);
  writes(open);
  fails(open);
}

function reads(open: OpenStore): void {
  test(
    "nothing is due: null, and plan is not called",
    onStore(open, async (store) => {
      await addDue(store, 40_000);
      await addDue(store, -1_000, { status: "paused" });
      await addDue(store, -1_000, { status: "completed" });
      await addTask(store, { task: { nextRunAtMs: null } });
      const gone = await addDue(store, -1_000);
      await writeEdit(store, gone, { status: "deleted" }, { kind: "keep" });
      const never = () => assert.fail("plan was called");
      assert.equal(await store.shard.tasks.materialize(TICK_BOUNDS, never), null);
    }),
  );

  test(
    "plan is shown what making jobs needs, and the database's now",
    onStore(open, async (store) => {
      const task = await addDue(store, 10_000, {
        schedule: { type: "cron", expression: "*/5 * * * * *", timezone: "Asia/Tokyo" },
        priority: "high",
        catchUp: "latest",
        startAtMs: 5,
        endAtMs: 4_000_000_000_005,
      });
      const beforeMs = await dbNow(store);
      const seen = await tick(store, (due) => advanceAll(due, HOUR_MS));
      assert(seen.due.nowMs >= beforeMs && seen.due.nowMs <= (await dbNow(store)));
      assert.deepEqual(seen.due.missed, []);
      const shown: DueTask = {
        id: task.id,
        tenantId: task.tenantId,
        schedule: task.schedule,
        priority: "high",
        catchUp: "latest",
        startAtMs: 5,
        endAtMs: 4_000_000_000_005,
        nextRunAtMs: task.nextRunAtMs,
        requestVersion: 1,
        timeoutMs: task.timeoutMs,
        maxAttempts: task.maxAttempts,
      };
      assert.equal(seen.due.due.length, 1);
      assert.deepEqual({ ...seen.due.due[0], ...shown }, { ...seen.due.due[0] });
    }),
  );

  test(
    "a look ahead tells the first task and the deep one of each priority, of active tasks within the span",
    onStore(open, async (store) => {
      for (const offsetMs of [40_000, 50_000, 60_000, 70_000]) await addDue(store, offsetMs);
      await addDue(store, 45_000, { priority: "low" });
      await addDue(store, 29_000, { priority: "critical" });
      await addDue(store, HOUR_MS, { priority: "critical" });
      await addDue(store, 40_000, { priority: "high", status: "paused" });
      const { nowMs, priorities } = await store.shard.tasks.lookAhead(30_000, 300_000, 3);
      const seconds = (ms: number | null) =>
        ms === null ? null : Math.round((ms - nowMs) / 1_000);
      const seen = priorities.map(({ firstMs, deepMs }) => [seconds(firstMs), seconds(deepMs)]);
      assert.deepEqual(seen, [
        [null, null],
        [null, null],
        [40, 60],
        [45, null],
      ]);
    }),
  );

  test(
    "missed tasks come apart from due ones; both most urgent first, then by time",
    onStore(open, async (store) => {
      const names: [string, number, Task["priority"]][] = [
        ["missed low", -2 * HOUR_MS, "low"],
        ["missed high, older", -3 * HOUR_MS, "high"],
        ["missed high", -62_000, "high"],
        ["due normal", -20_000, "normal"],
        ["due low", -50_000, "low"],
        ["due critical, later", 25_000, "critical"],
        ["due critical", -1_000, "critical"],
      ];
      for (const [name, offsetMs, priority] of names) {
        await addDue(store, offsetMs, { name, priority });
      }
      const { due } = await tick(store, (seen) => advanceAll(seen, HOUR_MS));
      const named = async (tasks: readonly DueTask[]) => {
        const found = tasks.map((task) => store.shard.tasks.find(task.tenantId, task.id));
        return (await Promise.all(found)).map((current) => current?.task.name);
      };
      const missed = ["missed high, older", "missed high", "missed low"];
      assert.deepEqual(await named(due.missed), missed);
      assert.deepEqual(await named(due.due), [
        "due critical",
        "due critical, later",
        "due normal",
        "due low",
      ]);
    }),
  );
}

function bounds(open: OpenStore): void {
  test(
    "missed tasks have a bound of their own; what they leave of the whole goes to the due ones, most urgent first",
    onStore(open, async (store) => {
      for (let i = 0; i < 4; i++) await addDue(store, -2 * HOUR_MS - i);
      for (const priority of PRIORITIES) await addDue(store, -1_000, { priority });
      const small = { ...TICK_BOUNDS, missedTasksMax: 2, tasksMax: 5 };
      const { due } = await tick(store, (seen) => advanceAll(seen, HOUR_MS), small);
      assert.equal(due.missed.length, 2);
      assert.deepEqual(
        due.due.map((task) => task.priority),
        ["critical", "high", "normal"],
      );
      const rest = await tick(store, (seen) => advanceAll(seen, HOUR_MS), small);
      assert.equal(rest.due.missed.length, 2);
      assert.deepEqual(
        rest.due.due.map((task) => task.priority),
        ["low"],
      );
      const never = () => assert.fail("plan was called");
      assert.equal(await store.shard.tasks.materialize(small, never), null);
    }),
  );

  test(
    "of missed tasks the furthest behind of each priority come first, then the least behind, most urgent first",
    onStore(open, async (store) => {
      const offsets: [Task["priority"], number[]][] = [
        ["high", [-5, -4, -3, -2]],
        ["normal", [-4, -3, -2]],
        ["low", [-1]],
      ];
      const names = new Map<string, string>();
      for (const [priority, hours] of offsets)
        for (const hour of hours) {
          const task = await addDue(store, hour * HOUR_MS, { priority });
          names.set(task.id, `${priority} ${hour}`);
        }
      const within = { ...TICK_BOUNDS, missedOldestMax: 1, missedTasksMax: 5 };
      const seen = async () => {
        const { due } = await tick(store, (all) => advanceAll(all, HOUR_MS), within);
        return due.missed.map(({ id }) => names.get(id));
      };
      const first = ["high -5", "normal -4", "low -1", "high -2", "high -3"];
      assert.deepEqual(await seen(), first);
      assert.deepEqual(await seen(), ["high -4", "normal -3", "normal -2"]);
    }),
  );

  test(
    "two ticks at once lock disjoint tasks and make every job once",
    onStore(open, async (store) => {
      const tasks: Task[] = [];
      for (let i = 0; i < 12; i++) {
        const priority = PRIORITIES[i % 4] ?? "low";
        tasks.push(await addDue(store, i < 4 ? -2 * HOUR_MS : -1_000, { priority }));
      }
      const seen: DueTask[] = [];
      const small = { ...TICK_BOUNDS, missedTasksMax: 2, tasksMax: 3 };
      const tickOnce = async () => {
        let locked: DueTask[] = [];
        const done = await store.shard.tasks.materialize(small, (due) => {
          locked = [...due.missed, ...due.due];
          return makeAll(due, HOUR_MS);
        });
        seen.push(...locked);
        assert.equal(done?.alreadyMade ?? 0, 0);
        return done?.made ?? 0;
      };
      let made = 0;
      for (let round = 0; round < 20 && made < tasks.length; round++) {
        const [one, two] = await Promise.all([tickOnce(), tickOnce()]);
        made += one + two;
      }
      assert.equal(made, tasks.length);
      assert.deepEqual(seen.map((task) => task.id).sort(), tasks.map((task) => task.id).sort());
      for (const task of tasks) {
        const id = makeJobId(task.nextRunAtMs ?? 0, task.id, 0);
        await readJob(store, { tenantId: task.tenantId, id });
      }
    }),
  );
}

function writes(open: OpenStore): void {
  test(
    "jobs are written as planned, tasks advance, and nothing else of the task changes",
    onStore(open, async (store) => {
      const task = await addDue(store, -90_000, { madeUntilMs: 1_700_000_000_000 });
      const firstMs = task.nextRunAtMs ?? 0;
      const jobs: Job[] = [];
      const { result } = await tick(store, ({ nowMs }) => {
        const skip = { reason: "missed", run: 0, nowMs, retention: RETENTION };
        const covers = { count: 40, atLeast: true, fromMs: firstMs + 2, toMs: firstMs + 5 };
        jobs.push(
          makeScheduledJob(task, "catch_up", firstMs, nowMs),
          makeSkippedJob(task, firstMs + 1, { ...skip, covers: null }),
          makeSkippedJob(task, firstMs + 2, { ...skip, covers }),
          makeScheduledJob(task, "schedule", firstMs + 60_000, nowMs),
          makeScheduledJob(task, "schedule", firstMs + HOUR_MS, nowMs),
        );
        return { jobs, advances: [advance(task, firstMs + 2 * HOUR_MS, firstMs + HOUR_MS)] };
      });
      assert.deepEqual(result, { made: 5, alreadyMade: 0, errors: 0 });
      for (const job of jobs) assert.deepEqual(await readJob(store, job), job);
      const found = await store.shard.tasks.find(task.tenantId, task.id);
      assert.deepEqual(found?.task, {
        ...task,
        nextRunAtMs: firstMs + 2 * HOUR_MS,
        madeUntilMs: firstMs + HOUR_MS,
      });
    }),
  );

  test(
    "an id that exists is left alone and counts as already made",
    onStore(open, async (store) => {
      const task = await addDue(store, -1_000);
      const atMs = task.nextRunAtMs ?? 0;
      const there = { ...plannedJob(task, atMs, 0), taskVersion: 7 };
      await addJobs(store, task, [there]);
      const { result } = await tick(store, ({ nowMs }) => ({
        jobs: [
          makeScheduledJob(task, "schedule", atMs, nowMs),
          makeScheduledJob(task, "schedule", atMs + 60_000, nowMs),
        ],
        advances: [advance(task, atMs + 120_000, atMs + 60_000)],
      }));
      assert.deepEqual(result, { made: 1, alreadyMade: 1, errors: 0 });
      assert.deepEqual(await readJob(store, there), there);
    }),
  );

  test(
    "without a next run a task is completed; with an error it stays active and no tick meets it again",
    onStore(open, async (store) => {
      const last = await addDue(store, -1_000);
      const bad = await addDue(store, -1_000, { madeUntilMs: 1_700_000_000_000 });
      const error = `cannot go on: "it's" 😀`;
      const { result } = await tick(store, () => ({
        jobs: [],
        advances: [
          advance(last, null, last.nextRunAtMs),
          { taskId: bad.id, nextRunAtMs: null, madeUntilMs: null, error },
        ],
      }));
      assert.deepEqual(result, { made: 0, alreadyMade: 0, errors: 1 });
      const madeUntilMs = last.nextRunAtMs;
      assert.deepEqual((await store.shard.tasks.find(last.tenantId, last.id))?.task, {
        ...last,
        status: "completed",
        nextRunAtMs: null,
        madeUntilMs,
      });
      const found = await store.shard.tasks.find(bad.tenantId, bad.id);
      // No row was made of it, so what was made before still stands.
      assert.deepEqual(found?.task, { ...bad, nextRunAtMs: null, error });
      assert.equal(
        await store.shard.tasks.materialize(TICK_BOUNDS, () => assert.fail("met")),
        null,
      );
    }),
  );

  test(
    "a task that the plan does not advance stays due",
    onStore(open, async (store) => {
      const task = await addDue(store, -1_000);
      const { result } = await tick(store, () => ({ jobs: [], advances: [] }));
      assert.deepEqual(result, { made: 0, alreadyMade: 0, errors: 0 });
      const { due } = await tick(store, (seen) => advanceAll(seen, HOUR_MS));
      assert.deepEqual(
        due.due.map((seen) => seen.id),
        [task.id],
      );
    }),
  );

  test(
    "a thousand jobs of many tasks in one tick",
    onStore(open, async (store) => {
      const tasks: Task[] = [];
      for (let i = 0; i < 20; i++) tasks.push(await addDue(store, -1_000));
      const { result } = await tick(store, (due) => ({
        jobs: due.due.flatMap((task) =>
          Array.from({ length: 50 }, (_, i) =>
            makeScheduledJob(task, "schedule", (task.nextRunAtMs ?? 0) + i, due.nowMs),
          ),
        ),
        advances: due.due.map((task) => advance(task, due.nowMs + HOUR_MS, due.nowMs)),
      }));
      assert.deepEqual(result, { made: 1_000, alreadyMade: 0, errors: 0 });
      const all = { statuses: null, fromMs: null, toMs: null };
      for (const task of tasks) {
        const found = await store.shard.jobs.listByTask(task.tenantId, task.id, all, null, 60);
        assert.equal(found.length, 50);
      }
    }),
  );
}

function fails(open: OpenStore): void {
  test(
    "what plan throws is thrown, nothing is written and the tasks stay due",
    onStore(open, async (store) => {
      const task = await addDue(store, -1_000);
      const boom = new Error("boom");
      const failing = store.shard.tasks.materialize(TICK_BOUNDS, () => {
        throw boom;
      });
      await assert.rejects(failing, (error) => error === boom);
      assert.deepEqual((await store.shard.tasks.find(task.tenantId, task.id))?.task, task);
      // A tick passes over what is locked, and a server may be late to let go what a connection that is gone held.
      await eventually(async () => {
        const { due } = await tick(store, (seen) => makeAll(seen, HOUR_MS));
        assert.equal(due.due.length, 1);
      });
    }),
  );
}

/** A task that is due `offsetMs` from now. */
async function addDue(
  store: ContractStore,
  offsetMs: number,
  changes: Partial<Task> = {},
): Promise<Task> {
  const nextRunAtMs = (await dbNow(store)) + offsetMs;
  return (await addTask(store, { task: { ...changes, nextRunAtMs } })).task;
}

/** One tick in which something is due: what the plan saw, and what came of it. */
async function tick(
  store: ContractStore,
  plan: (due: DueTasks) => MaterializePlan,
  within = TICK_BOUNDS,
) {
  const seen: DueTasks[] = [];
  const result = await store.shard.tasks.materialize(within, (due) => {
    seen.push(due);
    return plan(due);
  });
  const due = seen.at(-1);
  assert(due !== undefined && result !== null, "something was due");
  return { due, result };
}

function advance(
  task: Pick<Task, "id">,
  nextRunAtMs: number | null,
  madeUntilMs: number | null,
): TaskAdvance {
  return { taskId: task.id, nextRunAtMs, madeUntilMs, error: null };
}

/** Advances every task to `aheadMs` from now, and makes nothing. */
function advanceAll(due: DueTasks, aheadMs: number): MaterializePlan {
  const tasks = [...due.missed, ...due.due];
  return { jobs: [], advances: tasks.map((task) => advance(task, due.nowMs + aheadMs, due.nowMs)) };
}

/** Makes one job of every task, and advances it. */
function makeAll(due: DueTasks, aheadMs: number): MaterializePlan {
  const tasks = [...due.missed, ...due.due];
  const jobs = tasks.map((task) =>
    makeScheduledJob(task, "schedule", task.nextRunAtMs ?? due.nowMs, due.nowMs),
  );
  return { ...advanceAll(due, aheadMs), jobs };
}
