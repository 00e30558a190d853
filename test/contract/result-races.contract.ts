/** Results that come twice, late or from the wrong hands; groups of many; and what is kept of a call. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkerId } from "#core/domain/ids.ts";
import { ATTEMPT_RECORDS_MAX } from "#core/domain/limits.ts";
import type { ClaimedJob, JobResult } from "#core/ports/job-store.ts";
import {
  addJobs,
  addTask,
  addWorker,
  attemptRecord,
  claimJobs,
  claimOne,
  dbNow,
  failure,
  HOUR_MS,
  interruption,
  LOST,
  makeWorker,
  plannedJob,
  readJob,
  recordResults,
  rescuedRow,
  success,
  WRITTEN,
} from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

export function resultRacesContract(open: OpenStore): void {
  lostRaces(open);
  groups(open);
  records(open);
}

function lostRaces(open: OpenStore): void {
  const kinds: Record<string, (held: ClaimedJob, workerId: WorkerId) => JobResult> = {
    success,
    failure: (held, workerId) => failure(held, workerId, 1_900_000_000_000),
    "final failure": (held, workerId) => failure(held, workerId, 1_900_000_000_000, "stop"),
    interruption,
  };

  for (const [kind, make] of Object.entries(kinds)) {
    test(
      `${kind}: written twice is written once: the replay changes nothing`,
      onStore(open, async (store) => {
        const { held, workerId } = await claimOne(store);
        const result = make(held, workerId);
        assert.deepEqual(await recordResults(store, [result]), WRITTEN);
        const after = await readJob(store, held);
        assert.deepEqual(await recordResults(store, [result]), LOST);
        assert.deepEqual(await readJob(store, held), after);
      }),
    );

    test(
      `${kind}: under a stale claim, by another worker or of no job changes nothing`,
      onStore(open, async (store) => {
        const { task, held, workerId } = await claimOne(store);
        const there = { ...(await readJob(store, held)), claimNo: 2 };
        await store.putJob(there);
        const id = plannedJob(task, held.scheduledAtMs, 60_000).id;
        const now = { ...held, claimNo: 2 };
        const recorded = await recordResults(store, [
          make({ ...held, claimNo: 1 }, workerId),
          make({ ...now, id }, workerId),
        ]);
        assert.deepEqual(recorded, { written: 0, lostRaces: 2 });
        assert.deepEqual(await recordResults(store, [make(now, makeWorker())]), LOST);
        assert.deepEqual(
          await recordResults(store, [make({ ...held, claimNo: 3 }, workerId)]),
          LOST,
        );
        assert.deepEqual(await readJob(store, held), there);
        assert.deepEqual(await store.listDeadLetters(held.tenantId), []);
      }),
    );
  }

  test(
    "a failure or an interruption of a finished job changes nothing, though its holder is still named",
    onStore(open, async (store) => {
      for (const status of ["dead", "cancelled"] as const) {
        const { held, workerId } = await claimOne(store);
        const there = { ...(await readJob(store, held)), status, reason: "x", finishedAtMs: 1 };
        await store.putJob(there);
        for (const kind of ["failure", "final failure", "interruption"]) {
          const result = kinds[kind]?.(held, workerId);
          assert(result !== undefined);
          assert.deepEqual(await recordResults(store, [result]), LOST);
        }
        assert.deepEqual(await readJob(store, held), there);
      }
    }),
  );

  test(
    "an answer that comes after the next claim is lost, and the claim's own is written",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      await store.putJob(rescuedRow(await readJob(store, held), await dbNow(store)));
      const [again] = await claimJobs(store, workerId, [held]);
      assert(again !== undefined);
      assert.deepEqual(await recordResults(store, [success(held, workerId)]), LOST);
      assert.equal((await readJob(store, held)).status, "running");
      assert.deepEqual(await recordResults(store, [success(again, workerId)]), WRITTEN);
      assert.deepEqual(Object.keys((await readJob(store, held)).attempts), ["2"]);
    }),
  );
}

function groups(open: OpenStore): void {
  test(
    "a thousand results of every kind in one group, in any order",
    onStore(open, async (store) => {
      const { task } = await addTask(store, { task: { maxAttempts: 1 } });
      const nowMs = await dbNow(store);
      const jobs = Array.from({ length: 1_000 }, (_, i) => plannedJob(task, nowMs, -i - 1));
      await addJobs(store, task, jobs);
      const workerId = await addWorker(store);
      const held = await claimJobs(store, workerId, jobs);
      const retryAtMs = nowMs + HOUR_MS;
      const results = held.map((job, i): JobResult => {
        if (i % 4 === 0) return success(job, workerId);
        if (i % 4 === 1) return failure(job, workerId, retryAtMs);
        if (i % 4 === 2) return interruption(job, workerId);
        return success(job, makeWorker());
      });
      const recorded = await recordResults(store, results.reverse());
      assert.deepEqual(recorded, { written: 750, lostRaces: 250 });
      const all = { statuses: null, fromMs: null, toMs: null };
      const rows = await store.shard.jobs.listByTask(task.tenantId, task.id, all, null, 1_000);
      const count = (status: string) => rows.filter((row) => row.status === status).length;
      assert.deepEqual(
        ["succeeded", "dead", "pending", "running"].map(count),
        [250, 250, 250, 250],
      );
      assert.equal((await store.listDeadLetters(task.tenantId)).length, 250);
      assert.deepEqual(await recordResults(store, results), { written: 0, lostRaces: 1_000 });
    }),
  );

  test(
    "two groups over the same jobs at once: each job is written by one of them",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const jobs = Array.from({ length: 60 }, (_, i) => plannedJob(task, nowMs, -i - 1));
      await addJobs(store, task, jobs);
      const workerId = await addWorker(store);
      const held = await claimJobs(store, workerId, jobs);
      const one = held.map((job) => success(job, workerId));
      const two = held.map((job) => failure(job, workerId, nowMs + HOUR_MS)).reverse();
      const [first, second] = await Promise.all([
        recordResults(store, one),
        recordResults(store, two),
      ]);
      assert.equal(first.written + second.written, jobs.length);
      assert.equal(first.lostRaces + second.lostRaces, jobs.length);
      assert.deepEqual(await recordResults(store, []), { written: 0, lostRaces: 0 });
    }),
  );
}

function records(open: OpenStore): void {
  test(
    "what a call answered is kept as it was: quotes, backslashes, control characters, emoji",
    onStore(open, async (store) => {
      const bodies = [
        `{"a":"it's \\"quoted\\" \\\\ \\n"}`,
        `' OR 1=1; -- \\' /* %s ? :name @x \`b\``,
        "\u0000\u0001\b\t\n\r\u001a\u007f",
        "é ü 漢字 😀 👩‍👩‍👧 \u202e\ufeff\uffff",
        "",
        "x".repeat(1_024),
        "😀".repeat(256),
      ];
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const jobs = bodies.map((_, i) => plannedJob(task, nowMs, -i - 1));
      await addJobs(store, task, jobs);
      const workerId = await addWorker(store);
      const held = await claimJobs(store, workerId, jobs);
      const results = held.map((job, i): JobResult => {
        const responseBody = bodies[i] ?? "";
        const result = i % 2 === 0 ? success(job, workerId) : failure(job, workerId, nowMs);
        return { ...result, record: attemptRecord(1, { responseBody, statusCode: 299 }) };
      });
      assert.deepEqual(await recordResults(store, results), {
        written: bodies.length,
        lostRaces: 0,
      });
      for (const result of results) {
        const job = await readJob(store, { id: result.id, tenantId: task.tenantId });
        assert.deepEqual(job.attempts, { "1": result.record });
      }
    }),
  );

  test(
    "numbers and nulls of a record come back as they were",
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      const record = attemptRecord(1, {
        startedAtMs: 253_402_300_799_999,
        lagMs: -3,
        durationMs: 0,
        statusCode: null,
        error: "connection-refused",
        responseBody: null,
      });
      await recordResults(store, [{ ...failure(held, workerId, 1_900_000_000_000), record }]);
      assert.deepEqual((await readJob(store, held)).attempts, { "1": record });
    }),
  );

  test(
    `the newest ${ATTEMPT_RECORDS_MAX} records are kept, also where claims were given back in between`,
    onStore(open, async (store) => {
      const { held, workerId } = await claimOne(store);
      const there = await readJob(store, held);
      const claims = [1, 2, ...Array.from({ length: ATTEMPT_RECORDS_MAX - 2 }, (_, i) => 50 + i)];
      const attempts = Object.fromEntries(claims.map((no) => [no, attemptRecord(no)]));
      const claimNo = 120;
      await store.putJob({ ...there, attempts, claimNo });
      const result = success({ ...held, claimNo }, workerId);
      assert.deepEqual(await recordResults(store, [result]), WRITTEN);
      const { 1: _, ...newer } = attempts;
      assert.deepEqual((await readJob(store, held)).attempts, {
        ...newer,
        [claimNo]: result.record,
      });
    }),
  );
}
