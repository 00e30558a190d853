/** What pause, resume, delete and PATCH do to a task's jobs: events 12 to 17 of docs/state-machine.md, through `edit`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "#core/domain/job.ts";
import {
  REASON_CANCELLED,
  REASON_DELETED,
  REASON_MISSED,
  REASON_PAUSED,
} from "#core/domain/job.ts";
import { makeManualJob, makeSkippedJob } from "#core/domain/make-job.ts";
import type { Task } from "#core/domain/task.ts";
import type { JobsEffect, LockedTask, TaskEdit } from "#core/ports/task-store.ts";
import {
  addJobs,
  addTask,
  claimOne,
  dbNow,
  HOUR_MS,
  heldKey,
  isGone,
  plannedJob,
  RETENTION,
  readJob,
  rescuedRow,
  success,
  writeEdit,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const PAUSE: JobsEffect = { kind: "cancel", reason: REASON_PAUSED };
const DELETE: JobsEffect = { kind: "cancel", reason: REASON_DELETED };
const RESUME: JobsEffect = { kind: "resume" };

export function taskEffectsContract(open: OpenStore): void {
  cancels(open);
  revocations(open);
  resumes(open);
  removesPlanned(open);
  makesJobs(open);
}

function cancels(open: OpenStore): void {
  test(
    "pause cancels what has not begun (12), marks what runs (13) and leaves what is finished",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimOne(store);
      const nowMs = await dbNow(store);
      const pending = plannedJob(task, nowMs, -2_000);
      const planned = plannedJob(task, nowMs, HOUR_MS);
      const manual = makeManualJob(task, "manual", nowMs, 3, null);
      await addJobs(store, task, [pending, planned, manual]);
      const waiting: Job = { ...plannedJob(task, nowMs, -1_000), status: "waiting" };
      await store.putJob(waiting);
      const rescued = rescuedRow(runningTwin(await readJob(store, held), task, nowMs), nowMs);
      await store.putJob(rescued);
      const dead = deadRow(plannedJob(task, nowMs, -3_000), nowMs);
      await store.putJob(dead);
      const running = await readJob(store, held);

      const beforeMs = await dbNow(store);
      await pause(store, task);
      const afterMs = await dbNow(store);
      for (const job of [pending, planned, manual, waiting, rescued]) {
        const now = await readJob(store, job);
        assertEndedAt(now, beforeMs, afterMs, RETENTION.endedMs);
        const { finishedAtMs, dueAtMs } = now;
        const reason = REASON_PAUSED;
        assert.deepEqual(now, { ...job, status: "cancelled", reason, finishedAtMs, dueAtMs });
      }
      assert.deepEqual(await readJob(store, running), { ...running, cancelReason: REASON_PAUSED });
      assert.deepEqual(await readJob(store, dead), dead);
      assert.equal((await store.shard.jobs.find(task.tenantId, held.id))?.workerId, workerId);
    }),
  );

  test(
    "delete replaces a pause's mark; a pause never replaces another mark",
    onStore(open, async (store) => {
      const { task, held } = await claimOne(store);
      await pause(store, task);
      await writeEdit(store, task, {}, DELETE);
      assert.equal((await readJob(store, held)).cancelReason, REASON_DELETED);

      const other = await claimOne(store);
      await writeEdit(store, other.task, {}, { kind: "cancel", reason: REASON_CANCELLED });
      await pause(store, other.task);
      assert.equal((await readJob(store, other.held)).cancelReason, REASON_CANCELLED);
    }),
  );

  test(
    "delete changes no job that a pause has cancelled, and no other task's",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const other = await addTask(store, { task: { tenantId: task.tenantId } });
      const nowMs = await dbNow(store);
      const job = plannedJob(task, nowMs, HOUR_MS);
      const theirs = plannedJob(other.task, nowMs, HOUR_MS);
      await addJobs(store, task, [job]);
      await addJobs(store, other.task, [theirs]);
      await pause(store, task);
      const paused = await readJob(store, job);
      await writeEdit(store, task, { status: "deleted" }, DELETE);
      assert.deepEqual(await readJob(store, job), paused);
      assert.deepEqual(await readJob(store, theirs), theirs);
    }),
  );
}

function revocations(open: OpenStore): void {
  test(
    "a cancel writes one revocation of the whole task, other effects write none",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      await writeEdit(store, task, {}, { kind: "keep" });
      await writeEdit(store, task, {}, { kind: "remove-planned" });
      await writeEdit(store, task, {}, RESUME);
      assert.deepEqual(await store.shard.jobs.listRevocations(30_000), []);
      await pause(store, task);
      const revocations = await store.shard.jobs.listRevocations(30_000);
      assert.deepEqual(revocations, [{ taskId: task.id, jobId: null }]);
      assert.deepEqual(await store.shard.jobs.listRevocations(0), [], "it is not of the future");
    }),
  );
}

function resumes(open: OpenStore): void {
  test(
    "resume takes the mark from what runs (14), and its success counts",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimOne(store);
      const running = await readJob(store, held);
      await pause(store, task);
      await resume(store, task);
      assert.deepEqual(await readJob(store, held), running);
      const done = await store.shard.jobs.recordResults([success(held, workerId)], RETENTION);
      assert.deepEqual(done, { written: 1, lostRaces: 0 });
      assert.equal((await readJob(store, held)).status, "succeeded");
    }),
  );

  test(
    "resume leaves the mark of a delete or a cancel",
    onStore(open, async (store) => {
      const { task, held } = await claimOne(store);
      await writeEdit(store, task, {}, { kind: "cancel", reason: REASON_CANCELLED });
      await resume(store, task);
      assert.equal((await readJob(store, held)).cancelReason, REASON_CANCELLED);
    }),
  );

  test(
    "resume revives what was claimed before and is not due yet, with the current version (15)",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimAhead(store);
      await pause(store, task);
      await store.shard.jobs.giveBack([heldKey(held, workerId)], RETENTION);
      const cancelled = await readJob(store, held);
      assert.deepEqual([cancelled.status, cancelled.cancelReason], ["cancelled", REASON_PAUSED]);
      const present = { timeoutMs: 5_000, maxAttempts: 2 };
      await addVersion(store, task, 2, present);
      await resume(store, task);
      assert.deepEqual(await readJob(store, held), {
        ...cancelled,
        status: "pending",
        taskVersion: 2,
        ...present,
        runAtMs: held.scheduledAtMs,
        dueAtMs: held.scheduledAtMs,
        reason: null,
        cancelReason: null,
        finishedAtMs: null,
        workerId: null,
      });
    }),
  );

  test(
    "a success that arrives after a revival (15) is a lost race",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimAhead(store);
      await pause(store, task);
      await store.putJob(rescuedAndCancelled(await readJob(store, held)));
      await resume(store, task);
      const done = await store.shard.jobs.recordResults([success(held, workerId)], RETENTION);
      assert.deepEqual(done, { written: 0, lostRaces: 1 });
      const job = await readJob(store, held);
      assert.deepEqual([job.status, job.claimNo, job.workerId], ["pending", 1, null]);
    }),
  );

  test(
    "a job whose success arrives before the resume has succeeded and stays so",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimAhead(store);
      await pause(store, task);
      await store.putJob(rescuedAndCancelled(await readJob(store, held)));
      const done = await store.shard.jobs.recordResults([success(held, workerId)], RETENTION);
      assert.deepEqual(done, { written: 1, lostRaces: 0 });
      const succeeded = await readJob(store, held);
      assert.equal(succeeded.status, "succeeded");
      await resume(store, task);
      assert.deepEqual(await readJob(store, held), succeeded);
    }),
  );

  test(
    "resume deletes what was never claimed and is not due yet (16); a run made again is the new one's",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const job = plannedJob(task, nowMs, HOUR_MS);
      await addJobs(store, task, [job]);
      await pause(store, task);
      const again = { ...job, taskVersion: 2 };
      await writeEdit(store, task, {}, RESUME, [again]);
      assert.deepEqual(await readJob(store, job), again);
      await pause(store, task);
      await resume(store, task);
      assert.equal(await isGone(store, job), true);
    }),
  );

  test(
    "resume leaves what passed while paused, manual runs, and what something else has cancelled",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const passed = plannedJob(task, nowMs, -1_000);
      const manual = { ...plannedJob(task, nowMs, HOUR_MS), trigger: "manual" as const };
      const caughtUp = { ...plannedJob(task, nowMs, 2 * HOUR_MS), trigger: "catch_up" as const };
      const pauses = [passed, manual, caughtUp];
      for (const job of pauses) await store.putJob(cancelledRow(job, nowMs));
      const deleted = { ...cancelledRow(plannedJob(task, nowMs, 3 * HOUR_MS), nowMs) };
      await store.putJob({ ...deleted, reason: REASON_DELETED });
      const dead = deadRow(plannedJob(task, nowMs, 4 * HOUR_MS), nowMs);
      await store.putJob(dead);
      await resume(store, task);
      for (const job of pauses) {
        assert.deepEqual(await readJob(store, job), cancelledRow(job, nowMs));
      }
      assert.equal((await readJob(store, deleted)).status, "cancelled");
      assert.deepEqual(await readJob(store, dead), dead);
    }),
  );
}

function removesPlanned(open: OpenStore): void {
  test(
    "an edit removes only planned jobs later than now + 30 s that were never claimed (17)",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const other = await addTask(store, { task: { tenantId: task.tenantId } });
      const nowMs = await dbNow(store);
      const removed = [plannedJob(task, nowMs, 60_000), plannedJob(task, nowMs, HOUR_MS)];
      const waiting: Job = { ...plannedJob(task, nowMs, 90_000), status: "waiting" };
      const kept: Job[] = [
        plannedJob(task, nowMs, -1_000),
        plannedJob(task, nowMs, 20_000),
        { ...plannedJob(task, nowMs, 61_000), claimNo: 1 },
        { ...plannedJob(task, nowMs, 62_000), trigger: "manual" },
        { ...plannedJob(task, nowMs, 63_000), trigger: "catch_up" },
        cancelledRow(plannedJob(task, nowMs, 64_000), nowMs),
        plannedJob(other.task, nowMs, HOUR_MS),
      ];
      for (const job of [...removed, waiting, ...kept]) await store.putJob(job);
      await writeEdit(store, task, {}, { kind: "remove-planned" });
      for (const job of [...removed, waiting]) assert.equal(await isGone(store, job), true);
      for (const job of kept) assert.deepEqual(await readJob(store, job), job);
    }),
  );
}

function makesJobs(open: OpenStore): void {
  test(
    "the rows that an edit makes are written after its effect; an id that exists is left alone",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const first = plannedJob(task, nowMs, -1_000);
      await addJobs(store, task, [first]);
      const skipped = makeSkippedJob(task, nowMs - 9 * HOUR_MS, {
        reason: REASON_MISSED,
        run: 77,
        covers: { count: 3, fromMs: nowMs - 9 * HOUR_MS, toMs: nowMs - 7 * HOUR_MS },
        nowMs,
        retention: RETENTION,
      });
      const manual = makeManualJob(task, "manual", nowMs, 12, { body: "x" });
      const replaced = { ...plannedJob(task, nowMs, HOUR_MS), taskVersion: 1 };
      await addJobs(store, task, [replaced]);
      const fresh = { ...replaced, taskVersion: 2 };
      await writeEdit(store, task, {}, { kind: "remove-planned" }, [
        { ...first, taskVersion: 9 },
        skipped,
        manual,
        fresh,
      ]);
      assert.deepEqual(await readJob(store, first), first);
      assert.deepEqual(await readJob(store, skipped), skipped);
      assert.deepEqual(await readJob(store, manual), manual);
      assert.deepEqual(await readJob(store, fresh), fresh);
    }),
  );
}

async function pause(store: ContractStore, task: Task): Promise<void> {
  await writeEdit(store, task, { status: "paused" }, PAUSE);
}

async function resume(store: ContractStore, task: Task): Promise<void> {
  await writeEdit(store, task, { status: "active" }, RESUME);
}

/** A planned job due in an hour, in a worker's hands: claims look no further ahead than they are told. */
async function claimAhead(store: ContractStore) {
  const { task, workerId } = await claimOne(store);
  const job = { ...plannedJob(task, await dbNow(store), HOUR_MS), queue: 40 };
  await addJobs(store, task, [job]);
  const claim = await store.shard.jobs.claimDue({
    workerId,
    branches: [{ queue: job.queue, limit: 1, head: null }],
    aheadMs: 2 * HOUR_MS,
    limit: 1,
  });
  assert(claim.kind === "claimed");
  const [held] = claim.jobs;
  assert(held?.id === job.id);
  return { task, held, workerId };
}

/** Another row in the same hands, two hours later. */
function runningTwin(job: Job, task: Task, nowMs: number): Job {
  const { id, scheduledAtMs, runAtMs } = plannedJob(task, nowMs, 2 * HOUR_MS);
  return { ...job, id, scheduledAtMs, runAtMs };
}

/** As a rescue ends a marked job: cancelled, its last holder still named. */
function rescuedAndCancelled(job: Job): Job {
  return { ...cancelledRow(job, job.runAtMs), lost: job.lost + 1 };
}

/** An edit of the request, while paused: a newer version, and what jobs get from now on. */
async function addVersion(
  store: ContractStore,
  task: Task,
  requestVersion: number,
  { timeoutMs, maxAttempts }: Pick<Task, "timeoutMs" | "maxAttempts">,
): Promise<void> {
  const decide = ({ task: locked, version }: LockedTask): TaskEdit<never> => ({
    kind: "write",
    task: { ...locked, requestVersion, timeoutMs, maxAttempts },
    newVersion: { ...version, requestVersion, timeoutMs, retry: { ...version.retry, maxAttempts } },
    jobsEffect: { kind: "keep" },
    makeJobs: [],
  });
  await store.shard.tasks.edit(task.tenantId, task.id, decide, RETENTION);
}

function cancelledRow(job: Job, nowMs: number): Job {
  return {
    ...job,
    status: "cancelled",
    reason: REASON_PAUSED,
    finishedAtMs: nowMs,
    dueAtMs: Math.max(job.scheduledAtMs, nowMs) + RETENTION.endedMs,
  };
}

function deadRow(job: Job, nowMs: number): Job {
  return { ...cancelledRow(job, nowMs), status: "dead", claimNo: 5, attempt: 5, reason: "used up" };
}

function assertEndedAt(job: Job, beforeMs: number, afterMs: number, keptMs: number): void {
  const { finishedAtMs } = job;
  assert(finishedAtMs !== null && finishedAtMs >= beforeMs && finishedAtMs <= afterMs);
  assert.equal(job.dueAtMs, Math.max(job.scheduledAtMs, finishedAtMs) + keptMs);
}
