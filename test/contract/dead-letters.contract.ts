/** Dead letters: the list, and jobs that are put in line again (event 18). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointKey } from "#core/domain/call-limit.ts";
import type { JobId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { JOB_STATUSES } from "#core/domain/job.ts";
import { JOB_ATTEMPTS_MAX } from "#core/domain/limits.ts";
import type { Task } from "#core/domain/task.ts";
import type { DeadLetter, DeadLetterFilter } from "#core/ports/job-store.ts";
import { assertStep } from "./assert-step.ts";
import {
  AWKWARD,
  addTask,
  addWorker,
  attemptRecord,
  claimJobs,
  claimOne,
  dbNow,
  failure,
  HOUR_MS,
  makeTenant,
  makeWorker,
  plannedJob,
  RETENTION,
  readJob,
  removeTask,
  writeEdit,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const ALL: DeadLetterFilter = { taskId: null, fromMs: null, toMs: null };

export function deadLettersContract(open: OpenStore): void {
  lists(open);
  retries(open);
  linesUp(open);
  queues(open);
  refuses(open);
}

function lists(open: OpenStore): void {
  test(
    "the last that died first, in pages, also where several died at once; its own tenant's only",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const { task: other } = await addTask(store);
      const nowMs = await dbNow(store);
      const jobs = [7, 3, 3, 3, 9, 5, 3].map((ago, n) => dead(task, nowMs, n, ago * 1_000));
      const tested: Job = { ...dead(task, nowMs, 8, 4_000), trigger: "test" };
      for (const job of [...jobs, dead(other, nowMs, 0, 0), tested]) await store.putJob(job);
      const expected = [...jobs]
        .sort((a, b) => (b.finishedAtMs ?? 0) - (a.finishedAtMs ?? 0) || (a.id < b.id ? 1 : -1))
        .map((job) => ({ diedAtMs: job.finishedAtMs, job }));
      assert.deepEqual(await list(store, task), expected);
      const paged: DeadLetter[] = [];
      for (let page = await pageAfter(store, task, undefined); page.length > 0; ) {
        paged.push(...page);
        page = await pageAfter(store, task, page.at(-1));
      }
      assert.deepEqual(paged, expected);
      const foreign = { ...task, tenantId: makeTenant() };
      assert.deepEqual(await list(store, foreign), []);
    }),
  );

  test(
    "filters by task and time; only what is dead now",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const { task: other } = await addTask(store, { task: { tenantId: task.tenantId } });
      const nowMs = await dbNow(store);
      const jobs = [1, 2, 3, 4].map((n) => dead(n % 2 === 0 ? task : other, nowMs, n, n * 1_000));
      for (const job of jobs) await store.putJob(job);
      for (const [n, status] of JOB_STATUSES.entries()) {
        const was = dead(task, nowMs, 10 + n, 2_500);
        await store.putJob(was);
        if (status !== "dead") await store.putJob({ ...was, status });
        else await store.putJob({ ...was, finishedAtMs: nowMs - 9_000 });
      }
      const of = async (filter: Partial<DeadLetterFilter>) =>
        (await list(store, task, { ...ALL, ...filter })).map(({ diedAtMs }) => nowMs - diedAtMs);
      assert.deepEqual(await of({}), [1_000, 2_000, 3_000, 4_000, 9_000]);
      assert.deepEqual(await of({ taskId: task.id }), [2_000, 4_000, 9_000]);
      assert.deepEqual(await of({ taskId: other.id, toMs: nowMs - 1_000 }), [3_000]);
      const fromMs = nowMs - 4_000;
      assert.deepEqual(await of({ fromMs, toMs: nowMs - 2_000 }), [3_000, 4_000]);
      assert.deepEqual(await of({ taskId: task.id, fromMs, toMs: nowMs - 2_000 }), [4_000]);
    }),
  );

  test(
    "those that can be retried: of tasks that are there",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const gone = (await addTask(store, { task: { tenantId: task.tenantId } })).task;
      const nowMs = await dbNow(store);
      const jobs = [gone, task, gone, task].map((one, n) => dead(one, nowMs, n, n * 1_000));
      for (const job of jobs) await store.putJob(job);
      await removeTask(store, gone);
      const retriable = await list(store, task, { ...ALL, retriable: true });
      assert.deepEqual(
        retriable.map(({ job }) => job.id),
        [jobs[1]?.id, jobs[3]?.id],
      );
      assert.equal((await list(store, task)).length, 4);
    }),
  );

  test(
    "a job that dies of its calls is in the list until it is retried, and again when it dies again",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimOne(store, { task: { maxAttempts: 1 } });
      const { jobs } = store.shard;
      const fail = async (claim: typeof held, worker: typeof workerId) => {
        const beforeMs = await dbNow(store);
        await jobs.recordResults([failure(claim, worker, 1_900_000_000_000)], RETENTION);
        const [letter, ...more] = await list(store, task);
        assert(letter !== undefined && more.length === 0);
        assert.deepEqual(letter.job, await readJob(store, held));
        assert(letter.diedAtMs >= beforeMs && letter.diedAtMs <= (letter.job.finishedAtMs ?? 0));
      };
      await fail(held, workerId);
      await retryAll(store, task, [held]);
      assert.deepEqual(await list(store, task), []);
      assert.deepEqual(await store.listLetters(task.tenantId), [], "nothing is left to walk over");
      const taker = await addWorker(store);
      const [taken] = await claimJobs(store, taker, [await readJob(store, held)]);
      assert(taken !== undefined);
      await fail(taken, taker);
    }),
  );
}

function retries(open: OpenStore): void {
  test(
    "a retried job keeps its id, numbers and history, and may make as many attempts more as its task says now (18)",
    onStore(open, async (store) => {
      const { task } = await addTask(store, { task: { maxAttempts: 3 } });
      const nowMs = await dbNow(store);
      const changes: Partial<Job>[] = [
        { attempt: 3, lost: 0 },
        { attempt: 5, lost: 5, workerId: makeWorker(), cancelReason: AWKWARD },
        { attempts: { "2": attemptRecord(2) }, payload: { body: AWKWARD }, queue: 40 },
      ];
      const jobs = changes.map((change, n) => ({ ...dead(task, nowMs, n, 0), ...change }));
      for (const job of jobs) await store.putJob(job);
      await writeEdit(store, task, { maxAttempts: 7 }, { kind: "keep" });
      const beforeMs = await dbNow(store);
      const outcomes = await store.shard.jobs.retryDead(
        task.tenantId,
        jobs.map(({ id }, n) => ({ id, delayMs: n * 1_500 })),
      );
      const afterMs = await dbNow(store);
      assert.deepEqual(outcomes, new Map(jobs.map(({ id }) => [id, "moved"])));
      for (const [n, job] of jobs.entries()) {
        const event = { kind: "retry", moreAttempts: 7, delayMs: n * 1_500 } as const;
        assertStep(job, event, await readJob(store, job), beforeMs, afterMs);
      }
    }),
  );

  test(
    "it is claimed again once its delay is over",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const [now, later] = [dead(task, nowMs, 0, 0), dead(task, nowMs, 1, 0)];
      await store.putJob(now);
      await store.putJob(later);
      const jobs = [
        { id: now.id, delayMs: 0 },
        { id: later.id, delayMs: HOUR_MS },
      ];
      await store.shard.jobs.retryDead(task.tenantId, jobs);
      const [held] = await claimJobs(store, await addWorker(store), [now]);
      assert.deepEqual([held?.claimNo, held?.attempt, held?.lost], [3, 3, 0]);
    }),
  );

  test(
    "of a task that is paused or completed too; a repeat changes nothing",
    onStore(open, async (store) => {
      for (const status of ["paused", "completed"] as const) {
        const { task } = await addTask(store, { task: { status, nextRunAtMs: null } });
        const job = dead(task, await dbNow(store), 0, 0);
        await store.putJob(job);
        await retryAll(store, task, [job]);
        const after = await readJob(store, job);
        assert.equal(after.status, "pending");
        const again = await store.shard.jobs.retryDead(task.tenantId, [{ id: job.id, delayMs: 0 }]);
        assert.deepEqual(again, new Map([[job.id, "not-dead"]]));
        assert.deepEqual(await readJob(store, job), after);
      }
    }),
  );

  test(
    "of several retries at once, one moves each job; twice in one group is once",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const jobs = Array.from({ length: 30 }, (_, n) => dead(task, nowMs, n, 0));
      for (const job of jobs) await store.putJob(job);
      const group = [...jobs, ...jobs].map(({ id }) => ({ id, delayMs: 0 }));
      const all = await Promise.all([
        store.shard.jobs.retryDead(task.tenantId, group),
        store.shard.jobs.retryDead(task.tenantId, [...group].reverse()),
        store.shard.jobs.retryDead(task.tenantId, group.slice(10, 40)),
      ]);
      const moved = all.flatMap((outcomes) => [...outcomes.values()]).filter((o) => o === "moved");
      assert.equal(moved.length, 30);
      for (const job of jobs) assert.equal((await readJob(store, job)).maxAttempts, 2 + 5);
    }),
  );
}

function linesUp(open: OpenStore): void {
  test(
    "a retry goes into the line that its task's jobs have by now, unless it is of an older request",
    onStore(open, async (store) => {
      const { task, version } = await addTask(store);
      const nowMs = await dbNow(store);
      const present = dead(task, nowMs, 0, 0);
      const older: Job = { ...dead(task, nowMs, 1, 0), taskVersion: task.requestVersion + 1 };
      for (const job of [present, older]) await store.putJob(job);
      const key = endpointKey(task.tenantId, version.request.url);
      assert(key !== null);
      await store.shard.limits.put(key, { concurrency: 1 });
      await retryAll(store, task, [present, older]);
      const [lined, plain] = [await readJob(store, present), await readJob(store, older)];
      assert.deepEqual([lined.status, lined.limitKey], ["waiting", key]);
      assert.deepEqual([plain.status, plain.limitKey], ["pending", null]);
      assert.deepEqual(
        (await store.listLimited()).map(({ id }) => id),
        [present.id],
      );
    }),
  );
}

function queues(open: OpenStore): void {
  test(
    "a retry goes into the queue that it is given, in its line too; without one it stays where it was",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const { task: limited, version } = await addTask(store, {
        task: { tenantId: task.tenantId },
      });
      const nowMs = await dbNow(store);
      const queue = 40;
      const [moved, stays, one, lined] = [
        { ...dead(task, nowMs, 0, 0), queue },
        { ...dead(task, nowMs, 1, 0), queue },
        { ...dead(task, nowMs, 2, 0), queue },
        { ...dead(limited, nowMs, 3, 0), queue },
      ];
      for (const job of [moved, stays, one, lined]) await store.putJob(job);
      const { jobs } = store.shard;
      const free = [{ id: moved.id, delayMs: 0, queue: 33 }];
      await jobs.retryDead(task.tenantId, [...free, { id: stays.id, delayMs: 0 }]);
      const answer = await jobs.retryOne(task.tenantId, one.id, null, 34);
      assert.equal(answer.kind === "moved" && answer.job.queue, 34);
      const key = endpointKey(task.tenantId, version.request.url);
      assert(key !== null);
      await store.shard.limits.put(key, { concurrency: 1 });
      await jobs.retryDead(task.tenantId, [{ id: lined.id, delayMs: 0, queue: 35 }]);
      const after = [moved, stays, one, lined].map((job) => readJob(store, job));
      assert.deepEqual(
        (await Promise.all(after)).map((job) => job.queue),
        [33, queue, 34, 35],
      );
      const places = (await store.listLimited()).filter(({ id }) => id === lined.id);
      assert.deepEqual(
        places.map((place) => place.queue),
        [35],
      );
    }),
  );
}

function refuses(open: OpenStore): void {
  test(
    "a job that has no room for more attempts stays dead, and keeps no other of its group from moving",
    onStore(open, async (store) => {
      const { task } = await addTask(store, { task: { maxAttempts: 20 } });
      const nowMs = await dbNow(store);
      const attempt = JOB_ATTEMPTS_MAX - 20;
      const fits = { ...dead(task, nowMs, 0, 0), attempt, maxAttempts: attempt };
      const full = { ...dead(task, nowMs, 1, 0), attempt: attempt + 1, maxAttempts: attempt + 1 };
      for (const job of [fits, full]) await store.putJob(job);
      const group = [fits, full].map(({ id }) => ({ id, delayMs: 0 }));
      const outcomes = await store.shard.jobs.retryDead(task.tenantId, group);
      assert.deepEqual([...outcomes.values()].sort(), ["attempts-full", "moved"]);
      assert.equal((await readJob(store, fits)).maxAttempts, JOB_ATTEMPTS_MAX);
      assert.deepEqual(await readJob(store, full), full);
    }),
  );

  test(
    "each job of a group has its own answer; what is not dead, of another tenant or of a deleted task stays",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const { tenantId } = task;
      const gone = (await addTask(store, { task: { tenantId } })).task;
      const foreign = (await addTask(store)).task;
      const nowMs = await dbNow(store);
      const jobs = JOB_STATUSES.map((status, n): Job => ({ ...dead(task, nowMs, n, 0), status }));
      const absent = dead(task, nowMs, 20, 0);
      const theirs = dead(foreign, nowMs, 0, 0);
      const orphans = [
        dead(gone, nowMs, 0, 0),
        { ...dead(gone, nowMs, 1, 0), status: "succeeded" },
      ];
      for (const job of [...jobs, theirs, ...(orphans as Job[])]) await store.putJob(job);
      await removeTask(store, gone);
      const expected = new Map<JobId, string>([
        ...jobs.map((job) => [job.id, job.status === "dead" ? "moved" : "not-dead"] as const),
        [absent.id, "not-found"],
        [theirs.id, "not-found"],
        [orphans[0]?.id as JobId, "task-gone"],
        [orphans[1]?.id as JobId, "not-dead"],
      ]);
      const group = [...expected.keys()].map((id) => ({ id, delayMs: 0 }));
      assert.deepEqual(await store.shard.jobs.retryDead(tenantId, group), expected);
      const still = [...jobs.filter(({ status }) => status !== "dead"), theirs, orphans[0] as Job];
      for (const job of still) assert.deepEqual(await readJob(store, job), job);
      assert.deepEqual(await store.shard.jobs.retryDead(tenantId, []), new Map());
    }),
  );

  test(
    "a job retried between the archiver's read and its delete stays and runs",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const job = { ...dead(task, nowMs, 0, 0), dueAtMs: nowMs - 1 };
      await store.putJob(job);
      const { jobs } = store.shard;
      const read = await jobs.listArchivable(10, 1_000_000);
      assert.deepEqual(read, [job]);
      await retryAll(store, task, [job]);
      assert.equal(await jobs.deleteArchived(read), 0);
      await claimJobs(store, await addWorker(store), [await readJob(store, job)]);
    }),
  );
}

/** The task's n-th job: it died `agoMs` before now, of the second of two attempts. */
function dead(task: Task, nowMs: number, n: number, agoMs: number): Job {
  return {
    ...plannedJob(task, nowMs, -60_000 - n),
    status: "dead",
    claimNo: 2,
    attempt: 2,
    maxAttempts: 2,
    finishedAtMs: nowMs - agoMs,
    dueAtMs: nowMs - agoMs + RETENTION.endedMs,
    reason: "attempts used up",
  };
}

function list(
  store: ContractStore,
  { tenantId }: Task,
  filter: DeadLetterFilter = ALL,
): Promise<DeadLetter[]> {
  return store.shard.jobs.listDeadLetters(tenantId, filter, null, 50);
}

function pageAfter(
  store: ContractStore,
  { tenantId }: Task,
  last: DeadLetter | undefined,
): Promise<DeadLetter[]> {
  const place = last === undefined ? null : { diedAtMs: last.diedAtMs, jobId: last.job.id };
  return store.shard.jobs.listDeadLetters(tenantId, ALL, place, 2);
}

async function retryAll(
  store: ContractStore,
  { tenantId }: Task,
  jobs: readonly { readonly id: JobId }[],
): Promise<void> {
  const group = jobs.map(({ id }) => ({ id, delayMs: 0 }));
  const outcomes = await store.shard.jobs.retryDead(tenantId, group);
  assert.deepEqual(outcomes, new Map(jobs.map(({ id }) => [id, "moved"])));
}
