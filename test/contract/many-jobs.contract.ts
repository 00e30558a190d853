/** Pause, resume and delete of a task with more jobs than one transaction reaches: stores that reach JOBS_AT_ONCE. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantKey } from "#core/domain/call-limit.ts";
import type { Job, JobStatus } from "#core/domain/job.ts";
import { REASON_DELETED, REASON_PAUSED } from "#core/domain/job.ts";
import type { Task, TaskStatus } from "#core/domain/task.ts";
import type { TaskChange } from "#core/domain/task-change.ts";
import type { EditResult, JobsEffect } from "#core/ports/task-store.ts";
import {
  addJobs,
  addTask,
  addWorker,
  claimJobs,
  dbNow,
  editTask,
  HOUR_MS,
  isGone,
  makeTenant,
  plannedJob,
  RETENTION,
  readJob,
} from "./builders.ts";
import { type ContractStore, type OpenStore, onStore } from "./contract-store.ts";

export const JOBS_AT_ONCE = 3;

const PAUSE: JobsEffect = { kind: "cancel", reason: REASON_PAUSED };
const DELETE: JobsEffect = { kind: "cancel", reason: REASON_DELETED };
const RESUME: JobsEffect = { kind: "resume" };

export function manyJobsContract(name: string, open: OpenStore): void {
  test(
    `${name}: a pause reaches the newest jobs with the task, then group by group the others, each group with a revocation`,
    onStore(open, async (store) => {
      const { task, jobs } = await taskWith(store, 8);
      const [first, , third, , , sixth] = jobs;
      assert(first && third && sixth);
      const dead: Job = { ...third, status: "dead", finishedAtMs: third.runAtMs, reason: "x" };
      await store.putJob(dead);
      await store.putJob({ ...sixth, status: "waiting", limitKey: tenantKey(task.tenantId) });
      const statuses = async () => Promise.all(jobs.map(async (job) => statusOf(store, job)));
      const revocations = async () => (await store.shard.jobs.listRevocations(HOUR_MS)).length;
      const paused = await change(store, task, "paused", PAUSE);
      assert.equal(paused.jobsLeft, true);
      assert.equal(paused.current.task.status, "paused");
      const [p, c] = ["pending", "cancelled"];
      assert.deepEqual(await statuses(), [p, p, "dead", p, p, c, c, c]);
      assert.deepEqual([await revocations(), await store.listLimited()], [1, []]);
      assert.equal((await unchanged(store, task)).jobsLeft, true);
      const left = { tenantId: task.tenantId, taskId: task.id, change: "paused" };
      const below = jobs[5]?.id;
      assert.deepEqual(await store.shard.tasks.listUnfinished(10), [{ ...left, below }]);
      assert.deepEqual(await store.shard.tasks.listUnfinished(0), []);

      assert.equal(await goOn(store, task, "paused"), "more");
      assert.deepEqual(await statuses(), [p, c, "dead", c, c, c, c, c]);
      assert.equal(await revocations(), 2);
      assert.equal(await goOn(store, task, "paused"), "done");
      assert.deepEqual(await statuses(), [c, c, "dead", c, c, c, c, c]);
      assert.equal((await readJob(store, first)).reason, REASON_PAUSED);
      assert.equal(await goOn(store, task, "paused"), "none");
      assert.equal((await unchanged(store, task)).jobsLeft, undefined);
      assert.deepEqual(await store.shard.tasks.listUnfinished(10), []);
    }),
  );

  test(
    `${name}: a task that one transaction reaches leaves nothing, whatever has ended`,
    onStore(open, async (store) => {
      const { task, jobs } = await taskWith(store, 8);
      for (const job of jobs.slice(2))
        await store.putJob({ ...job, status: "cancelled", finishedAtMs: 1, reason: "x" });
      assert.equal((await change(store, task, "paused", PAUSE)).jobsLeft, undefined);
      assert.equal(await goOn(store, task, "paused"), "none");
      const [first, second] = jobs;
      assert(first && second);
      for (const job of [first, second]) assert.equal(await statusOf(store, job), "cancelled");
    }),
  );

  test(
    `${name}: a resume ends a pause that is not done, and takes back what it has done, group by group too`,
    onStore(open, async (store) => {
      const { task, jobs: ahead } = await taskWith(store, 2);
      const nowMs = await dbNow(store);
      const due = [5, 4, 3, 2, 1].map((s) => plannedJob(task, nowMs, -1_000 * s));
      await addJobs(store, task, due);
      await claimJobs(store, await addWorker(store), due);
      const marks = async () => {
        const rows = await Promise.all(due.map((job) => readJob(store, job)));
        return rows.map(({ cancelReason }) => cancelReason !== null);
      };
      assert.equal((await change(store, task, "paused", PAUSE)).jobsLeft, true);
      assert.deepEqual(await marks(), [false, false, false, false, true]);
      assert.equal(await goOn(store, task, "paused"), "more");
      assert.deepEqual(await marks(), [false, true, true, true, true]);
      assert.equal((await change(store, task, "active", RESUME)).jobsLeft, true);
      assert.equal(await goOn(store, task, "paused"), "none");
      for (const job of ahead) assert.equal(await isGone(store, job), true);
      for (let groups = 0; (await goOn(store, task, "resumed")) === "more"; groups++)
        assert.ok(groups < due.length);
      assert.deepEqual(await marks(), [false, false, false, false, false]);
      assert.equal(await goOn(store, task, "resumed"), "none");
    }),
  );

  test(
    `${name}: a delete begins anew where a pause is not done, goes on with a deleted task, and is its tenant's alone`,
    onStore(open, async (store) => {
      const { task, jobs } = await taskWith(store, 7);
      await change(store, task, "paused", PAUSE);
      assert.equal((await change(store, task, "deleted", DELETE)).jobsLeft, true);
      assert.equal(await goOn(store, { ...task, tenantId: makeTenant() }, "deleted"), "none");
      assert.equal(await goOn(store, task, "paused"), "none");
      for (let groups = 0; (await goOn(store, task, "deleted")) === "more"; groups++)
        assert.ok(groups < jobs.length);
      const reasons = await Promise.all(jobs.map((job) => readJob(store, job)));
      assert.deepEqual(
        reasons.map(({ reason }) => reason),
        [...Array(4).fill(REASON_DELETED), ...Array(3).fill(REASON_PAUSED)],
      );
      assert.equal(await goOn(store, task, "deleted"), "none");
    }),
  );
}

/** A task with so many planned jobs, a minute apart, in order. */
async function taskWith(store: ContractStore, count: number) {
  const { task } = await addTask(store);
  const nowMs = await dbNow(store);
  const jobs = Array.from({ length: count }, (_, i) =>
    plannedJob(task, nowMs, HOUR_MS + i * 60_000),
  );
  await addJobs(store, task, jobs);
  return { task, jobs };
}

async function change(
  store: ContractStore,
  task: Task,
  status: TaskStatus,
  jobsEffect: JobsEffect,
): Promise<Extract<EditResult<never>, { kind: "written" | "unchanged" }>> {
  const result = await editTask<never>(store, task, (locked) => ({
    kind: "write",
    task: { ...locked.task, status },
    newVersion: null,
    jobsEffect,
    makeJobs: [],
  }));
  assert(result.kind === "written");
  return result;
}

async function unchanged(store: ContractStore, task: Task) {
  let left: boolean | undefined;
  const result = await editTask<never>(store, task, ({ jobsLeft }) => {
    left = jobsLeft;
    return { kind: "unchanged" };
  });
  assert(result.kind === "unchanged");
  assert.equal(left, result.jobsLeft, "an edit sees it under the lock");
  return result;
}

function goOn(store: ContractStore, task: Pick<Task, "tenantId" | "id">, as: TaskChange) {
  return store.shard.tasks.goOnWithJobs(task.tenantId, task.id, as, RETENTION);
}

async function statusOf(store: ContractStore, job: Job): Promise<JobStatus> {
  return (await readJob(store, job)).status;
}
