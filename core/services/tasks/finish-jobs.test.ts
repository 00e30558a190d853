/** Tasks of more jobs than one transaction reaches, paused, resumed and deleted within the time that a caller waits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { JobStatus } from "#core/domain/job.ts";
import { buildTask, plannedJob } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { deleteTask } from "./delete-task.ts";
import { pauseTask } from "./pause-task.ts";
import { resumeTask } from "./resume-task.ts";

const RETENTION = { succeededMs: 3_600_000, endedMs: 86_400_000 };
const JOBS = 40;
const AT_ONCE = 4;

/** `groupMs`: what a group takes. */
function openWorld(groupMs = 0, endsInMs: number | null = null) {
  const clock = new ManualClock();
  const hooks = {
    async afterCommit(verb: string) {
      if (verb === "goOnWithJobs") await clock.advance(groupMs);
    },
  };
  const shards = openMemoryShards({ clock, hooks, jobsAtOnce: AT_ONCE });
  const random = { bytes: (length: number) => new Uint8Array(length), unit: () => 0.5 };
  const deps = { shards, clock, random, retention: RETENTION };
  const endAtMs = endsInMs === null ? null : clock.nowMs() + endsInMs;
  const { task, version } = buildTask(clock.nowMs(), { task: { endAtMs } });
  shards.tables.tasks.set(task.id, task);
  shards.tables.addVersion(version);
  const put = (status: JobStatus) => {
    for (let n = 1; n <= JOBS; n++) {
      const job = plannedJob(task, clock.nowMs(), -n * 1_000);
      const held = status === "running" ? { claimNo: 1, attempt: 1 } : {};
      shards.tables.jobs.set(job.id, { ...job, ...held, status });
    }
  };
  const count = (status: JobStatus) =>
    [...shards.tables.jobs.values()].filter((job) => job.status === status).length;
  const ask = (verb: (deps_: typeof deps, tenant: TenantId, id: TaskId) => Promise<unknown>) =>
    verb(deps, task.tenantId, task.id) as Promise<{ kind: string }>;
  const remove = () => deleteTask(deps, task.tenantId, task.id, null);
  return {
    clock,
    shards,
    task,
    put,
    count,
    pause: () => ask(pauseTask),
    resume: () => ask(resumeTask),
    remove,
  };
}

test("one request gets through all of a task's jobs while there is time", async () => {
  const { put, count, pause, remove, shards } = openWorld(1_000);
  put("pending");
  assert.equal((await pause()).kind, "written");
  assert.deepEqual([count("pending"), count("cancelled")], [0, JOBS]);
  assert.equal(shards.tables.revocations.length, JOBS / AT_ONCE);
  assert.equal((await pause()).kind, "unchanged");
  put("pending");
  assert.equal((await remove()).kind, "written");
  assert.equal(count("pending"), 0);
  assert.equal((await remove()).kind, "not-found");
});

test("when time is up the task is paused, and the same request goes on; what ran by hand since stays", async () => {
  const { clock, task, shards, put, count, pause } = openWorld(7_000);
  put("pending");
  assert.equal((await pause()).kind, "jobs-left");
  assert.equal(shards.tables.tasks.get(task.id)?.status, "paused");
  assert.equal(count("pending"), JOBS - 4 * AT_ONCE, "the edit's own, and groups begun in 20 s");
  await clock.advance(60_000);
  const byHand = plannedJob(task, clock.nowMs(), 0);
  shards.tables.jobs.set(byHand.id, { ...byHand, trigger: "manual" });
  assert.equal((await pause()).kind, "jobs-left");
  assert.equal((await pause()).kind, "unchanged");
  assert.deepEqual([count("pending"), count("cancelled")], [1, JOBS]);
});

test("a delete that is not done goes on with the deleted task, then there is none", async () => {
  const { put, count, remove } = openWorld(10_000);
  put("pending");
  const kinds: string[] = [];
  do kinds.push((await remove()).kind);
  while (kinds.at(-1) === "jobs-left");
  assert.deepEqual([...new Set(kinds)], ["jobs-left", "finished"]);
  assert.equal(count("pending"), 0);
  assert.equal((await remove()).kind, "not-found");
});

test("a resume takes every mark back that a pause has set, and stops a pause under way", async () => {
  const { shards, put, count, pause, resume } = openWorld(10_000);
  put("running");
  assert.equal((await pause()).kind, "jobs-left");
  const marked = () => [...shards.tables.jobs.values()].filter((job) => job.cancelReason !== null);
  const before = marked().length;
  assert.ok(before > 2 * AT_ONCE && before < JOBS);
  assert.equal((await resume()).kind, "jobs-left");
  assert.equal((await resume()).kind, "unchanged");
  assert.deepEqual([marked().length, count("running")], [0, JOBS]);
  assert.equal((await resume()).kind, "unchanged");
});

test("a resume that completes its task goes on when it is asked again, as any other, and is refused when it is done", async () => {
  const { clock, shards, task, put, pause, resume } = openWorld(10_000, 120_000);
  put("running");
  while ((await pause()).kind === "jobs-left");
  await clock.advance(120_000);
  assert.equal((await resume()).kind, "jobs-left");
  assert.equal(shards.tables.tasks.get(task.id)?.status, "completed");
  const kinds: string[] = [];
  do kinds.push((await resume()).kind);
  while (kinds.at(-1) === "jobs-left");
  assert.equal(kinds.at(-1), "unchanged");
  assert.ok([...shards.tables.jobs.values()].every((job) => job.cancelReason === null));
  assert.equal((await resume()).kind, "refused");
});
