/** Results: events 7 to 10 for a group. Each row is guarded by its holder, so that a replay or a late answer changes nothing it should not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "#core/domain/job.ts";
import {
  REASON_CANCELLED,
  REASON_DELETED,
  REASON_LOST,
  REASON_PAUSED,
  REASON_USED_UP,
} from "#core/domain/job.ts";
import { oneLaneDown } from "#core/domain/queue.ts";
import type { Task } from "#core/domain/task.ts";
import {
  claimJobs,
  claimOne,
  dbNow,
  failure,
  HOUR_MS,
  interruption,
  LOST,
  RETENTION,
  readJob,
  recordResults,
  rescuedRow,
  success,
  WRITTEN,
  writeEdit,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { resultRacesContract } from "./result-races.contract.ts";

export function resultsContract(open: OpenStore): void {
  successes(open);
  failures(open);
  interruptions(open);
  resultRacesContract(open);
}

function successes(open: OpenStore): void {
  test(
    "2xx: succeeded, with its record, out of the worker's hands (8)",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      const running = await readJob(store, held);
      const result = success(held, workerId);
      assert.deepEqual(await recordResults(store, [result]), WRITTEN);
      await assertEnded(store, running, "succeeded", {
        reason: null,
        attempts: { "1": result.record },
      });
    }),
  );

  test(
    "a success still counts after a rescue, a death and a cancel, until the job is claimed again (8)",
    onStore(open, async (store) => {
      const states: ((job: Job, nowMs: number) => Job)[] = [
        (job, nowMs) => rescuedRow(job, nowMs),
        (job, nowMs) => ({ ...rescuedRow(job, nowMs), status: "waiting" }),
        (job, nowMs) => ({ ...job, status: "dead", lost: 5, reason: REASON_LOST, dueAtMs: nowMs }),
        (job, nowMs) => ({
          ...job,
          status: "cancelled",
          cancelReason: REASON_DELETED,
          reason: REASON_DELETED,
          finishedAtMs: nowMs - 1,
        }),
      ];
      for (const state of states) {
        const { held, workerId } = await claimOne(store);
        const there = state(await readJob(store, held), await dbNow(store));
        await store.putJob(there);
        const result = success(held, workerId);
        assert.deepEqual(await recordResults(store, [result]), WRITTEN, there.status);
        await assertEnded(store, there, "succeeded", {
          reason: null,
          attempts: { "1": result.record },
        });
        assert.deepEqual(await store.listDeadLetters(held.tenantId), []);
      }
    }),
  );

  test(
    "a success of a job that is marked counts",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimOne(store);
      await cancel(store, task, REASON_PAUSED);
      assert.deepEqual(await recordResults(store, [success(held, workerId)]), WRITTEN);
      const job = await readJob(store, held);
      assert.deepEqual([job.status, job.reason], ["succeeded", null]);
    }),
  );
}

function failures(open: OpenStore): void {
  test(
    "a failure with attempts left: pending again at its time, a lane down (9)",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      const running = await readJob(store, held);
      const retryAtMs = (await dbNow(store)) + HOUR_MS;
      const result = failure(held, workerId, retryAtMs);
      assert.deepEqual(await recordResults(store, [result]), WRITTEN);
      assert.deepEqual(await readJob(store, held), {
        ...running,
        status: "pending",
        runAtMs: retryAtMs,
        dueAtMs: retryAtMs,
        queue: oneLaneDown(held.queue, held.tenantId),
        workerId: null,
        attempts: { "1": result.record },
      });
      assert.deepEqual(await store.listDeadLetters(held.tenantId), []);
    }),
  );

  test(
    "a retry whose time has passed is due from the write on, not before",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      const nowMs = await dbNow(store);
      assert.deepEqual(
        await recordResults(store, [failure(held, workerId, nowMs - 60_000)]),
        WRITTEN,
      );
      const job = await readJob(store, held);
      assert.equal(job.runAtMs, nowMs - 60_000);
      assert(job.dueAtMs >= nowMs && job.dueAtMs <= (await dbNow(store)));
    }),
  );

  test(
    "a failure of a rescued job costs nothing that the rescue gave back: attempt − lost is the row's own (9)",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store, { task: { maxAttempts: 1 } });
      const there = rescuedRow(await readJob(store, held), await dbNow(store));
      await store.putJob(there);
      const retryAtMs = (await dbNow(store)) + HOUR_MS;
      assert.deepEqual(await recordResults(store, [failure(held, workerId, retryAtMs)]), WRITTEN);
      const job = await readJob(store, held);
      assert.deepEqual(
        [job.status, job.attempt, job.lost, job.workerId, job.runAtMs],
        ["pending", 1, 1, null, retryAtMs],
      );
      assert.deepEqual(await store.listDeadLetters(held.tenantId), []);
    }),
  );

  test(
    "a failure of a marked job with attempts left: cancelled with its reason, and no longer planned (9)",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimOne(store);
      await cancel(store, task, REASON_CANCELLED);
      const marked = await readJob(store, held);
      const retryAtMs = (await dbNow(store)) + HOUR_MS;
      const result = failure(held, workerId, retryAtMs);
      assert.deepEqual(await recordResults(store, [result]), WRITTEN);
      await assertEnded(store, marked, "cancelled", {
        reason: REASON_CANCELLED,
        runAtMs: retryAtMs,
        queue: oneLaneDown(held.queue, held.tenantId),
        attempts: { "1": result.record },
      });
    }),
  );

  test(
    "the last attempt fails: dead, and a dead letter; also when marked (10)",
    onStore(open, async (store) => {
      for (const marked of [false, true]) {
        const { task, held, workerId } = await claimOne(store, { task: { maxAttempts: 1 } });
        if (marked) await cancel(store, task, REASON_PAUSED);
        const running = await readJob(store, held);
        const result = failure(held, workerId, 1_900_000_000_000);
        assert.deepEqual(await recordResults(store, [result]), WRITTEN);
        await assertEnded(store, running, "dead", {
          reason: REASON_USED_UP,
          attempts: { "1": result.record },
        });
        assert.deepEqual(await store.listDeadLetters(held.tenantId), [held.id]);
      }
    }),
  );

  test(
    "a final failure: dead with its reason, whatever is left (10)",
    onStore(open, async (store) => {
      for (const rescued of [false, true]) {
        const { held, workerId } = await claimOne(store);
        const running = await readJob(store, held);
        const there = rescued ? rescuedRow(running, await dbNow(store)) : running;
        await store.putJob(there);
        const reason = `endpoint answered 410 "Gone" 'é'`;
        const result = failure(held, workerId, 1_900_000_000_000, reason);
        assert.deepEqual(await recordResults(store, [result]), WRITTEN);
        await assertEnded(store, there, "dead", { reason, attempts: { "1": result.record } });
        assert.deepEqual(await store.listDeadLetters(held.tenantId), [held.id]);
      }
    }),
  );

  test(
    "a sender that knows of attempts left skips the dead letter; the row decides all the same",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      const retryAtMs = (await dbNow(store)) + HOUR_MS;
      const result = { ...failure(held, workerId, retryAtMs), maybeDead: false };
      assert.deepEqual(await recordResults(store, [result]), WRITTEN);
      assert.equal((await readJob(store, held)).status, "pending");
    }),
  );

  test(
    "retried to the end: every attempt is claimed, recorded and goes a lane down until its stripe",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      let current = held;
      let queue = held.queue;
      for (let attempt = 1; attempt < held.maxAttempts; attempt++) {
        const nowMs = await dbNow(store);
        assert.deepEqual(
          await recordResults(store, [failure(current, workerId, nowMs - 1)]),
          WRITTEN,
        );
        queue = oneLaneDown(queue, held.tenantId);
        assert.equal((await readJob(store, held)).queue, queue);
        const [next] = await claimJobs(store, workerId, [{ id: held.id, queue }]);
        assert(next !== undefined);
        current = next;
      }
      assert.deepEqual(await recordResults(store, [failure(current, workerId, 0)]), WRITTEN);
      const job = await readJob(store, held);
      assert.deepEqual([job.status, job.claimNo, job.attempt], ["dead", 5, 5]);
      assert.deepEqual(Object.keys(job.attempts).sort(), ["1", "2", "3", "4", "5"]);
      assert.deepEqual(
        Object.values(job.attempts)
          .map((r) => r.attempt)
          .sort(),
        [1, 2, 3, 4, 5],
      );
    }),
  );
}

function interruptions(open: OpenStore): void {
  test(
    "cut at SIGTERM: pending at its old time, one loss more, so it costs no attempt (7)",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store, { task: { maxAttempts: 1 } });
      const running = await readJob(store, held);
      const beforeMs = await dbNow(store);
      const result = interruption(held, workerId);
      assert.deepEqual(await recordResults(store, [result]), WRITTEN);
      const job = await readJob(store, held);
      assert(job.dueAtMs >= beforeMs && job.dueAtMs <= (await dbNow(store)));
      assert.deepEqual(job, {
        ...running,
        status: "pending",
        lost: 1,
        workerId: null,
        dueAtMs: job.dueAtMs,
        attempts: { "1": result.record },
      });
    }),
  );

  test(
    "cut at SIGTERM when marked: cancelled; with the fifth loss: dead; marked and lost for the fifth time: cancelled (7)",
    onStore(open, async (store) => {
      const cases = [
        { lost: 0, cancelReason: REASON_PAUSED, status: "cancelled", reason: REASON_PAUSED },
        { lost: 4, cancelReason: null, status: "dead", reason: REASON_LOST },
        { lost: 4, cancelReason: REASON_DELETED, status: "cancelled", reason: REASON_DELETED },
      ] as const;
      for (const { lost, cancelReason, status, reason } of cases) {
        const { held, workerId } = await claimOne(store);
        const there = { ...(await readJob(store, held)), lost, cancelReason, attempt: 6 };
        await store.putJob(there);
        const result = interruption(held, workerId);
        assert.deepEqual(await recordResults(store, [result]), WRITTEN);
        const attempts = { "1": result.record };
        await assertEnded(store, there, status, { reason, attempts, lost: lost + 1 });
        const dead = status === "dead" ? [held.id] : [];
        assert.deepEqual(await store.listDeadLetters(held.tenantId), dead);
      }
    }),
  );

  test(
    "an interruption after a rescue is a lost race: the loss is counted once",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      const there = rescuedRow(await readJob(store, held), await dbNow(store));
      await store.putJob(there);
      assert.deepEqual(await recordResults(store, [interruption(held, workerId)]), LOST);
      assert.deepEqual(await readJob(store, held), there);
    }),
  );
}

async function cancel(store: ContractStore, task: Task, reason: string): Promise<void> {
  await writeEdit(store, task, {}, { kind: "cancel", reason });
}

/** The job ended just now: `before`, out of anybody's hands, with `changes`. */
async function assertEnded(
  store: ContractStore,
  before: Job,
  status: "succeeded" | "dead" | "cancelled",
  changes: Partial<Job>,
): Promise<void> {
  const job = await readJob(store, before);
  const { finishedAtMs } = job;
  const nowMs = await dbNow(store);
  assert(finishedAtMs !== null && finishedAtMs <= nowMs && finishedAtMs > nowMs - 60_000);
  const keptMs = status === "succeeded" ? RETENTION.succeededMs : RETENTION.endedMs;
  assert.deepEqual(job, {
    ...before,
    status,
    workerId: null,
    finishedAtMs,
    dueAtMs: Math.max(job.scheduledAtMs, finishedAtMs) + keptMs,
    ...changes,
  });
}
