/** One job that its owner does not want any more (events 12 and 13). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "#core/domain/job.ts";
import { JOB_STATUSES, REASON_CANCELLED, REASON_DELETED, REASON_PAUSED } from "#core/domain/job.ts";
import { isFinished } from "#core/domain/job-state.ts";
import { assertStep } from "./assert-step.ts";
import {
  addTask,
  claimOne,
  dbNow,
  failure,
  HOUR_MS,
  heldKey,
  makeTenant,
  makeWorker,
  plannedJob,
  RETENTION,
  readJob,
  success,
  writeEdit,
} from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const EVENT = { kind: "cancel", reason: REASON_CANCELLED } as const;

export function cancelContract(open: OpenStore): void {
  test(
    "what waits is cancelled, what runs is marked and revoked, what has ended stays",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const { jobs } = store.shard;
      for (const [n, status] of JOB_STATUSES.entries()) {
        for (const cancelReason of [null, REASON_PAUSED, REASON_DELETED]) {
          const job: Job = {
            ...plannedJob(task, nowMs, HOUR_MS + 10 * n + (cancelReason?.length ?? 0)),
            status,
            cancelReason,
            claimNo: 2,
            workerId: makeWorker(),
          };
          await store.putJob(job);
          const revoked = (await jobs.listRevocations(60_000)).length;
          const beforeMs = await dbNow(store);
          const outcome = await jobs.cancel(task.tenantId, job.id, RETENTION);
          const afterMs = await dbNow(store);
          const row = await readJob(store, job);
          assertStep(job, EVENT, row, beforeMs, afterMs);
          if (isFinished(status)) assert.deepEqual(outcome, { kind: "finished" });
          else if (status === "running") assert.deepEqual(outcome, { kind: "marked", job: row });
          else assert.deepEqual(outcome, { kind: "cancelled", job: row });
          const revocations = await jobs.listRevocations(60_000);
          const expected = status === "running" ? [{ taskId: task.id, jobId: job.id }] : [];
          assert.equal(revocations.length, revoked + expected.length);
          assert.deepEqual(
            revocations.filter(({ jobId }) => jobId === job.id),
            expected,
          );
        }
      }
    }),
  );

  test(
    "another tenant's job and one that does not exist are not found",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const [job, absent] = [plannedJob(task, nowMs, 0), plannedJob(task, nowMs, 1)];
      await store.putJob(job);
      const { jobs } = store.shard;
      const notFound = { kind: "not-found" };
      assert.deepEqual(await jobs.cancel(makeTenant(), job.id, RETENTION), notFound);
      assert.deepEqual(await jobs.cancel(task.tenantId, absent.id, RETENTION), notFound);
      assert.deepEqual(await readJob(store, job), job);
    }),
  );

  test(
    "a marked job: its success counts, its failure and its give-back end it as cancelled",
    onStore(open, async (store) => {
      const { jobs } = store.shard;
      for (const told of ["success", "failure", "give back"] as const) {
        const { held, workerId } = await claimOne(store);
        const outcome = await jobs.cancel(held.tenantId, held.id, RETENTION);
        assert.equal(outcome.kind, "marked");
        const retryAtMs = await dbNow(store);
        if (told === "give back") await jobs.giveBack([heldKey(held, workerId)], RETENTION);
        else {
          const result =
            told === "success" ? success(held, workerId) : failure(held, workerId, retryAtMs);
          await jobs.recordResults([result], RETENTION);
        }
        const { status, reason } = await readJob(store, held);
        const ended = told === "success" ? ["succeeded", null] : ["cancelled", REASON_CANCELLED];
        assert.deepEqual([status, reason], ended);
        const again = await jobs.cancel(held.tenantId, held.id, RETENTION);
        assert.deepEqual(again, { kind: "finished" });
      }
    }),
  );

  test(
    "a resume takes a pause back, never a cancel",
    onStore(open, async (store) => {
      const { task, held } = await claimOne(store);
      await writeEdit(store, task, { status: "paused" }, { kind: "cancel", reason: REASON_PAUSED });
      await store.shard.jobs.cancel(task.tenantId, held.id, RETENTION);
      await writeEdit(store, task, { status: "active" }, { kind: "resume" });
      assert.equal((await readJob(store, held)).cancelReason, REASON_CANCELLED);
    }),
  );
}
