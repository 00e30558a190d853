/** Who stands in a line, and leaves it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointKey, tenantKey } from "#core/domain/call-limit.ts";
import { REASON_PAUSED } from "#core/domain/job.ts";
import { makeManualJob, makeScheduledJob } from "#core/domain/make-job.ts";
import type { DueTasks, MaterializePlan } from "#core/ports/task-store.ts";
import {
  addJobs,
  addTask,
  addWorker,
  claimOne,
  dbNow,
  failure,
  HOUR_MS,
  heldKey,
  idsOf,
  interruption,
  plannedJob,
  RETENTION,
  readJob,
  recordResults,
  removeTask,
  success,
  WRITTEN,
  writeEdit,
} from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { addWaiting, type LimitedTask, limitedTask, takeLine } from "./limited-jobs.ts";

export function limitLinesContract(open: OpenStore): void {
  makers(open);
  leaves(open);
  comesBack(open);
}

/** A job for each task, and an hour until the next. */
function planOne({ nowMs, missed, due }: DueTasks): MaterializePlan {
  const tasks = [...missed, ...due];
  return {
    jobs: tasks.map((task) => makeScheduledJob(task, "schedule", task.nextRunAtMs ?? 0, nowMs)),
    advances: tasks.map(({ id: taskId, nextRunAtMs: madeUntilMs }) => {
      return { taskId, nextRunAtMs: nowMs + HOUR_MS, madeUntilMs, error: null };
    }),
  };
}

const BOUNDS = {
  horizonMs: 30_000,
  missedTasksMax: 9,
  missedOldestMax: 1,
  tasksMax: 99,
};

function makers(open: OpenStore): void {
  test(
    "a tick makes jobs of a limited endpoint, or of a limited tenant, wait; others are pending (1)",
    onStore(open, async (store) => {
      const dueMs = await dbNow(store);
      const [byEndpoint, byTenant, byBoth] = await Promise.all([
        limitedTask(store, { concurrency: 1 }, { nextRunAtMs: dueMs }),
        limitedTask(store, { concurrency: null }, { nextRunAtMs: dueMs }),
        limitedTask(store, { perSecond: 1 }, { nextRunAtMs: dueMs, priority: "low" }),
      ]);
      for (const { task } of [byTenant, byBoth])
        await store.shard.limits.put(tenantKey(task.tenantId), { concurrency: 1 });
      // The same endpoint, of a tenant without limits.
      const free = await addTask(store, { task: { nextRunAtMs: dueMs } });
      assert.equal((await store.shard.tasks.materialize(BOUNDS, planOne))?.made, 4);
      const lineOfTask = async ({ task }: Pick<LimitedTask, "task">) => {
        const all = { statuses: null, fromMs: null, toMs: null };
        const { tenantId, id } = task;
        const [job] = await store.shard.jobs.listByTask(tenantId, id, all, null, 9);
        return [job?.status, job?.limitKey];
      };
      assert.deepEqual(await lineOfTask(byEndpoint), ["waiting", byEndpoint.key]);
      assert.deepEqual(await lineOfTask(byTenant), ["waiting", byTenant.task.tenantId]);
      assert.deepEqual(await lineOfTask(byBoth), ["waiting", byBoth.key]);
      assert.deepEqual(await lineOfTask(free), ["pending", null]);
      const lines = (await store.listLimited()).map(({ limitKey, queue }) => [limitKey, queue]);
      const expected = [
        [byEndpoint.key, 32],
        [tenantKey(byTenant.task.tenantId), 32],
        [byBoth.key, 48],
      ];
      assert.deepEqual(lines.sort(), expected.sort());
    }),
  );

  test(
    "a job that is there keeps its line, and gets no second place in it (1)",
    onStore(open, async (store) => {
      const dueMs = await dbNow(store);
      const limited = await limitedTask(store, { concurrency: 1 }, { nextRunAtMs: dueMs });
      const there = plannedJob(limited.task, dueMs, 0);
      await addJobs(store, limited.task, [{ ...there, queue: 35 }]);
      const [place] = await store.listLimited();
      assert.equal((await store.shard.tasks.materialize(BOUNDS, planOne))?.alreadyMade, 1);
      assert.deepEqual(await store.listLimited(), [place]);
    }),
  );

  test(
    "a job that was rescued, and whose last holder may still answer, is not lined up under a limit that is new (11)",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimOne(store);
      await store.shard.jobs.rescue([held], RETENTION);
      const key = endpointKey(task.tenantId, "https://example.com/hook");
      assert(key !== null);
      await store.shard.limits.put(key, { concurrency: 1 });
      assert.deepEqual(await store.listLimited(), []);
      assert.deepEqual(await recordResults(store, [success(held, workerId)]), WRITTEN);
      assert.equal((await readJob(store, held))?.status, "succeeded");
      assert.deepEqual(await store.listLimited(), []);
    }),
  );

  test(
    "a run by hand waits, a critical task that is due waits instead of being taken, an edit's jobs wait",
    onStore(open, async (store) => {
      const nowMs = await dbNow(store);
      const limited = await limitedTask(
        store,
        { concurrency: 1 },
        { nextRunAtMs: nowMs, priority: "critical" },
      );
      const { task, key } = limited;
      const ran = await store.shard.tasks.runNow(task.tenantId, task.id, (given, atMs) => {
        assert.equal(given.limitKey, key);
        return makeManualJob(given, "manual", atMs, 5, null);
      });
      assert(ran.kind === "made");
      assert.deepEqual([ran.job.status, ran.job.limitKey], ["waiting", key]);
      assert.deepEqual(await readJob(store, ran.job), ran.job);
      const workerId = await addWorker(store);
      const request = { workerId, tasksMax: 10 };
      const taken = await store.shard.jobs.takeCritical(request, planOne);
      assert(taken.kind === "claimed");
      assert.deepEqual(taken.jobs, []);
      const overdue = plannedJob(task, nowMs, -7_000);
      const edited = await store.shard.tasks.edit<never>(
        task.tenantId,
        task.id,
        (locked) => {
          assert.equal(locked.limitKey, key);
          return {
            kind: "write",
            task: locked.task,
            newVersion: null,
            jobsEffect: { kind: "keep" },
            makeJobs: [overdue],
          };
        },
        RETENTION,
      );
      assert.equal(edited.kind, "written");
      const places = await store.listLimited();
      assert.equal(places.length, 3);
      assert(places.every(({ limitKey }) => limitKey === key));
    }),
  );

  test(
    "the endpoint is that of the task's newest request",
    onStore(open, async (store) => {
      const { task, version } = await addTask(store);
      const key = endpointKey(task.tenantId, "http://elsewhere.example:8080");
      assert(key !== null);
      await store.shard.limits.put(key, { concurrency: 1 });
      const lineNow = async () => {
        let line: string | undefined;
        await store.shard.tasks.runNow(task.tenantId, task.id, (given, nowMs) => {
          line = given.limitKey;
          return makeManualJob(given, "manual", nowMs, 1 + (nowMs % 60_000), null);
        });
        return line;
      };
      assert.equal(await lineNow(), undefined);
      await store.shard.tasks.edit<never>(
        task.tenantId,
        task.id,
        (locked) => ({
          kind: "write",
          task: { ...locked.task, requestVersion: 2 },
          newVersion: {
            ...version,
            requestVersion: 2,
            request: { ...version.request, url: "http://ELSEWHERE.example:8080/x?y" },
          },
          jobsEffect: { kind: "keep" },
          makeJobs: [],
        }),
        RETENTION,
      );
      assert.equal(await lineNow(), key);
      await writeEdit(store, task, { description: "the request stays" }, { kind: "keep" });
      assert.equal(await lineNow(), key);
    }),
  );
}

function leaves(open: OpenStore): void {
  test(
    "a pause, a delete, an edit of the schedule and a cancel take jobs out of their lines (12, 17)",
    onStore(open, async (store) => {
      const tasks = await Promise.all(
        Array.from({ length: 4 }, () => limitedTask(store, { concurrency: 1 })),
      );
      const made = await Promise.all(
        tasks.map((limited) => addWaiting(store, limited, [-1_000, HOUR_MS])),
      );
      const [paused, deleted, edited, cancelled] = tasks.map(({ task }) => task);
      assert(paused && deleted && edited && cancelled);
      await writeEdit(store, paused, {}, { kind: "cancel", reason: REASON_PAUSED });
      await removeTask(store, deleted);
      await writeEdit(store, edited, {}, { kind: "remove-planned" });
      for (const { tenantId, id } of made[3] ?? [])
        assert.equal((await store.shard.jobs.cancel(tenantId, id, RETENTION)).kind, "cancelled");
      const left = (made[2] ?? []).slice(0, 1);
      assert.deepEqual(idsOf(await store.listLimited()), idsOf(left));
    }),
  );

  test(
    "the success of a holder that was rescued too early takes the job out of line; so does its last failure (8, 10)",
    onStore(open, async (store) => {
      const { jobs } = store.shard;
      const limited = await limitedTask(store, { concurrency: 1 });
      await addWaiting(store, limited, [-3_000, -2_000, -1_000]);
      const workerId = await addWorker(store);
      const { jobs: held } = await takeLine(store, workerId, limited.key);
      assert.equal((await jobs.rescue(held, RETENTION)).pending, 3);
      assert.deepEqual(idsOf(await store.listLimited()), idsOf(held));
      const [one, two, three] = held;
      assert(one && two && three);
      const told = [success(one, workerId), failure(two, workerId, 0, "gone")];
      assert.deepEqual(await jobs.recordResults(told, RETENTION), { written: 2, lostRaces: 0 });
      assert.deepEqual(idsOf(await store.listLimited()), [three.id]);
      assert.equal((await readJob(store, one)).status, "succeeded");
      // Told again, and by nobody: nothing changes.
      const again = [...told, success(three, await addWorker(store))];
      assert.deepEqual(await jobs.recordResults(again, RETENTION), { written: 0, lostRaces: 3 });
      assert.deepEqual(idsOf(await store.listLimited()), [three.id]);
    }),
  );
}

function comesBack(open: OpenStore): void {
  test(
    "what fails, is given back, interrupted or lost waits in its line again, and no attempt is spent unsent (6, 7, 9, 11)",
    onStore(open, async (store) => {
      const { jobs } = store.shard;
      const limited = await limitedTask(store, { concurrency: 5 });
      const { key, task } = limited;
      // One that waits under no limit is written in the same group.
      const other = await addTask(store);
      const free = plannedJob(other.task, await dbNow(store), -1_000);
      await addJobs(store, other.task, [free]);
      await addWaiting(store, limited, [-4_000, -3_000, -2_000, -1_000]);
      const workerId = await addWorker(store);
      const { jobs: held } = await takeLine(store, workerId, key);
      const branches = [{ queue: 32, limit: 9, head: null }];
      const claim = await jobs.claimDue({ workerId, branches, aheadMs: 0, limit: 9 });
      assert(claim.kind === "claimed" && claim.jobs[0] !== undefined);
      const [failed, back, cut, lost] = held;
      assert(failed && back && cut && lost);
      assert.deepEqual(await store.listLimited(), []);
      const retryAtMs = (await dbNow(store)) + HOUR_MS;
      const results = [
        failure(failed, workerId, retryAtMs),
        interruption(cut, workerId),
        success(claim.jobs[0], workerId),
      ];
      assert.equal((await jobs.recordResults(results, RETENTION)).written, 3);
      assert.equal((await jobs.giveBack([heldKey(back, workerId)], RETENTION)).written, 1);
      const running = await jobs.listHeldBy([workerId], 10);
      assert.deepEqual(running, [{ id: lost.id, claimNo: 1, limitKey: key }]);
      assert.equal((await jobs.rescue(running, RETENTION)).pending, 1);
      const rows = await Promise.all(held.map((job) => readJob(store, job)));
      assert.deepEqual(
        rows.map(({ status, attempt, lost: losses }) => [status, attempt, losses]),
        [
          ["waiting", 1, 0],
          ["waiting", 0, 0],
          ["waiting", 1, 1],
          ["waiting", 1, 1],
        ],
      );
      const places = rows.map(({ id, limitKey, queue, dueAtMs }) => ({
        id,
        limitKey,
        queue,
        dueAtMs,
      }));
      places.sort((a, b) => (a.id < b.id ? -1 : 1));
      assert.deepEqual(await store.listLimited(), places);
      assert.equal(rows[0]?.dueAtMs, retryAtMs);
      assert.equal(task.tenantId, rows[0]?.tenantId);
    }),
  );

  test(
    "a retry of a dead job, and a resume of one that was claimed before, wait in line (15, 18)",
    onStore(open, async (store) => {
      const { jobs } = store.shard;
      const limited = await limitedTask(store, { concurrency: 5 });
      const { task, key } = limited;
      const [due] = await addWaiting(store, limited, [-1_000]);
      const [ahead] = await addWaiting(store, limited, [HOUR_MS]);
      assert(due && ahead);
      const workerId = await addWorker(store);
      const { jobs: held } = await takeLine(store, workerId, key, { aheadMs: 2 * HOUR_MS });
      const early = held.find(({ id }) => id === ahead.id);
      const dead = held.find(({ id }) => id === due.id);
      assert(early && dead);
      await jobs.giveBack([heldKey(early, workerId)], RETENTION);
      await jobs.recordResults([failure(dead, workerId, 0, "gone")], RETENTION);
      await writeEdit(store, task, {}, { kind: "cancel", reason: REASON_PAUSED });
      assert.deepEqual(await store.listLimited(), []);
      await writeEdit(store, task, {}, { kind: "resume" });
      const outcomes = await jobs.retryDead(task.tenantId, [{ id: dead.id, delayMs: 0 }]);
      assert.equal(outcomes.get(dead.id), "moved");
      assert.deepEqual(idsOf(await store.listLimited()), idsOf([early, dead]));
      const taken = await takeLine(store, workerId, key, { aheadMs: 2 * HOUR_MS });
      assert.deepEqual(idsOf(taken.jobs), idsOf([early, dead]));
      assert(taken.jobs.every(({ claimNo }) => claimNo === 2));
    }),
  );

  test(
    "a resume follows the limits of by then: none, or another",
    onStore(open, async (store) => {
      const { jobs, limits } = store.shard;
      const limited = await limitedTask(store, { concurrency: 5 });
      const { task, key } = limited;
      const [ahead] = await addWaiting(store, limited, [HOUR_MS]);
      assert(ahead !== undefined);
      const workerId = await addWorker(store);
      const { jobs: held } = await takeLine(store, workerId, key, { aheadMs: 2 * HOUR_MS });
      await jobs.giveBack(
        held.map((job) => heldKey(job, workerId)),
        RETENTION,
      );
      const pauseAndResume = async () => {
        await writeEdit(store, task, {}, { kind: "cancel", reason: REASON_PAUSED });
        await writeEdit(store, task, {}, { kind: "resume" });
        const { status, limitKey } = await readJob(store, ahead);
        return [status, limitKey, (await store.listLimited())[0]?.limitKey];
      };
      await limits.put(key, { concurrency: null });
      assert.deepEqual(await pauseAndResume(), ["pending", null, undefined]);
      const own = tenantKey(task.tenantId);
      await limits.put(own, { perSecond: 1 });
      assert.deepEqual(await pauseAndResume(), ["waiting", own, own]);
    }),
  );
}
