/** What the archiver reads, and that it deletes only what is as it was read (event 20). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, JobStatus } from "#core/domain/job.ts";
import { JOB_STATUSES } from "#core/domain/job.ts";
import type { Task } from "#core/domain/task.ts";
import {
  AWKWARD,
  addTask,
  attemptRecord,
  dbNow,
  HOUR_MS,
  idsOf,
  isGone,
  makeWorker,
  plannedJob,
  readJob,
} from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const BYTES = 1_000_000;
const FINISHED = ["succeeded", "dead", "cancelled"] as const;

export function archiveContract(open: OpenStore): void {
  lists(open);
  deletes(open);
}

function lists(open: OpenStore): void {
  test(
    "finished jobs whose time has come, whole; nothing else",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const rows = JOB_STATUSES.flatMap((status, i) => [
        ended(task, nowMs, 10 * i, { status, queue: 12 * i }),
        ended(task, nowMs, 10 * i + 1, { status, dueAtMs: nowMs + HOUR_MS }),
      ]);
      const whole = ended(task, nowMs, 90, {
        status: "dead",
        queue: 63,
        reason: AWKWARD,
        attempts: { "1": attemptRecord(1, { responseBody: AWKWARD }) },
        payload: { headers: { a: AWKWARD }, body: AWKWARD },
        workerId: makeWorker(),
      });
      for (const job of [...rows, whole]) await store.putJob(job);
      const { jobs } = store.shard;
      const found = await jobs.listArchivable(50, BYTES);
      const expected = rows.filter(
        (job) => (FINISHED as readonly JobStatus[]).includes(job.status) && job.dueAtMs <= nowMs,
      );
      assert.equal(expected.length, 3);
      assert.deepEqual(idsOf(found), idsOf([...expected, whole]));
      assert.deepEqual(
        found.find(({ id }) => id === whole.id),
        whole,
      );
      assert.equal(await jobs.countArchivable(50), 4);
      assert.equal(await jobs.countArchivable(3), 3);
    }),
  );

  test(
    "the queue that waits longest comes first, its oldest job first, up to the limit",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const at = (n: number, status: JobStatus, queue: number, waitedMs: number) =>
        ended(task, nowMs, n, { status, queue, dueAtMs: nowMs - waitedMs });
      const rows = [
        at(0, "succeeded", 5, 3_000),
        at(1, "succeeded", 5, 9_000),
        at(2, "cancelled", 60, 12_000),
        at(3, "cancelled", 60, 1_000),
        at(4, "dead", 33, 5_000),
      ];
      for (const job of rows) await store.putJob(job);
      const order = [2, 3, 1, 0, 4].map((n) => rows[n]?.id);
      const { jobs } = store.shard;
      const ids = async (limit: number) =>
        (await jobs.listArchivable(limit, BYTES)).map(({ id }) => id);
      assert.deepEqual(await ids(50), order);
      assert.deepEqual(await ids(3), order.slice(0, 3));
      const without = [
        { status: "cancelled", queue: 60 },
        { status: "succeeded", queue: 60 },
      ] as const;
      const others = await jobs.listArchivable(50, BYTES, without);
      assert.deepEqual(
        others.map(({ id }) => id),
        order.slice(2),
      );
      const ranges = rows.map(({ status, queue }) => ({ status, queue }));
      assert.deepEqual(await jobs.listArchivable(50, BYTES, ranges), []);
    }),
  );

  test(
    "a group ends when its documents reach the bound; one job always fits",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const payload = { body: "x".repeat(50_000) };
      for (let n = 0; n < 5; n++) {
        await store.putJob(ended(task, nowMs, n, { status: "succeeded", payload }));
      }
      const { jobs } = store.shard;
      assert.equal((await jobs.listArchivable(50, 160_000)).length, 3);
      assert.equal((await jobs.listArchivable(50, 1)).length, 1);
      assert.equal((await jobs.listArchivable(2, 160_000)).length, 2);
    }),
  );

  test(
    "an empty store has nothing to archive",
    onStore(open, async ({ shard: { jobs } }) => {
      assert.deepEqual(await jobs.listArchivable(50, BYTES), []);
      assert.equal(await jobs.countArchivable(50), 0);
      assert.equal(await jobs.deleteArchived([]), 0);
    }),
  );
}

function deletes(open: OpenStore): void {
  test(
    "what is as it was read goes, with its dead letter; a repeat deletes nothing (20)",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const rows = FINISHED.map((status, n) => ended(task, nowMs, n, { status }));
      const kept = ended(task, nowMs, 50, { status: "dead" });
      for (const job of [...rows, kept]) await store.putJob(job);
      const { jobs } = store.shard;
      assert.equal(await jobs.deleteArchived(rows), 3);
      for (const job of rows) assert(await isGone(store, job));
      assert.equal(await jobs.deleteArchived(rows), 0);
      assert.deepEqual(await store.listDeadLetters(task.tenantId), [kept.id]);
    }),
  );

  test(
    "what has changed since stays: retried, claimed again, ended again, or due later",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const changes: Partial<Job>[] = [
        { status: "pending" },
        { status: "running", claimNo: 3 },
        { status: "succeeded" },
        { claimNo: 3 },
        { dueAtMs: nowMs - 1 },
      ];
      const read = changes.map((_, n) => ended(task, nowMs, n, { status: "dead" }));
      const now = read.map((job, n): Job => ({ ...job, ...changes[n] }));
      for (const job of now) await store.putJob(job);
      const unchanged = ended(task, nowMs, 50, { status: "dead" });
      await store.putJob(unchanged);
      const { jobs } = store.shard;
      assert.equal(await jobs.deleteArchived([...read, unchanged]), 1);
      for (const job of now) assert.deepEqual(await readJob(store, job), job);
    }),
  );

  test(
    "what is not due or not finished stays, whatever the archiver believes",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const rows = [
        ended(task, nowMs, 0, { status: "succeeded", dueAtMs: nowMs + HOUR_MS }),
        ended(task, nowMs, 1, { status: "pending" }),
        ended(task, nowMs, 2, { status: "running" }),
        ended(task, nowMs, 3, { status: "waiting" }),
      ];
      for (const job of rows) await store.putJob(job);
      assert.equal(await store.shard.jobs.deleteArchived(rows), 0);
      for (const job of rows) assert.deepEqual(await readJob(store, job), job);
    }),
  );

  test(
    "several archivers at once delete each job once",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      for (let n = 0; n < 60; n++) {
        const status = FINISHED[n % 3] ?? "dead";
        await store.putJob(ended(task, nowMs, n, { status, queue: n % 7 }));
      }
      const { jobs } = store.shard;
      const run = async () => {
        let deleted = 0;
        while ((await jobs.countArchivable(1)) > 0) {
          deleted += await jobs.deleteArchived(await jobs.listArchivable(25, BYTES));
        }
        return deleted;
      };
      const deleted = await Promise.all([run(), run(), run()]);
      assert.equal(
        deleted.reduce((sum, count) => sum + count),
        60,
      );
    }),
  );
}

/** The task's n-th job, ended a while ago and to be archived since a second. */
function ended(task: Task, nowMs: number, n: number, changes: Partial<Job>): Job {
  return {
    ...plannedJob(task, nowMs, -60_000 - n),
    claimNo: 2,
    attempt: 2,
    finishedAtMs: nowMs - 30_000,
    dueAtMs: nowMs - 1_000 - n,
    ...changes,
  };
}
