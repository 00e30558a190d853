/** What every TaskStore must do. Runs on any adapter: no clock is moved, instants are chosen around the database's now. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import type { TaskId } from "#core/domain/ids.ts";
import { makeTaskId, partitionOfTenant } from "#core/domain/ids.ts";
import { REASON_DELETED } from "#core/domain/job.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import type { Task, TaskVersion } from "#core/domain/task.ts";
import type { EditResult, LockedTask, TaskEdit, TaskFilter } from "#core/ports/task-store.ts";
import {
  addJobs,
  addTask,
  buildTask,
  dbNow,
  HOUR_MS,
  makeTenant,
  plannedJob,
  RETENTION,
  readJob,
  writeEdit,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { materializeContract } from "./materialize.contract.ts";
import { taskEffectsContract } from "./task-effects.contract.ts";

/** Registers the whole suite of the TaskStore port for the adapter called `name`. */
export function taskStoreContract(name: string, open: OpenStore): void {
  describe(`${name}: task store`, () => {
    createAndFind(open);
    lists(open);
    edits(open);
    runsNow(open);
    versions(open);
    taskEffectsContract(open);
    materializeContract(open);
  });
}

const AWKWARD = `quote ' double " back \\ slash \\' new\nline \u0000 nul \u001a ctrl-z é 😀 %s ?`;

function createAndFind(open: OpenStore): void {
  test(
    "a created task is found as it was given, bodies and text byte for byte",
    onStore(open, async (store) => {
      const built = buildTask(await dbNow(store), {
        task: {
          name: "digest 😀 'quoted'",
          description: AWKWARD,
          tags: ["b", "a", 'quo"ted'],
          schedule: { type: "cron", expression: "0 9 * * *", timezone: "Europe/Madrid" },
          priority: "critical",
          catchUp: "latest",
          startAtMs: 1_700_000_000_001,
          endAtMs: 1_900_000_000_999,
          madeUntilMs: 1_750_000_000_123,
          version: 7,
        },
        version: {
          request: {
            method: "PUT",
            url: "https://example.com/a?b=%20'",
            headers: { "x-a": `"'\\`, accept: "*/*" },
            body: `{"z":1.0,"a": 1e400}${AWKWARD}`,
            bodyBase64: null,
          },
          timeoutMs: 900_000,
          retry: { ...RETRY_DEFAULT, maxAttempts: 20, factor: 2.5, jitter: 0.35 },
        },
      });
      assert.deepEqual(await store.shard.tasks.create(built), { kind: "created" });
      assert.deepEqual(await store.shard.tasks.find(built.task.tenantId, built.task.id), built);
    }),
  );

  test(
    "a binary body and empty values come back as they were",
    onStore(open, async (store) => {
      const request = {
        method: "GET",
        url: "https://example.com/",
        headers: {},
        body: null,
        bodyBase64: "AAECAw==",
      };
      const built = await addTask(store, { task: { nextRunAtMs: null }, version: { request } });
      assert.deepEqual(await store.shard.tasks.find(built.task.tenantId, built.task.id), built);
      const empty = await addTask(store, {
        version: { request: { ...request, body: "", bodyBase64: null } },
      });
      assert.deepEqual(await store.shard.tasks.find(empty.task.tenantId, empty.task.id), empty);
    }),
  );

  test(
    "a live name is taken for its tenant only, and free after delete",
    onStore(open, async (store) => {
      const { task } = await addTask(store, { task: { name: "digest" } });
      const twin = buildTask(await dbNow(store), {
        task: { name: "digest", tenantId: task.tenantId },
      });
      assert.deepEqual(await store.shard.tasks.create(twin), { kind: "name-taken" });
      assert.equal(await store.shard.tasks.find(task.tenantId, twin.task.id), null);
      assert.deepEqual(await store.shard.tasks.loadVersions([twin.version]), []);
      await addTask(store, { task: { name: "digest" } });
      await addTask(store, { task: { name: "Digest", tenantId: task.tenantId } });

      await remove(store, task);
      assert.deepEqual(await store.shard.tasks.create(twin), { kind: "created" });
      await remove(store, twin.task);
      await addTask(store, { task: { name: "digest", tenantId: task.tenantId } });
    }),
  );

  test(
    "another tenant's task, an unknown one and a deleted one are not found; only their own tenant knows that they were there",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const other = makeTenant();
      const unknown = freshTaskId(await dbNow(store), task);
      assert.equal(await store.shard.tasks.find(other, task.id), null);
      assert.equal(await store.shard.tasks.find(task.tenantId, unknown), null);
      assert.equal(await store.shard.tasks.exists(task.tenantId, task.id), true);
      await remove(store, task);
      assert.equal(await store.shard.tasks.find(task.tenantId, task.id), null);
      assert.equal(await store.shard.tasks.exists(task.tenantId, task.id), true);
      assert.equal(await store.shard.tasks.exists(other, task.id), false);
      assert.equal(await store.shard.tasks.exists(task.tenantId, unknown), false);
    }),
  );
}

function lists(open: OpenStore): void {
  const everything: TaskFilter = { status: null, priority: null, tag: null };

  test(
    "lists a tenant's live tasks newest first, in pages",
    onStore(open, async (store) => {
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const made: TaskId[] = [];
      for (let i = 0; i < 5; i++) {
        const built = buildTask(nowMs + i, { task: { tenantId } });
        await store.shard.tasks.create(built);
        made.unshift(built.task.id);
      }
      const deleted = await addTask(store, { task: { tenantId } });
      await remove(store, deleted.task);
      await addTask(store);

      const page = async (before: TaskId | null, limit: number) =>
        (await store.shard.tasks.list(tenantId, everything, before, limit)).map((t) => t.task.id);
      assert.deepEqual(await page(null, 10), made);
      assert.deepEqual(await page(null, 2), made.slice(0, 2));
      assert.deepEqual(await page(made[1] ?? null, 2), made.slice(2, 4));
      assert.deepEqual(await page(made[4] ?? null, 2), []);
    }),
  );

  test(
    "lists by status, priority and tag, all of them at once too, with the newest version",
    onStore(open, async (store) => {
      const tenantId = makeTenant();
      const paused = await addTask(store, {
        task: { tenantId, status: "paused", priority: "high", tags: ["billing", "eu"] },
      });
      const active = await addTask(store, { task: { tenantId, priority: "high", tags: ["eu"] } });
      const low = await addTask(store, {
        task: { tenantId, priority: "low", tags: ["billing", "%"] },
      });
      const ids = async (filter: Partial<TaskFilter>) => {
        const found = await store.shard.tasks.list(tenantId, { ...everything, ...filter }, null, 9);
        return found.map((t) => t.task.id).sort();
      };
      const of = (...tasks: { task: Task }[]) => tasks.map((t) => t.task.id).sort();
      assert.deepEqual(await ids({ status: "paused" }), of(paused));
      assert.deepEqual(await ids({ status: "active" }), of(active, low));
      assert.deepEqual(await ids({ status: "completed" }), []);
      assert.deepEqual(await ids({ priority: "high" }), of(paused, active));
      assert.deepEqual(await ids({ tag: "billing" }), of(paused, low));
      assert.deepEqual(await ids({ tag: "bill" }), []);
      assert.deepEqual(await ids({ tag: "%" }), of(low));
      assert.deepEqual(
        await ids({
          status: "paused",
          priority: "high",
          tag: "eu",
        }),
        of(paused),
      );
      const [first] = await store.shard.tasks.list(
        tenantId,
        { ...everything, priority: "low" },
        null,
        1,
      );
      assert.deepEqual(first, low);
    }),
  );
}

function edits(open: OpenStore): void {
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
      const result = await edit(store, task, () => ({
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

      const frozen = plannedJob(task, beforeMs, 20_000);
      await addJobs(store, task, [frozen]);
      assert.equal((await look(store, task)).plannedFromMs, null);

      const later = plannedJob(task, beforeMs, 7 * HOUR_MS);
      const earlier = plannedJob(task, beforeMs, 6 * HOUR_MS);
      await addJobs(store, task, [later, earlier]);
      assert.equal((await look(store, task)).plannedFromMs, earlier.scheduledAtMs);
      const reclaimed = plannedJob(task, beforeMs, 5 * HOUR_MS);
      await store.putJob({ ...reclaimed, claimNo: 1 });
      await store.putJob({ ...plannedJob(task, beforeMs, 4 * HOUR_MS), trigger: "manual" });
      assert.equal((await look(store, task)).plannedFromMs, earlier.scheduledAtMs);
    }),
  );

  test(
    "an edit that is refused or changes nothing writes nothing",
    onStore(open, async (store) => {
      const built = await addTask(store);
      const refused = await edit<string>(store, built.task, () => ({
        kind: "refuse",
        refusal: "stale",
      }));
      assert.deepEqual(refused, { kind: "refused", refusal: "stale" });
      const unchanged = await edit(store, built.task, () => ({ kind: "unchanged" }));
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
      assert.deepEqual(await edit(store, { ...task, tenantId: makeTenant() }, never), notFound);
      const id = freshTaskId(await dbNow(store), task);
      assert.deepEqual(await edit(store, { ...task, id }, never), notFound);
      await remove(store, task);
      assert.deepEqual(await edit(store, task, never), notFound);
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
        edit(store, task, (locked) => ({
          kind: "write",
          task: { ...locked.task, name: to, version: locked.task.version + 1 },
          newVersion: null,
          jobsEffect: { kind: "keep" },
          makeJobs: [job],
        }));
      assert.deepEqual(await rename("theirs"), { kind: "name-taken" });
      assert.equal((await store.shard.tasks.find(tenantId, task.id))?.task.version, 1);
      assert.equal(await store.shard.jobs.find(tenantId, job.id), null);
      assert.equal((await rename("mine")).kind, "written");
      await remove(store, other.task);
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
        edit(store, built.task, () => {
          throw boom;
        }),
        (error) => error === boom,
      );
      assert.deepEqual(await store.shard.tasks.find(built.task.tenantId, built.task.id), built);
      assert.equal(
        (await edit(store, built.task, () => ({ kind: "unchanged" }))).kind,
        "unchanged",
      );
    }),
  );

  test(
    "edits at once follow one another: none is lost",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const grow = () =>
        edit(store, task, (locked) => ({
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

function runsNow(open: OpenStore): void {
  test(
    "runNow inserts what make builds, and asks again while the id exists",
    onStore(open, async (store) => {
      const { task } = await addTask(store, { task: { status: "paused" } });
      const payload = { headers: { "x-one": "1" }, body: AWKWARD };
      const instantMs = (await dbNow(store)) + 1;
      const runs = [5, 5, 5, 6];
      const make = (locked: Task) =>
        makeManualJob(locked, "manual", instantMs, runs.shift() ?? 7, payload);
      const first = await store.shard.tasks.runNow(task.tenantId, task.id, make);
      assert(first.kind === "made");
      assert.deepEqual(first.job, makeManualJob(task, "manual", instantMs, 5, payload));
      const second = await store.shard.tasks.runNow(task.tenantId, task.id, make);
      assert(second.kind === "made");
      assert.deepEqual(second.job, makeManualJob(task, "manual", instantMs, 6, payload));
      assert.deepEqual(runs, []);
      assert.deepEqual(await readJob(store, first.job), first.job);
      assert.deepEqual(await readJob(store, second.job), second.job);
    }),
  );

  test(
    "make is given the task and the database's now; a task that is not live is not found",
    onStore(open, async (store) => {
      const { task } = await addTask(store, { task: { status: "completed", nextRunAtMs: null } });
      const beforeMs = await dbNow(store);
      const made = await store.shard.tasks.runNow(task.tenantId, task.id, (given, nowMs) => {
        assert.deepEqual(given, task);
        return makeManualJob(given, "test", nowMs, 9, null);
      });
      assert(made.kind === "made");
      assert(made.job.scheduledAtMs >= beforeMs && made.job.scheduledAtMs <= (await dbNow(store)));
      const never = () => assert.fail("make was asked");
      const notFound = { kind: "not-found" };
      assert.deepEqual(await store.shard.tasks.runNow(makeTenant(), task.id, never), notFound);
      await remove(store, task);
      assert.deepEqual(await store.shard.tasks.runNow(task.tenantId, task.id, never), notFound);
    }),
  );
}

function versions(open: OpenStore): void {
  test(
    "loadVersions answers what exists and leaves out what does not",
    onStore(open, async (store) => {
      const one = await addTask(store);
      const two = await addTask(store, { version: { timeoutMs: 1_000 } });
      const found = await store.shard.tasks.loadVersions([
        { taskId: one.task.id, requestVersion: 1 },
        { taskId: one.task.id, requestVersion: 2 },
        { taskId: two.task.id, requestVersion: 1 },
        { taskId: freshTaskId(await dbNow(store), one.task), requestVersion: 1 },
      ]);
      assert.deepEqual(
        [...found].sort((a, b) => (a.taskId < b.taskId ? -1 : 1)),
        [one.version, two.version].sort((a, b) => (a.taskId < b.taskId ? -1 : 1)),
      );
      assert.deepEqual(await store.shard.tasks.loadVersions([]), []);
    }),
  );

  test(
    "a version's row never changes, also when its number is written again",
    onStore(open, async (store) => {
      const { task, version } = await addTask(store);
      const forged = { ...version, timeoutMs: 1_234 };
      await assert.rejects(
        edit(store, task, (locked) => ({
          kind: "write",
          task: { ...locked.task, version: 2 },
          newVersion: forged,
          jobsEffect: { kind: "keep" },
          makeJobs: [],
        })),
      );
      assert.deepEqual(await store.shard.tasks.loadVersions([version]), [version]);
      assert.equal((await store.shard.tasks.find(task.tenantId, task.id))?.task.version, 1);
    }),
  );
}

function edit<R = never>(
  store: ContractStore,
  task: Pick<Task, "tenantId" | "id">,
  decide: (locked: LockedTask) => TaskEdit<R>,
): Promise<EditResult<R>> {
  return store.shard.tasks.edit(task.tenantId, task.id, decide, RETENTION);
}

/** What decide is shown of a task. */
async function look(store: ContractStore, task: Task): Promise<LockedTask> {
  const seen: LockedTask[] = [];
  await edit(store, task, (locked) => {
    seen.push(locked);
    return { kind: "unchanged" };
  });
  const locked = seen.at(-1);
  assert(locked !== undefined);
  return locked;
}

async function remove(store: ContractStore, task: Task): Promise<void> {
  const effect = { kind: "cancel", reason: REASON_DELETED } as const;
  await writeEdit(store, task, { status: "deleted" }, effect);
}

function freshTaskId(nowMs: number, task: Task): TaskId {
  return makeTaskId(nowMs, partitionOfTenant(task.tenantId), randomBytes(8));
}

function byVersion(rows: readonly TaskVersion[]): TaskVersion[] {
  return [...rows].sort((a, b) => a.requestVersion - b.requestVersion);
}
