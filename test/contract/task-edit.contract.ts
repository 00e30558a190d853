/** An edit of a task: one transaction under its row's lock, in which `decide` chooses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Task, TaskVersion } from "#core/domain/task.ts";
import type { LockedTask } from "#core/ports/task-store.ts";
import {
  AWKWARD,
  addJobs,
  addTask,
  dbNow,
  editTask,
  freshTaskId,
  HOUR_MS,
  makeTenant,
  makeWorker,
  plannedJob,
  readJob,
  removeTask,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

export function taskEditContract(open: OpenStore): void {
  writes(open);
  leavesAlone(open);
}

function writes(open: OpenStore): void {
  test(
    "an edit that writes changes the task, keeps the old version's row and adds the new one",
    onStore(open, async (store) => {
      const { task, version } = await addTask(store);
      const newVersion: TaskVersion = {
        ...version,
        requestVersion: 2,
        timeoutMs: 5_000,
        retry: { ...version.retry, maxAttempts: 3, factor: 1.5, jitter: 0 },
        request: { ...version.request, url: "https://example.com/new", body: AWKWARD },
      };
      const changed: Task = {
        ...task,
        name: "renamed",
        description: "new",
        tags: ["x"],
        status: "paused",
        schedule: { type: "every", seconds: 60, anchor: "1970-01-01T00:00:00.000Z" },
        priority: "low",
        catchUp: "none",
        startAtMs: 1,
        endAtMs: 4_000_000_000_000,
        nextRunAtMs: task.createdAtMs + 60_000,
        madeUntilMs: task.createdAtMs,
        version: 2,
        requestVersion: 2,
        timeoutMs: 5_000,
        maxAttempts: 3,
        error: "never again",
        updatedAtMs: task.createdAtMs + 5,
      };
      const result = await editTask(store, task, () => ({
        kind: "write",
        task: changed,
        newVersion,
        jobsEffect: { kind: "keep" },
        makeJobs: [],
      }));
      const current = { task: changed, version: newVersion };
      assert.deepEqual(result, { kind: "written", current });
      assert.deepEqual(await store.shard.tasks.find(task.tenantId, task.id), current);
      const rows = await store.shard.tasks.loadVersions([
        { taskId: task.id, requestVersion: 1 },
        { taskId: task.id, requestVersion: 2 },
      ]);
      assert.deepEqual(byVersion(rows), [version, newVersion]);
    }),
  );

  test(
    "decide sees which occurrences since the next run have a row, covering rows and runs by hand apart",
    onStore(open, async (store) => {
      const nowMs = await dbNow(store);
      const { task } = await addTask(store, { task: { nextRunAtMs: nowMs - 3 * HOUR_MS } });
      assert.deepEqual((await look(store, task)).madeMs, []);
      const before = plannedJob(task, nowMs, -4 * HOUR_MS);
      const first = plannedJob(task, nowMs, -3 * HOUR_MS);
      const third = plannedJob(task, nowMs, -HOUR_MS);
      const ahead = plannedJob(task, nowMs, HOUR_MS);
      const covers = { count: 1, fromMs: nowMs - 2 * HOUR_MS, toMs: nowMs - 2 * HOUR_MS };
      const covering = { ...plannedJob(task, nowMs, -2 * HOUR_MS), covers };
      await addJobs(store, task, [before, first, third, ahead, covering]);
      await store.putJob({ ...plannedJob(task, nowMs, -HOUR_MS / 2), trigger: "manual" });
      const made = [first.scheduledAtMs, third.scheduledAtMs];
      assert.deepEqual((await look(store, task)).madeMs, made);
    }),
  );

  test(
    "decide sees the task under its lock, the database's now and the earliest planned job",
    onStore(open, async (store) => {
      const built = await addTask(store);
      const { task } = built;
      const beforeMs = await dbNow(store);
      const seen = await look(store, task);
      const afterMs = await dbNow(store);
      assert.deepEqual({ task: seen.task, version: seen.version }, built);
      assert(seen.nowMs >= beforeMs && seen.nowMs <= afterMs);
      assert.equal(seen.plannedFromMs, null);
      assert.equal(seen.aheadFromMs, null);

      const frozen = plannedJob(task, beforeMs, 20_000);
      await addJobs(store, task, [frozen, plannedJob(task, beforeMs, -5_000)]);
      assert.equal((await look(store, task)).plannedFromMs, null);
      assert.equal((await look(store, task)).aheadFromMs, frozen.scheduledAtMs);

      const later = plannedJob(task, beforeMs, 7 * HOUR_MS);
      const earlier = plannedJob(task, beforeMs, 6 * HOUR_MS);
      await addJobs(store, task, [later, earlier]);
      assert.equal((await look(store, task)).plannedFromMs, earlier.scheduledAtMs);
      const reclaimed = plannedJob(task, beforeMs, 5 * HOUR_MS);
      await store.putJob({ ...reclaimed, claimNo: 1 });
      await store.putJob({ ...plannedJob(task, beforeMs, 4 * HOUR_MS), trigger: "manual" });
      assert.equal((await look(store, task)).plannedFromMs, earlier.scheduledAtMs);
      await store.putJob({ ...frozen, status: "running", claimNo: 1, workerId: makeWorker() });
      assert.equal((await look(store, task)).aheadFromMs, frozen.scheduledAtMs);
      await store.putJob({ ...frozen, status: "cancelled", finishedAtMs: beforeMs });
      assert.equal((await look(store, task)).aheadFromMs, reclaimed.scheduledAtMs);
    }),
  );
}

function leavesAlone(open: OpenStore): void {
  test(
    "an edit that is refused or changes nothing writes nothing",
    onStore(open, async (store) => {
      const built = await addTask(store);
      const refused = await editTask<string>(store, built.task, () => ({
        kind: "refuse",
        refusal: "stale",
      }));
      assert.deepEqual(refused, { kind: "refused", refusal: "stale" });
      const unchanged = await editTask(store, built.task, () => ({ kind: "unchanged" }));
      assert.deepEqual(unchanged, { kind: "unchanged", current: built });
      assert.deepEqual(await store.shard.tasks.find(built.task.tenantId, built.task.id), built);
    }),
  );

  test(
    "another tenant's task, an unknown one and a deleted one are not found, and decide is not asked",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const never = () => assert.fail("decide was asked");
      const notFound = { kind: "not-found" };
      assert.deepEqual(await editTask(store, { ...task, tenantId: makeTenant() }, never), notFound);
      const id = freshTaskId(await dbNow(store), task);
      assert.deepEqual(await editTask(store, { ...task, id }, never), notFound);
      await removeTask(store, task);
      assert.deepEqual(await editTask(store, task, never), notFound);
    }),
  );

  test(
    "a rename to a live name is refused whole; to a deleted task's name or its own it is written",
    onStore(open, async (store) => {
      const { task } = await addTask(store, { task: { name: "mine" } });
      const tenantId = task.tenantId;
      const other = await addTask(store, { task: { name: "theirs", tenantId } });
      const job = plannedJob(task, await dbNow(store), 5_000);
      const rename = (to: string) =>
        editTask(store, task, (locked) => ({
          kind: "write",
          task: { ...locked.task, name: to, version: locked.task.version + 1 },
          newVersion: null,
          jobsEffect: { kind: "keep" },
          makeJobs: [job],
        }));
      const refused = { kind: "name-taken", taskId: other.task.id };
      assert.deepEqual(await rename("theirs"), refused);
      assert.equal((await store.shard.tasks.find(tenantId, task.id))?.task.version, 1);
      assert.equal(await store.shard.jobs.find(tenantId, job.id), null);
      assert.equal((await rename("mine")).kind, "written");
      await removeTask(store, other.task);
      assert.equal((await rename("theirs")).kind, "written");
      assert.deepEqual(await readJob(store, job), job);
    }),
  );

  test(
    "what decide throws is thrown, and nothing is written",
    onStore(open, async (store) => {
      const built = await addTask(store);
      const boom = new Error("boom");
      await assert.rejects(
        editTask(store, built.task, () => {
          throw boom;
        }),
        (error) => error === boom,
      );
      assert.deepEqual(await store.shard.tasks.find(built.task.tenantId, built.task.id), built);
      assert.equal(
        (await editTask(store, built.task, () => ({ kind: "unchanged" }))).kind,
        "unchanged",
      );
    }),
  );

  test(
    "edits at once follow one another: none is lost",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const grow = () =>
        editTask(store, task, (locked) => ({
          kind: "write",
          task: { ...locked.task, version: locked.task.version + 1 },
          newVersion: null,
          jobsEffect: { kind: "keep" },
          makeJobs: [],
        }));
      await Promise.all([grow(), grow(), grow(), grow()]);
      assert.equal((await store.shard.tasks.find(task.tenantId, task.id))?.task.version, 5);
    }),
  );
}

/** What decide is shown of a task. */
async function look(store: ContractStore, task: Task): Promise<LockedTask> {
  const seen: LockedTask[] = [];
  await editTask(store, task, (locked) => {
    seen.push(locked);
    return { kind: "unchanged" };
  });
  const locked = seen.at(-1);
  assert(locked !== undefined);
  return locked;
}

function byVersion(rows: readonly TaskVersion[]): TaskVersion[] {
  return [...rows].sort((a, b) => a.requestVersion - b.requestVersion);
}
