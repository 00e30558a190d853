/** Claims: event 4 for a group, fenced by the worker's own row; and what becomes of a claim whose COMMIT was not answered. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId, WorkerId } from "#core/domain/ids.ts";
import { REASON_CANCELLED, REASON_PAUSED } from "#core/domain/job.ts";
import { BACKSTOP_SLACK_MS, BODY_BYTES_MAX } from "#core/domain/limits.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import type { ClaimRequest, ClaimResult, QueueHead } from "#core/ports/job-store.ts";
import { eventually } from "#test/support/eventually.ts";
import {
  addJobs,
  addTask,
  addWorker,
  carriedOf,
  claimedView,
  claimJobs,
  claimOne,
  dbNow,
  HOUR_MS,
  heldKey,
  idsOf,
  makeTenant,
  makeWorker,
  plannedJob,
  RETENTION,
  readJob,
  rescuedRow,
  writeEdit,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

export function claimContract(open: OpenStore): void {
  takes(open);
  bounds(open);
  fences(open);
  adopts(open);
}

function takes(open: OpenStore): void {
  test(
    "a claimed job is running, in the worker's hands, one claim and one attempt further, until its backstop (4)",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const late = { ...plannedJob(task, nowMs, -5_000), queue: 1 };
      const soon = { ...plannedJob(task, nowMs, HOUR_MS), queue: 1 };
      const again = { ...plannedJob(task, nowMs, -4_000), queue: 1, claimNo: 7, attempt: 3 };
      const manual = { ...makeManualJob(task, "manual", nowMs, 5, { body: "😀\u0000" }), queue: 1 };
      await addJobs(store, task, [late, soon, manual]);
      await store.putJob({ ...again, lost: 2 });
      const workerId = await addWorker(store);
      const before = await Promise.all([late, soon, again, manual].map((j) => readJob(store, j)));
      const claim = await claim1(store, workerId, { aheadMs: 2 * HOUR_MS });
      const afterMs = await dbNow(store);
      assert(claim.claimedAtMs >= nowMs && claim.claimedAtMs <= afterMs);
      assert.deepEqual(idsOf(claim.jobs), idsOf(before));
      for (const job of before) {
        const held = claim.jobs.find((other) => other.id === job.id);
        assert(held !== undefined);
        const startsMs = held.dueAtMs - job.timeoutMs - BACKSTOP_SLACK_MS;
        if (job.runAtMs > afterMs) assert.equal(startsMs, job.runAtMs);
        else assert(startsMs >= claim.claimedAtMs && startsMs <= afterMs);
        const { claimNo, attempt } = job;
        const change = { claimNo: claimNo + 1, attempt: attempt + 1, dueAtMs: held.dueAtMs };
        const row = { ...job, ...change, status: "running", workerId } as const;
        assert.deepEqual(await readJob(store, job), row);
        assert.deepEqual(held, claimedView(row));
      }
    }),
  );

  test(
    "payloads and the bodies of large requests, and nothing else of them, stay where they are until they are sent",
    onStore(open, async (store) => {
      const request = {
        method: "POST",
        url: "https://example.com/hook",
        headers: { a: "b" },
        body: "\u0001".repeat(BODY_BYTES_MAX),
        bodyBase64: null,
        captureResponse: false as const,
      };
      const { task, version } = await addTask(store, { version: { request } });
      const payload = { headers: { a: "c" }, body: request.body };
      const manual = makeManualJob(task, "manual", await dbNow(store), 1, payload);
      await addJobs(store, task, [{ ...manual, queue: 1 }]);
      const { jobs } = await claim1(store, await addWorker(store));
      assert.deepEqual(idsOf(jobs), [manual.id]);
      assert(!("payload" in (jobs[0] ?? {})));
      assert.deepEqual((await readJob(store, manual)).payload, payload);
      const key = { taskId: task.id, requestVersion: task.requestVersion };
      const ask = { versions: [key], secretsOf: [], signingOf: [] };
      const { versions } = await store.shard.tasks.loadCallParts(ask);
      const bodyless = { ...version, request: { ...request, body: null } };
      assert.deepEqual(versions, [{ ...carriedOf(bodyless), bodyLeftOut: true }]);
      assert.deepEqual(await store.shard.tasks.loadVersions([key]), [version]);
    }),
  );

  test(
    "waiting, running and finished jobs are never taken",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const statuses = ["waiting", "running", "succeeded", "dead", "cancelled"] as const;
      for (const [i, status] of statuses.entries()) {
        await store.putJob({ ...plannedJob(task, nowMs, -1_000 - i), queue: 1, status });
      }
      const claim = await claim1(store, await addWorker(store));
      assert.deepEqual(claim.jobs, []);
    }),
  );

  test(
    "a rescued job is claimed by the next worker, and then its last holder has lost it",
    onStore(open, async (store) => {
      const { held } = await claimOne(store);
      await store.putJob(rescuedRow(await readJob(store, held), await dbNow(store)));
      const next = await addWorker(store);
      const [again] = await claimJobs(store, next, [held]);
      assert(again !== undefined);
      assert.deepEqual([again.claimNo, again.attempt, again.lost], [2, 2, 1]);
      assert.equal((await readJob(store, held)).workerId, next);
    }),
  );

  test(
    "two claims at once take disjoint jobs, and between them all",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const jobs = Array.from({ length: 40 }, (_, i) => ({
        ...plannedJob(task, nowMs, -1_000 - i),
        queue: 1 + (i % 2),
      }));
      await addJobs(store, task, jobs);
      const workers = [await addWorker(store), await addWorker(store)];
      const taken = [];
      for (let round = 0; round < 20 && taken.length < jobs.length; round++) {
        const claims = workers.map((workerId) =>
          claim1(store, workerId, { limit: 9, queues: [1, 2] }),
        );
        for (const claim of await Promise.all(claims)) {
          assert(claim.jobs.length <= 9);
          taken.push(...claim.jobs);
        }
      }
      assert.deepEqual(idsOf(taken), idsOf(jobs));
      for (const job of taken) assert.equal((await readJob(store, job)).claimNo, 1);
    }),
  );
}

function bounds(open: OpenStore): void {
  test(
    "branch by branch in the order given, earliest due first in each, within each limit and the whole",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const [b3, b1, b2] = [-1_000, -3_000, -2_000].map((offsetMs) => ({
        ...plannedJob(task, nowMs, offsetMs),
        queue: 32,
        dueAtMs: nowMs + offsetMs,
      }));
      const [a1, a2] = [-900, -800].map((offsetMs) => ({
        ...plannedJob(task, nowMs, offsetMs),
        queue: 16,
        dueAtMs: nowMs + offsetMs,
      }));
      assert(a1 && a2 && b1 && b2 && b3);
      await addJobs(store, task, [b3, b1, b2, a1, a2]);
      const workerId = await addWorker(store);
      const take = async (limits: readonly (readonly [number, number])[], limit: number) => {
        const branches = limits.map(([queue, most]) => ({ queue, limit: most, head: null }));
        const request = { workerId, branches, aheadMs: 0, limit };
        const claim = await store.shard.jobs.claimDue(request);
        assert(claim.kind === "claimed");
        return idsOf(claim.jobs);
      };
      const first = await take(
        [
          [32, 1],
          [16, 5],
        ],
        2,
      );
      assert.deepEqual(first, idsOf([b1, a1]));
      const second = await take(
        [
          [16, 5],
          [32, 5],
        ],
        2,
      );
      assert.deepEqual(second, idsOf([a2, b2]));
      assert.deepEqual(await take([[16, 5]], 5), []);
      assert.deepEqual(await take([[32, 5]], 5), idsOf([b3]));
    }),
  );

  test(
    "nothing due later than the database's now + aheadMs",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const at = (offsetMs: number) => ({
        ...plannedJob(task, nowMs, offsetMs),
        queue: 1,
        dueAtMs: nowMs + offsetMs,
      });
      const [late, inside, beyond] = [at(-20_000), at(50_000), at(90_000)];
      await addJobs(store, task, [late, inside, beyond]);
      const workerId = await addWorker(store);
      const claim = await claim1(store, workerId, { aheadMs: 60_000 });
      assert.deepEqual(idsOf(claim.jobs), idsOf([late, inside]));
    }),
  );

  test(
    "from the head that a poll has told, nothing before it: neither what is due earlier nor what is due with it",
    onStore(open, async (store) => {
      const nowMs = await dbNow(store);
      const dueAtMs = nowMs + 30_000;
      const own = makeTenant();
      const add = async (tenant: string, offsetMs: number) => {
        const { task } = await addTask(store, {
          task: { tenantId: `${tenant}-${own}` as TenantId },
        });
        const job = {
          ...plannedJob(task, dueAtMs, offsetMs),
          queue: 1,
          dueAtMs: dueAtMs + offsetMs,
        };
        await addJobs(store, task, [job]);
        return job;
      };
      const earlier = await add("a", -1_000);
      const together = [];
      for (const tenant of ["b", "c", "d", "e"]) together.push(await add(tenant, 0));
      const later = await add("a", 1_000);
      const workerId = await addWorker(store);
      const options = { aheadMs: 60_000 };
      const headOf = async () => {
        const queues = [{ queue: 1, floorMs: null }];
        const poll = await store.shard.jobs.poll({ workerId, queues, revocationsWithinMs: 0 });
        return poll.heads.get(1) ?? null;
      };
      assert.deepEqual(await headOf(), { dueAtMs: earlier.dueAtMs, jobId: earlier.id });
      const before = (await claim1(store, workerId, { ...options, limit: 3 })).jobs;
      const head = await headOf();
      assert.equal(head?.dueAtMs, dueAtMs);
      // What stood before the head is pending again.
      const keys = before.map((job) => heldKey(job, workerId));
      await store.shard.jobs.giveBack(keys, RETENTION);
      const left = together.filter(({ id }) => !before.some((job) => job.id === id));
      assert.equal(left.length, 2);
      const claim = await claim1(store, workerId, { ...options, head });
      assert.deepEqual(claim.jobs[0]?.id, head?.jobId);
      assert.deepEqual(idsOf(claim.jobs), idsOf([...left, later]));
      const rest = await claim1(store, workerId, options);
      assert.deepEqual(idsOf(rest.jobs), idsOf(before));
    }),
  );

  test(
    "five hundred in one claim, and a claim of nothing",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const jobs = Array.from({ length: 520 }, (_, i) => ({
        ...plannedJob(task, nowMs, -60_000 - i),
        queue: 1,
        dueAtMs: nowMs - 60_000 - i,
      }));
      await addJobs(store, task, jobs);
      const workerId = await addWorker(store);
      const claim = await claim1(store, workerId, { limit: 500 });
      assert.deepEqual(idsOf(claim.jobs), idsOf(jobs.slice(20)));
      assert.equal((await claim1(store, workerId)).jobs.length, 20);
      assert.deepEqual((await claim1(store, workerId)).jobs, []);
    }),
  );
}

function fences(open: OpenStore): void {
  test(
    "a worker that is fenced or has no row takes nothing; one that only let its lease pass still may",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const job = { ...plannedJob(task, await dbNow(store), -1_000), queue: 1 };
      await addJobs(store, task, [job]);
      const expired = makeWorker();
      const fenced = makeWorker();
      await store.shard.workers.register(expired, -5_000);
      await store.shard.workers.register(fenced, -5_000);
      await store.shard.workers.fence(fenced);
      assert.deepEqual(await claimAny(store, fenced), { kind: "fenced" });
      assert.deepEqual(await claimAny(store, makeWorker()), { kind: "fenced" });
      assert.deepEqual(await readJob(store, job), job);
      // What the fenced one's claim had locked is passed over until the server has seen that its connection ended.
      await eventually(async () => {
        assert.equal((await claim1(store, expired)).jobs.length, 1);
      });
    }),
  );
}

function adopts(open: OpenStore): void {
  test(
    "a claim that was committed is ours: all of it, marked jobs named",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const other = await addTask(store);
      const nowMs = await dbNow(store);
      const mine = [plannedJob(task, nowMs, -2_000), plannedJob(task, nowMs, -1_000)];
      const theirs = plannedJob(other.task, nowMs, -1_000);
      await addJobs(store, task, mine);
      await addJobs(store, other.task, [theirs]);
      const workerId = await addWorker(store);
      const jobs = await claimJobs(store, workerId, [...mine, theirs]);
      await writeEdit(store, other.task, {}, { kind: "cancel", reason: REASON_PAUSED });
      const adopted = await store.shard.jobs.adopt({ workerId, claimedAtMs: nowMs, jobs });
      assert.deepEqual(byId(adopted.jobs), byId(jobs));
      assert.deepEqual([...adopted.marked], [theirs.id]);
    }),
  );

  test(
    "a claim that was not committed, or is over, is not ours",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimOne(store);
      const nowMs = await dbNow(store);
      const [never, cancelled, rescued, again] = [1, 2, 3, 4].map((s) =>
        plannedJob(task, nowMs, -s * 1_000),
      );
      assert(never && cancelled && rescued && again);
      await addJobs(store, task, [cancelled, rescued, again]);
      const jobs = await claimJobs(store, workerId, [cancelled, rescued, again]);
      await addJobs(store, task, [never]);
      const row = async (job: { id: typeof held.id }) =>
        readJob(store, { id: job.id, tenantId: task.tenantId });
      await store.putJob({ ...(await row(cancelled)), status: "cancelled", reason: "x" });
      await store.putJob(rescuedRow(await row(rescued), nowMs));
      await store.putJob({ ...(await row(again)), claimNo: 2 });
      const unanswered = [
        held,
        { ...held, id: never.id },
        { ...held, id: plannedJob(task, nowMs, HOUR_MS).id },
        ...jobs,
      ];
      const claim = { workerId, claimedAtMs: nowMs, jobs: unanswered };
      const adopted = await store.shard.jobs.adopt(claim);
      assert.deepEqual(adopted.jobs, [held]);
      assert.deepEqual([...adopted.marked], []);
      const stranger = await store.shard.jobs.adopt({ ...claim, workerId: makeWorker() });
      assert.deepEqual(stranger.jobs, []);
    }),
  );

  test(
    "a job that was cancelled before the claim could take it is not ours",
    onStore(open, async (store) => {
      const { task, held, workerId } = await claimOne(store);
      const nowMs = await dbNow(store);
      const job = plannedJob(task, nowMs, -1_000);
      await addJobs(store, task, [job]);
      await writeEdit(store, task, {}, { kind: "cancel", reason: REASON_CANCELLED });
      const jobs = [{ ...held, id: job.id }];
      const adopted = await store.shard.jobs.adopt({ workerId, claimedAtMs: nowMs, jobs });
      assert.deepEqual(adopted.jobs, []);
    }),
  );
}

interface Options {
  readonly aheadMs?: number;
  readonly limit?: number;
  readonly head?: QueueHead | null;
  readonly queues?: readonly number[];
}

function claimAny(
  store: ContractStore,
  workerId: WorkerId,
  options: Options = {},
): Promise<ClaimResult> {
  const { aheadMs = 0, limit = 1_000, head = null, queues = [1] } = options;
  const branches = queues.map((queue) => ({ queue, limit, head }));
  const request: ClaimRequest = { workerId, branches, aheadMs, limit };
  return store.shard.jobs.claimDue(request);
}

/** A claim of queue 1 that must go through. */
async function claim1(store: ContractStore, workerId: WorkerId, options: Options = {}) {
  const claim = await claimAny(store, workerId, options);
  assert(claim.kind === "claimed", `the claim was ${claim.kind}`);
  return claim;
}

function byId<J extends { readonly id: string }>(jobs: readonly J[]): J[] {
  return [...jobs].sort((a, b) => (a.id < b.id ? -1 : 1));
}
