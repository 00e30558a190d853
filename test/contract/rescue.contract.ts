/** Jobs whose holder is gone: who holds what, whose backstop has passed, and what a rescue makes of each (event 11). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkerId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { JOB_STATUSES, REASON_CANCELLED, REASON_DELETED, REASON_PAUSED } from "#core/domain/job.ts";
import { LOST_MAX } from "#core/domain/limits.ts";
import type { Task } from "#core/domain/task.ts";
import type { Rescued } from "#core/ports/job-store.ts";
import { assertStep } from "./assert-step.ts";
import {
  addJobs,
  addTask,
  addWorker,
  claimJobs,
  claimOne,
  dbNow,
  HOUR_MS,
  idsOf,
  makeWorker,
  plannedJob,
  RETENTION,
  readJob,
  success,
  writeEdit,
} from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

export function rescueContract(open: OpenStore): void {
  lists(open);
  rescues(open);
  races(open);
}

function lists(open: OpenStore): void {
  const ahead = (job: Job) => ({ queue: job.queue, dueAtMs: job.dueAtMs + HOUR_MS });
  test(
    "what workers hold: their running jobs only, in every queue, up to the limit",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const [first, second, other] = [makeWorker(), makeWorker(), makeWorker()];
      const nowMs = await dbNow(store);
      const rows = JOB_STATUSES.flatMap((status, i) =>
        [first, second, other].map((workerId, w): Job => {
          const job = plannedJob(task, nowMs, -60_000 - 10 * i - w);
          return { ...job, status, workerId, queue: 16 * w + i, claimNo: 3 + w };
        }),
      );
      const ahead = running(task, nowMs, HOUR_MS, first);
      for (const job of [...rows, ahead]) await store.putJob(job);
      const { jobs } = store.shard;
      const of = (...workers: WorkerId[]) =>
        [...rows, ahead].filter(
          ({ status, workerId }) =>
            status === "running" && workerId !== null && workers.includes(workerId),
        );
      const found = await jobs.listHeldBy([first, second], 50);
      assert.deepEqual(keysOf(found), keysOf(of(first, second)));
      assert.equal(found.length, 3);
      assert.equal((await jobs.listHeldBy([first, second], 2)).length, 2);
      assert.deepEqual(await jobs.listHeldBy([other], 50), keysOf(of(other)));
      assert.deepEqual(await jobs.listHeldBy([makeWorker()], 50), []);
      assert.deepEqual(await jobs.listHeldBy([], 50), []);
    }),
  );

  test(
    "past their backstop: running jobs of every queue whose time is over, up to the limit",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const workerId = makeWorker();
      const nowMs = await dbNow(store);
      const past = [0, 1, 18, 33, 63].map((queue): Job => {
        return {
          ...running(task, nowMs, -60_000 - queue, workerId),
          queue,
          dueAtMs: nowMs - queue,
        };
      });
      for (const job of past) {
        await store.putJob(job);
        await store.putJob({
          ...running(task, nowMs, 60_000 + job.queue, workerId),
          ...ahead(job),
        });
      }
      for (const [i, status] of JOB_STATUSES.entries()) {
        if (status !== "running")
          await store.putJob({ ...plannedJob(task, nowMs, -90_000 - i), status });
      }
      const { jobs } = store.shard;
      assert.deepEqual(keysOf(await jobs.listPastBackstop(50)), keysOf(past));
      assert.equal((await jobs.listPastBackstop(3)).length, 3);
    }),
  );
}

function rescues(open: OpenStore): void {
  test(
    "each goes where its own row says: back in line, dead at the last loss, cancelled when marked (11)",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const workerId = makeWorker();
      const of = (n: number, changes: Partial<Job>): Job => {
        return { ...running(task, nowMs, n - 60_000, workerId), ...changes };
      };
      const last = LOST_MAX - 1;
      const rows = [
        of(0, {}),
        of(1, { lost: last - 1, attempt: 5, claimNo: 9 }),
        of(2, { lost: last }),
        of(3, { cancelReason: REASON_PAUSED }),
        of(4, { cancelReason: REASON_DELETED, lost: last }),
        of(5, { runAtMs: nowMs + HOUR_MS, scheduledAtMs: nowMs + HOUR_MS }),
        of(6, { maxAttempts: 1 }),
      ];
      for (const job of rows) await store.putJob(job);
      const beforeMs = await dbNow(store);
      const rescued = await store.shard.jobs.rescue(rows, RETENTION);
      const afterMs = await dbNow(store);
      assert.deepEqual(rescued, { pending: 4, dead: 1, cancelled: 2 });
      for (const job of rows) {
        const event = { kind: "rescue", claimNo: job.claimNo } as const;
        assertStep(job, event, await readJob(store, job), beforeMs, afterMs);
      }
      assert.deepEqual(await store.listDeadLetters(task.tenantId), [rows[2]?.id]);
    }),
  );

  test(
    "only under the claim number that was read; a repeat changes nothing",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const workerId = makeWorker();
      const rows = JOB_STATUSES.map((status, i): Job => {
        return { ...running(task, nowMs, i - 60_000, workerId), status };
      });
      const stale = running(task, nowMs, -30_000, workerId);
      for (const job of [...rows, stale]) await store.putJob(job);
      const gone = running(task, nowMs, -20_000, workerId);
      const keys = [...rows, { ...stale, claimNo: stale.claimNo - 1 }, gone];
      const { jobs } = store.shard;
      assert.deepEqual(await jobs.rescue(keys, RETENTION), counts({ pending: 1 }));
      const after = await Promise.all([...rows, stale].map((job) => readJob(store, job)));
      for (const [i, job] of [...rows, stale].entries()) {
        if (job.status !== "running" || job === stale) assert.deepEqual(after[i], job);
      }
      assert.deepEqual(await jobs.rescue(keys, RETENTION), counts({}));
      const again = await Promise.all([...rows, stale].map((job) => readJob(store, job)));
      assert.deepEqual(again, after);
      assert.deepEqual(await jobs.rescue([], RETENTION), counts({}));
    }),
  );
}

function races(open: OpenStore): void {
  test(
    "the holder's answer counts after the rescue, until somebody claims the job again",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      const { jobs } = store.shard;
      assert.deepEqual(await jobs.rescue([held], RETENTION), counts({ pending: 1 }));
      const recorded = await jobs.recordResults([success(held, workerId)], RETENTION);
      assert.deepEqual(recorded, { written: 1, lostRaces: 0 });
      assert.equal((await readJob(store, held)).status, "succeeded");
      assert.deepEqual(await jobs.rescue([held], RETENTION), counts({}));

      const other = await claimOne(store);
      await jobs.rescue([other.held], RETENTION);
      const taker = await addWorker(store);
      const [taken] = await claimJobs(store, taker, [other.held]);
      assert(taken !== undefined);
      const late = await jobs.recordResults([success(other.held, other.workerId)], RETENTION);
      assert.deepEqual(late, { written: 0, lostRaces: 1 });
      assert.deepEqual(await jobs.rescue([other.held], RETENTION), counts({}));
      assert.deepEqual([taken.claimNo, taken.attempt, taken.lost], [2, 2, 1]);
    }),
  );

  test(
    "several rescues and results of the same jobs at once: each job moves once",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const planned = Array.from({ length: 40 }, (_, i) => plannedJob(task, nowMs, -1_000 - i));
      await addJobs(store, task, planned);
      const workerId = await addWorker(store);
      const held = await claimJobs(store, workerId, planned);
      const { jobs } = store.shard;
      const answered = held.filter((_, i) => i % 2 === 0);
      const [one, two, recorded] = await Promise.all([
        jobs.rescue(held, RETENTION),
        jobs.rescue([...held].reverse(), RETENTION),
        jobs.recordResults(
          answered.map((job) => success(job, workerId)),
          RETENTION,
        ),
      ]);
      assert.equal(recorded.written, 20);
      const rows = await Promise.all(held.map((job) => readJob(store, job)));
      const lost = rows.map((row) => row.lost).reduce((sum, count) => sum + count, 0);
      assert.equal(one.pending + two.pending, lost);
      assert.ok(lost >= 20 && rows.every((row) => row.lost <= 1), `${lost} lost`);
      for (const job of answered) assert.equal((await readJob(store, job)).status, "succeeded");
    }),
  );

  test(
    "a mark that comes at the same time: the job ends cancelled or stays to be found again",
    onStore(open, async (store) => {
      const { task, held } = await claimOne(store);
      const { jobs } = store.shard;
      const mark = { kind: "cancel", reason: REASON_CANCELLED } as const;
      await Promise.all([jobs.rescue([held], RETENTION), writeEdit(store, task, {}, mark)]);
      await jobs.rescue([held], RETENTION);
      const job = await readJob(store, held);
      assert.deepEqual([job.status, job.lost], ["cancelled", 1]);
    }),
  );
}

/** A running job of the task, planned `offsetMs` from now. */
function running(task: Task, nowMs: number, offsetMs: number, workerId: WorkerId): Job {
  const job = plannedJob(task, nowMs, offsetMs);
  return { ...job, status: "running", workerId, claimNo: 2, attempt: 1, dueAtMs: nowMs + HOUR_MS };
}

function counts(changes: Partial<Rescued>): Rescued {
  return { pending: 0, dead: 0, cancelled: 0, ...changes };
}

function keysOf(jobs: readonly Pick<Job, "id" | "claimNo">[]) {
  const claims = new Map(jobs.map(({ id, claimNo }) => [id, claimNo]));
  return idsOf(jobs).map((id) => ({ id, claimNo: claims.get(id), limitKey: null }));
}
