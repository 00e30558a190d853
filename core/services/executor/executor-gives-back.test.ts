/** Jobs that an executor holds and does not call, or not to the end: revoked, past their backstop, drained. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemoryTables } from "#adapters/memory/memory-tables.ts";
import { endpointKey } from "#core/domain/call-limit.ts";
import { OutcomeUnknown, StoreUnavailable } from "#core/domain/errors.ts";
import type { Job } from "#core/domain/job.ts";
import { CARRIED_BYTES_MAX } from "#core/domain/limits.ts";
import { makeScheduledJob } from "#core/domain/make-job.ts";
import type { Shard } from "#core/ports/shards.ts";
import {
  addFatJob,
  addJob,
  addTask,
  endWorld,
  jobOf,
  openWorld,
  RETENTION,
  TENANT,
} from "#test/support/executor-world.ts";
import { pauseTask } from "../tasks/pause-task.ts";

test("a revocation takes an unsent job out of its timer: it ends cancelled, and no call is made", async () => {
  const world = openWorld();
  const { clock, tables, sent, shard } = world;
  await clock.advance(1_000);
  const id = addJob(tables, 1_150);
  await clock.advance(300);
  assert.equal(jobOf(tables, id).status, "running");
  await pause(shard, jobOf(tables, id));
  await clock.advance(5_000);
  assert.equal(sent.length, 0);
  assert.partialDeepStrictEqual(jobOf(tables, id), {
    status: "cancelled",
    reason: "task paused",
    attempt: 0,
    claimNo: 1,
  });
  await endWorld(world);
});

for (const [way, stepMs] of [
  ["back by more than has passed since the claim", -1_500],
  ["back by a little", -60],
  ["back by an hour", -3_600_000],
  ["forward by as long as its backstop leaves", 28_000],
  ["forward by an hour", 3_600_000],
] as const) {
  test(`a pause reaches a job that waits for a slot, where the database's clock was set ${way}`, async () => {
    const world = openWorld({ slots: 1, endpoint: () => ({ status: 200, afterMs: 6_000 }) });
    const { clock, tables, sent, shard, database } = world;
    await clock.advance(1_000);
    addJob(tables, 0);
    await clock.advance(400);
    assert.equal(sent.length, 1);
    const id = addJob(tables, 0);
    for (let i = 0; i < 20 && jobOf(tables, id).status === "pending"; i++) await clock.advance(20);
    assert.equal(jobOf(tables, id).status, "running");
    database.aheadMs += stepMs;
    await pause(shard, jobOf(tables, id));
    await clock.advance(5_000);
    assert.equal(jobOf(tables, id).status, "cancelled");
    await clock.advance(20_000);
    assert.equal(sent.length, 1);
    await endWorld(world);
  });
}

test("a job that could not end before its backstop is given back and sent later, on the same attempt number", async () => {
  const world = openWorld({ slots: 1, endpoint: () => ({ status: 200, afterMs: 29_000 }) });
  const { clock, tables, sent } = world;
  await clock.advance(1_000);
  const first = addJob(tables, 0);
  await clock.advance(300);
  const second = addJob(tables, 0);
  await clock.advance(70_000);
  assert.deepEqual(
    sent.map(({ headers }) => [headers["idempotency-key"], headers["x-attempt"]]),
    [
      [first, "1"],
      [second, "1"],
    ],
  );
  assert.partialDeepStrictEqual(jobOf(tables, second), {
    status: "succeeded",
    attempt: 1,
    claimNo: 2,
  });
  await endWorld(world);
});

test("jobs that no slot becomes free for go back before their backstop, again and again, and are never lost", async () => {
  const world = openWorld({ slots: 4, endpoint: () => ({ status: 200, afterMs: 200_000 }) });
  const { clock, tables, sent } = world;
  await clock.advance(1_000);
  for (let i = 0; i < 4; i++) addJob(tables, 0, { timeoutMs: 900_000 });
  await clock.advance(1_000);
  const ids = Array.from({ length: 4 }, () => addJob(tables, 0, { timeoutMs: 30_000 }));
  for (let i = 0; i < 190; i++) {
    await clock.advance(1_000);
    for (const { dueAtMs, status } of ids.map((id) => jobOf(tables, id)))
      if (status === "running") assert.ok(dueAtMs > tables.nowMs(), "nobody else has a look at it");
  }
  assert.equal(sent.length, 4);
  await clock.advance(15_000);
  for (const job of ids.map((id) => jobOf(tables, id)))
    assert.partialDeepStrictEqual(job, { status: "running", attempt: 1, lost: 0 });
  assert.equal(sent.length, 8);
  await endWorld(world);
});

test("drain: 50 waiting jobs go back at once as they were, 10 calls under way are finished, and the exit is clean", async () => {
  const world = openWorld({ slots: 10, endpoint: () => ({ status: 200, afterMs: 20_000 }) });
  const { clock, tables, sent, executor } = world;
  await clock.advance(1_000);
  const ids = Array.from({ length: 60 }, () => addJob(tables, 0));
  await clock.advance(2_000);
  assert.deepEqual(executor.load, { held: 60, sending: 10, unwritten: 0 });
  world.stop.abort();
  await clock.advance(100);
  const back = ids.map((id) => jobOf(tables, id)).filter(({ status }) => status === "pending");
  assert.equal(back.length, 50);
  assert.ok(
    back.every(
      ({ attempt, claimNo, workerId }) => attempt === 0 && claimNo === 1 && workerId === null,
    ),
  );
  await clock.advance(12_000);
  const leases = [...tables.workers.values()].map(({ leaseUntilMs }) => leaseUntilMs);
  assert.ok(leases.length === 1 && leases.every((ms) => ms > tables.nowMs()), "it is renewed");
  await clock.advance(13_000);
  assert.equal(await world.ended, true);
  assert.equal(ids.filter((id) => jobOf(tables, id).status === "succeeded").length, 10);
  assert.equal(sent.length, 10);
  assert.equal(tables.workers.size, 0);
});

test("drain: a call that outlasts 100 s ends as interrupted and costs no attempt", async () => {
  const world = openWorld({ endpoint: () => ({ status: 200, afterMs: 500_000 }) });
  const { clock, tables } = world;
  const { task } = addTask(tables, { timeoutMs: 900_000 });
  const job = makeScheduledJob(task, "schedule", tables.nowMs(), tables.nowMs());
  tables.insertJobs([job]);
  await clock.advance(2_000);
  world.stop.abort();
  await clock.advance(99_000);
  assert.equal(jobOf(tables, job.id).status, "running");
  await clock.advance(3_000);
  assert.partialDeepStrictEqual(jobOf(tables, job.id), {
    status: "pending",
    attempt: 1,
    lost: 1,
    workerId: null,
  });
  assert.equal(jobOf(tables, job.id).attempts["1"]?.error, "interrupted");
  assert.equal(await world.ended, true);
});

test("drain: the time that calls have begins when it is told to stop, not when the poll that is under way ends", async () => {
  const world = openWorld({ endpoint: () => ({ status: 200, afterMs: 500_000 }) });
  const { clock, tables, shard } = world;
  const { jobs } = shard;
  const { poll } = jobs;
  let isSlow = false;
  jobs.poll = async (request) => {
    if (isSlow) await clock.sleep(20_000);
    return poll.call(jobs, request);
  };
  const { task } = addTask(tables, { timeoutMs: 900_000 });
  const job = makeScheduledJob(task, "schedule", tables.nowMs(), tables.nowMs());
  tables.insertJobs([job]);
  await clock.advance(2_000);
  isSlow = true;
  await clock.advance(1_000);
  world.stop.abort();
  await clock.advance(101_000);
  assert.partialDeepStrictEqual(jobOf(tables, job.id), { status: "pending", attempt: 1, lost: 1 });
  assert.equal(await world.ended, true);
});

for (const [way, bring] of [
  ["a claim", ({ tables }) => [addJob(tables, 0), addJob(tables, 0)]],
  ["a make of critical tasks", ({ tables }) => addCriticalTask(tables)],
  ["a take with slots", ({ tables }) => [addLimitedJob(tables), addLimitedJob(tables)]],
] as const satisfies readonly (readonly [string, (world: World) => void])[]) {
  test(`drain: ${way} that is answered after it was told to stop brings no call, and its jobs go back as they were`, async () => {
    const world = openWorld();
    const { clock, tables, sent, shard } = world;
    const limitKey = endpointKey(TENANT, LIMITED_URL);
    assert(limitKey !== null);
    await shard.limits.put(limitKey, { concurrency: 5 });
    await clock.advance(1_000);
    // The tenant's signing keys are known from here on: nothing is waited for before a call.
    addJob(tables, 0);
    await clock.advance(2_000);
    assert.equal(sent.length, 1);
    slowDown(world, 500);
    bring(world);
    const running = () => [...tables.jobs.values()].filter(({ status }) => status === "running");
    for (let i = 0; i < 200 && running().length === 0; i++) await clock.advance(10);
    const taken = running();
    assert.ok(taken.length > 0);
    world.stop.abort();
    await clock.advance(5_000);
    assert.equal(await world.ended, true);
    assert.equal(sent.length, 1);
    for (const { id } of taken) {
      assert.ok(["pending", "waiting"].includes(jobOf(tables, id).status));
      assert.partialDeepStrictEqual(jobOf(tables, id), { attempt: 0, lost: 0, attempts: {} });
    }
  });
}

test("drain: a claim whose COMMIT was not answered is settled on the way out, and its jobs go back as they were", async () => {
  const world = openWorld();
  const { clock, tables, sent, faults } = world;
  await clock.advance(1_000);
  addJob(tables, 0);
  await clock.advance(2_000);
  assert.equal(sent.length, 1);
  faults.set("adopt", { when: "before", error: () => new StoreUnavailable("away"), left: 2 });
  faults.set("claimDue", { when: "after", error: () => new OutcomeUnknown("cut"), left: 1 });
  const ids = Array.from({ length: 5 }, () => addJob(tables, 0));
  for (const id of ids) while (jobOf(tables, id).status === "pending") await clock.advance(10);
  world.stop.abort();
  await clock.advance(5_000);
  assert.equal(await world.ended, true);
  assert.equal(sent.length, 1);
  for (const id of ids)
    assert.partialDeepStrictEqual(jobOf(tables, id), {
      ...{ status: "pending", attempt: 0, lost: 0, attempts: {} },
    });
});

test("drain with the database away: gives up before the deadline and says that it was not clean", async () => {
  const world = openWorld();
  const { clock, tables, faults } = world;
  await clock.advance(1_000);
  addJob(tables, 0);
  faults.set("recordResults", {
    when: "before",
    error: () => new StoreUnavailable("away"),
    left: 100_000,
  });
  await clock.advance(1_000);
  world.stop.abort();
  await clock.advance(112_000);
  assert.equal(await world.ended, false);
});

test("a pause that is answered while a call is being prepared is in time: nothing is called", async () => {
  const world = openWorld();
  const { clock, tables, shard, shards, sent } = world;
  await clock.advance(1_000);
  const { loadVersions } = shard.tasks;
  shard.tasks.loadVersions = async (keys) => {
    await clock.sleep(4_000);
    return loadVersions.call(shard.tasks, keys);
  };
  const id = addFatJob(tables, "b".repeat(CARRIED_BYTES_MAX));
  await clock.advance(1_000);
  assert.equal(world.executor.load.sending, 1);
  const deps = { shards, clock, retention: RETENTION };
  const { taskId } = jobOf(tables, id);
  assert.equal((await pauseTask(deps, TENANT, taskId)).kind, "written");
  await clock.advance(10_000);
  assert.equal(sent.length, 0);
  assert.equal(world.executor.load.held, 0);
  assert.partialDeepStrictEqual(jobOf(tables, id), {
    status: "cancelled",
    reason: "task paused",
    attempt: 0,
  });
  await endWorld(world);
});

type World = ReturnType<typeof openWorld>;
const LIMITED_URL = "https://limited.example.com/hook";

/** Whatever brings jobs is answered so long after it has been done. */
function slowDown({ clock, shard: { jobs, limits } }: World, delayMs: number): void {
  const { claimDue, takeCritical } = jobs;
  const { takeLimited } = limits;
  const late = async <Answer>(answer: Promise<Answer>) => {
    const answered = await answer;
    await clock.sleep(delayMs);
    return answered;
  };
  jobs.claimDue = (request) => late(claimDue.call(jobs, request));
  jobs.takeCritical = (request, plan) => late(takeCritical.call(jobs, request, plan));
  limits.takeLimited = (request) => late(takeLimited.call(limits, request));
}

function addCriticalTask(tables: MemoryTables): void {
  addTask(tables, { priority: "critical", nextRunAtMs: tables.nowMs() });
}

function addLimitedJob(tables: MemoryTables): void {
  const { task, version } = addTask(tables);
  tables.addVersion({ ...version, request: { ...version.request, url: LIMITED_URL } });
  const limitKey = endpointKey(TENANT, LIMITED_URL);
  const job = makeScheduledJob(task, "schedule", tables.nowMs(), tables.nowMs());
  tables.insertJobs([{ ...job, limitKey, status: "waiting" }]);
}

async function pause(shard: Shard, { taskId }: Job): Promise<void> {
  const paused = await shard.tasks.edit<never>(
    TENANT,
    taskId,
    ({ task }) => ({
      kind: "write",
      task: { ...task, status: "paused" },
      newVersion: null,
      jobsEffect: { kind: "cancel", reason: "task paused" },
      makeJobs: [],
    }),
    RETENTION,
  );
  assert.equal(paused.kind, "written");
}
