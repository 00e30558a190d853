/** What every JobStore must do. Runs on any adapter: no clock is moved, instants are chosen around the database's now. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { REASON_CANCELLED } from "#core/domain/job.ts";
import type { PollRequest } from "#core/ports/job-store.ts";
import { archiveContract } from "./archive.contract.ts";
import {
  addJobs,
  addTask,
  addWorker,
  claimJobs,
  claimOne,
  dbNow,
  HOUR_MS,
  heldKey,
  isGone,
  makeTenant,
  makeWorker,
  plannedJob,
  RETENTION,
  readJob,
  rescuedRow,
  writeEdit,
} from "./builders.ts";
import { cancelContract } from "./cancel.contract.ts";
import { claimContract } from "./claim.contract.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { deadLettersContract } from "./dead-letters.contract.ts";
import { jobEventsContract } from "./job-events.contract.ts";
import { jobListsContract } from "./job-lists.contract.ts";
import { rescueContract } from "./rescue.contract.ts";
import { resultsContract } from "./results.contract.ts";
import { takeContract } from "./take.contract.ts";

/** Registers the whole suite of the JobStore port for the adapter called `name`. */
export function jobStoreContract(name: string, open: OpenStore): void {
  describe(`${name}: job store`, () => {
    polls(open);
    claimContract(open);
    takeContract(open);
    resultsContract(open);
    givesBack(open);
    rescueContract(open);
    archiveContract(open);
    deadLettersContract(open);
    cancelContract(open);
    finds(open);
    jobListsContract(open);
    jobEventsContract(open);
  });
}

function polls(open: OpenStore): void {
  const request = (changes: Partial<PollRequest>): PollRequest => ({
    workerId: makeWorker(),
    queues: [],
    revocationsWithinMs: 30_000,
    ...changes,
  });

  test(
    "a poll answers the head of each queue asked for, pending rows only, not below its floor",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const at = (offsetMs: number, queue: number) => ({
        ...plannedJob(task, nowMs, offsetMs),
        queue,
        dueAtMs: nowMs + offsetMs,
      });
      const [first, inside] = [at(5_000, 0), at(-3_000, 17)];
      await addJobs(store, task, [
        first,
        at(9_000, 0),
        at(-4_000, 17),
        inside,
        at(-2_000, 17),
        at(7_000, 63),
        at(-9_000, 5),
      ]);
      const others = ["waiting", "running", "succeeded", "dead", "cancelled"] as const;
      for (const [i, status] of others.entries()) {
        await store.putJob({ ...at(-60_000 - i, 0), status });
        await store.putJob({ ...at(-70_000 - i, 33), status });
      }
      const poll = await store.shard.jobs.poll(
        request({
          queues: [
            { queue: 0, floorMs: null },
            { queue: 17, floorMs: nowMs - 3_000 },
            { queue: 33, floorMs: null },
            { queue: 63, floorMs: nowMs + 7_001 },
          ],
        }),
      );
      const heads = [...poll.heads].sort((a, b) => a[0] - b[0]);
      assert.deepEqual(heads, [
        [0, { dueAtMs: first.dueAtMs, jobId: first.id }],
        [17, { dueAtMs: inside.dueAtMs, jobId: inside.id }],
      ]);
      assert(poll.nowMs >= nowMs);
    }),
  );

  test(
    "a poll counts young revocations",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const effect = { kind: "cancel", reason: REASON_CANCELLED } as const;
      await writeEdit(store, task, {}, effect);
      await writeEdit(store, task, {}, effect);
      assert.equal((await store.shard.jobs.poll(request({}))).revocations, 2);
      const old = await store.shard.jobs.poll(request({ revocationsWithinMs: -60_000 }));
      assert.equal(old.revocations, 0);
    }),
  );

  test(
    "a poll counts executors with a live lease, and the asker's rank among them",
    onStore(open, async (store) => {
      const workers = [await addWorker(store), await addWorker(store), await addWorker(store)];
      workers.sort();
      await store.shard.workers.register(makeWorker(), -5_000);
      const fenced = makeWorker();
      await store.shard.workers.register(fenced, -5_000);
      assert.equal(await store.shard.workers.fence(fenced), true);
      for (const [rank, workerId] of workers.entries()) {
        const poll = await store.shard.jobs.poll(request({ workerId }));
        assert.deepEqual([poll.liveWorkers, poll.rank], [3, rank]);
      }
    }),
  );
}

function givesBack(open: OpenStore): void {
  test(
    "given back unsent: pending, the attempt back, the claim number kept (6); again is a lost race",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      const running = await readJob(store, held);
      const beforeMs = await dbNow(store);
      const key = heldKey(held, workerId);
      const recorded = await store.shard.jobs.giveBack([key], RETENTION);
      assert.deepEqual(recorded, { written: 1, lostRaces: 0 });
      const back = await readJob(store, held);
      assert(back.dueAtMs >= beforeMs && back.dueAtMs <= (await dbNow(store)));
      assert.deepEqual(back, {
        ...running,
        status: "pending",
        attempt: 0,
        claimNo: 1,
        workerId: null,
        dueAtMs: back.dueAtMs,
      });
      const again = await store.shard.jobs.giveBack([key], RETENTION);
      assert.deepEqual(again, { written: 0, lostRaces: 1 });
      assert.deepEqual(await readJob(store, held), back);
    }),
  );

  test(
    "given back not to be tried before an instant: pending until then; an earlier one changes nothing (6)",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      const running = await readJob(store, held);
      for (const laterMs of [-HOUR_MS, HOUR_MS]) {
        const before = await readJob(store, held);
        const notBeforeMs = (await dbNow(store)) + laterMs;
        const key = { ...heldKey(held, workerId), claimNo: before.claimNo };
        await store.shard.jobs.giveBack([{ ...key, notBeforeMs }], RETENTION);
        const back = await readJob(store, held);
        assert.partialDeepStrictEqual(back, { status: "pending", attempt: 0 });
        assert.equal(back.runAtMs, Math.max(running.runAtMs, notBeforeMs));
        if (laterMs < 0) await claimJobs(store, workerId, [back]);
        else assert.equal(back.dueAtMs, notBeforeMs);
      }
    }),
  );

  test(
    "given back after a pause, delete or cancel: cancelled with its reason",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimOne(store);
      await writeEdit(store, task, {}, { kind: "cancel", reason: REASON_CANCELLED });
      const marked = await readJob(store, held);
      await store.shard.jobs.giveBack([heldKey(held, workerId)], RETENTION);
      const job = await readJob(store, held);
      const { finishedAtMs } = job;
      assert(finishedAtMs !== null);
      assert.deepEqual(job, {
        ...marked,
        status: "cancelled",
        reason: REASON_CANCELLED,
        attempt: 0,
        workerId: null,
        finishedAtMs,
        dueAtMs: finishedAtMs + RETENTION.endedMs,
      });
    }),
  );

  test(
    "given back by whom it does not belong to, or rescued meanwhile: a lost race, the others of the group are written",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimOne(store);
      const nowMs = await dbNow(store);
      const jobs = [1, 2, 3].map((s) => plannedJob(task, nowMs, -s * 1_000));
      await addJobs(store, task, jobs);
      const [one, two, three] = await claimJobs(store, workerId, jobs);
      assert(one && two && three);
      await store.putJob(rescuedRow(await readJob(store, three), nowMs));
      const before = [await readJob(store, held), await readJob(store, two)];
      const recorded = await store.shard.jobs.giveBack(
        [
          heldKey(held, makeWorker()),
          heldKey(one, workerId),
          { ...heldKey(two, workerId), claimNo: 2 },
          heldKey(three, workerId),
          heldKey({ ...plannedJob(task, nowMs, HOUR_MS), claimNo: 1 }, workerId),
        ],
        RETENTION,
      );
      assert.deepEqual(recorded, { written: 1, lostRaces: 4 });
      assert.equal((await readJob(store, one)).status, "pending");
      assert.deepEqual([await readJob(store, held), await readJob(store, two)], before);
      assert.equal((await readJob(store, three)).attempt, 1);
      assert.deepEqual(await store.shard.jobs.giveBack([], RETENTION), {
        written: 0,
        lostRaces: 0,
      });
    }),
  );

  test(
    "a job not due yet goes back to its own time",
    onStore(open, async (store) => {
      const { task, workerId } = await claimOne(store);
      const job = plannedJob(task, await dbNow(store), HOUR_MS);
      await addJobs(store, task, [job]);
      const claim = await store.shard.jobs.claimDue({
        workerId,
        branches: [{ queue: job.queue, limit: 5, head: null }],
        aheadMs: 2 * HOUR_MS,
        limit: 5,
      });
      assert(claim.kind === "claimed");
      await store.shard.jobs.giveBack([heldKey({ ...job, claimNo: 1 }, workerId)], RETENTION);
      assert.deepEqual(await readJob(store, job), { ...job, claimNo: 1 });
    }),
  );
}

function finds(open: OpenStore): void {
  test(
    "a job is found by its own tenant only",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const job = plannedJob(task, await dbNow(store), 1_000);
      assert.equal(await isGone(store, job), true);
      await addJobs(store, task, [job]);
      assert.deepEqual(await readJob(store, job), job);
      assert.equal(await store.shard.jobs.find(makeTenant(), job.id), null);
    }),
  );

  test(
    "every field of a row comes back as it was",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const job = plannedJob(task, await dbNow(store), 1_001);
      const full = {
        ...job,
        trigger: "manual" as const,
        status: "cancelled" as const,
        priority: "critical" as const,
        queue: 63,
        claimNo: 1_000_000,
        attempt: 31,
        lost: 4,
        maxAttempts: 40,
        timeoutMs: 900_000,
        workerId: makeWorker(),
        cancelReason: REASON_CANCELLED,
        payload: { headers: { a: "\u0001'" }, bodyBase64: "AA==" },
        finishedAtMs: job.scheduledAtMs + 1,
        reason: "a 'reason' 😀",
        retryOf: plannedJob(task, job.scheduledAtMs, -HOUR_MS).id,
        covers: { count: 21_600, atLeast: true, fromMs: 1, toMs: 2 },
      };
      await store.putJob(full);
      assert.deepEqual(await readJob(store, full), full);
    }),
  );
}
