/** Runs by hand while the task is edited: what is called and whose line it waits in are of one request. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryHistory } from "#adapters/memory/history-store.ts";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { endpointKey } from "#core/domain/call-limit.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { historyEntryOf } from "#core/domain/history.ts";
import type { Job } from "#core/domain/job.ts";
import { buildTask, plannedJob } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { retryJob } from "../jobs/retry-job.ts";
import { runTask } from "./run-task.ts";
import { testTask } from "./test-task.ts";

const LIMITED = "https://limited.example/hook";
const FREE = "https://free.example/hook";
const random = { unit: () => 0.5, bytes: (count: number) => new Uint8Array(count).fill(7) };

/** A task that calls a limited endpoint, and another one from the moment on that a run of it is about to be made. */
async function openWorld(from: string, to: string) {
  const clock = new ManualClock();
  const built = buildTask(clock.nowMs());
  const { task } = built;
  const version = { ...built.version, request: { ...built.version.request, url: from } };
  const edited = { ...version, requestVersion: 2, request: { ...version.request, url: to } };
  const beforeCommit = async (verb: string) => {
    if (verb !== "runNow" && verb !== "runTest") return;
    shards.tables.addVersion(edited);
    shards.tables.tasks.set(task.id, { ...task, version: 2, requestVersion: 2 });
  };
  const shards = openMemoryShards({ clock, hooks: { beforeCommit } });
  const key = endpointKey(task.tenantId, LIMITED);
  assert.ok(key !== null);
  await shards.forTask(task.id).limits.put(key, { concurrency: 1 });
  shards.tables.addVersion(version);
  shards.tables.tasks.set(task.id, task);
  const history = openMemoryHistory();
  const logger = { info() {}, warn() {}, error() {} };
  const lineOf = ({ taskId, taskVersion, limitKey }: Job) => ({
    url: shards.tables.versionOf(taskId, taskVersion)?.request.url,
    limited: limitKey === key,
  });
  return { deps: { shards, clock, random, history, logger }, task, clock, lineOf };
}

type World = Awaited<ReturnType<typeof openWorld>>;

const RUNS: Record<string, (world: World) => Promise<Job>> = {
  "a run": async ({ deps, task }) => {
    const ran = await runTask(deps, task.tenantId, task.id, null);
    assert.ok(ran.kind === "made");
    assert.equal(ran.version.requestVersion, ran.job.taskVersion);
    return ran.job;
  },
  "a test": async ({ deps, task, clock }) => {
    const wait = { untilMs: clock.monotonicMs(), abandoned: undefined };
    const tested = await testTask(deps, task.tenantId, task.id, wait);
    assert.ok(tested.kind === "under-way");
    assert.equal(tested.version.requestVersion, tested.job.taskVersion);
    return tested.job;
  },
  "a retry of what is archived": async ({ deps, task, clock }) => {
    const dead = { ...plannedJob(task, clock.nowMs(), -60_000), status: "dead" as const };
    const ended = { ...dead, finishedAtMs: clock.nowMs(), reason: "timeout" };
    await deps.history.write([historyEntryOf(ended, null, () => "0".repeat(64))]);
    const retried = await retryJob(deps, task.tenantId, dead.id, null);
    assert.ok(retried.kind === "moved");
    return retried.job;
  },
};

for (const [told, run] of Object.entries(RUNS)) {
  test(`${told} beside an edit waits in the line of what it calls`, async () => {
    const left = await openWorld(LIMITED, FREE);
    assert.deepEqual(left.lineOf(await run(left)), { url: FREE, limited: false });
    const entered = await openWorld(FREE, LIMITED);
    assert.deepEqual(entered.lineOf(await run(entered)), { url: LIMITED, limited: true });
  });
}

test("a test call is waited for also while the database does not answer", async () => {
  const { deps, task, clock } = await openWorld(FREE, FREE);
  const { tasks, jobs } = deps.shards.forTask(task.id);
  let asked = 0;
  const away = Object.assign(Object.create(jobs), {
    find: async (...args: Parameters<typeof jobs.find>) => {
      if (++asked <= 3) throw new StoreUnavailable("away");
      const found = await jobs.find(...args);
      return found && { ...found, status: "succeeded" as const };
    },
  });
  const shards = { ...deps.shards, forTask: () => ({ tasks, jobs: away }) } as never;
  const wait = { untilMs: clock.monotonicMs() + 10_000, abandoned: undefined };
  const testing = testTask({ ...deps, shards }, task.tenantId, task.id, wait);
  await clock.advance(10_000);
  assert.equal((await testing).kind, "ended");
  assert.equal(asked, 4);
});
