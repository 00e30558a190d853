import assert from "node:assert/strict";
import { test } from "node:test";
import { OutcomeUnknown, StoreUnavailable } from "#core/domain/errors.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import { makeScheduledJob } from "#core/domain/make-job.ts";
import { buildTask } from "#test/contract/builders.ts";
import { openMemoryShards } from "./memory-shards.ts";
import type { CommitHooks } from "./memory-tables.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 9, 0, 0);
const WORKER = "00".repeat(16) as WorkerId;
const RETENTION = { succeededMs: 1_000, endedMs: 2_000 };
const CLAIM = {
  workerId: WORKER,
  branches: [{ queue: 32, limit: 10, head: null }],
  aheadMs: 0,
  limit: 10,
};

/** A shard with one pending job and one worker; `faults` may be filled in later. */
async function openWithJob() {
  const faults: { hooks: CommitHooks } = { hooks: {} };
  const shards = openMemoryShards({
    clock: { nowMs: () => NOW_MS },
    hooks: {
      beforeCommit: async (verb) => faults.hooks.beforeCommit?.(verb),
      afterCommit: async (verb) => faults.hooks.afterCommit?.(verb),
    },
  });
  const built = buildTask(NOW_MS, { task: { nextRunAtMs: NOW_MS } });
  const shard = shards.forTask(built.task.id);
  await shard.tasks.create(built);
  await shard.workers.register(WORKER, 6_000);
  const job = makeScheduledJob(built.task, "schedule", NOW_MS, NOW_MS);
  shards.tables.jobs.set(job.id, job);
  return { shards, shard, faults, job, ...built };
}

test("the map leads everything to the one shard", async () => {
  const { shards, shard, task, job } = await openWithJob();
  assert.deepEqual(shards.all(), [shard]);
  assert.equal(shards.forTenant(task.tenantId), shard);
  assert.equal(shards.forJob(job.id), shard);
  await shards.close();
});

test("a fault before the commit: the verb throws it and nothing is written", async () => {
  const { shards, shard, faults, task, job } = await openWithJob();
  const verbs: string[] = [];
  faults.hooks = {
    beforeCommit: async (verb) => {
      verbs.push(verb);
      throw new StoreUnavailable("away");
    },
  };
  await assert.rejects(shard.jobs.claimDue(CLAIM), StoreUnavailable);
  await assert.rejects(
    shard.tasks.edit(task.tenantId, task.id, () => assert.fail("asked"), RETENTION),
    StoreUnavailable,
  );
  await assert.rejects(shard.workers.renew(WORKER, 1), StoreUnavailable);
  assert.deepEqual(verbs, ["claimDue", "edit", "renew"]);
  assert.deepEqual([...shards.tables.jobs.values()], [job]);
});

test("a fault after the commit: the verb throws it and everything is written", async () => {
  const { shards, shard, faults, job } = await openWithJob();
  faults.hooks = {
    afterCommit: async () => {
      throw new OutcomeUnknown("cut");
    },
  };
  const tick = shard.tasks.materialize(
    { horizonMs: 0, missedTasksMax: 1, missedOldestMax: 1, tasksMax: 1 },
    (due) => ({
      jobs: [],
      advances: due.due.map(({ id }) => {
        return { taskId: id, nextRunAtMs: NOW_MS + 60_000, madeUntilMs: NOW_MS, error: null };
      }),
    }),
  );
  await assert.rejects(tick, OutcomeUnknown);
  assert.equal(shards.tables.tasks.get(job.taskId)?.nextRunAtMs, NOW_MS + 60_000);
});

test("a claim whose COMMIT is not answered is unknown: adopted when it happened, nobody's when it did not", async () => {
  for (const at of ["beforeCommit", "afterCommit"] as const) {
    const { shards, shard, faults, job } = await openWithJob();
    faults.hooks = {
      [at]: async () => {
        throw new OutcomeUnknown("cut");
      },
    };
    const claim = await shard.jobs.claimDue(CLAIM);
    assert(claim.kind === "unknown");
    assert.deepEqual(
      claim.claim.jobs.map(({ id, claimNo }) => [id, claimNo]),
      [[job.id, 1]],
    );
    faults.hooks = {};
    const adopted = await shard.jobs.adopt(claim.claim);
    const happened = at === "afterCommit";
    assert.deepEqual(adopted.jobs, happened ? claim.claim.jobs : []);
    assert.equal(shards.tables.jobs.get(job.id)?.status, happened ? "running" : "pending");
  }
});

test("a worker that is fenced learns it even when the answer is lost: it holds nothing", async () => {
  const { shard, faults } = await openWithJob();
  await shard.workers.remove(WORKER);
  faults.hooks = {
    beforeCommit: async () => {
      throw new OutcomeUnknown("cut");
    },
  };
  assert.deepEqual(await shard.jobs.claimDue(CLAIM), { kind: "fenced" });
});

test("a result that counts lanes otherwise than the domain is our own mistake", async () => {
  const { shard, job } = await openWithJob();
  await shard.jobs.claimDue(CLAIM);
  const record = {
    attempt: 1,
    startedAtMs: NOW_MS,
    lagMs: 0,
    durationMs: 1,
    statusCode: 500,
    error: null,
    responseBody: null,
  };
  const held = { id: job.id, workerId: WORKER, claimNo: 1, limitKey: null, record };
  const wrong = { kind: "fail", retryAtMs: NOW_MS, retryQueue: 32, finalReason: null } as const;
  const results = [{ ...held, ...wrong, maybeDead: true }];
  await assert.rejects(shard.jobs.recordResults(results, RETENTION), /indicates a bug/);
});
