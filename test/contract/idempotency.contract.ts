/** Requests that their caller repeats under one key: made once, answered alike. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { Job } from "#core/domain/job.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import type { Idempotency } from "#core/ports/idempotency.ts";
import type { Creation, MadeRun } from "#core/ports/task-store.ts";
import {
  AWKWARD,
  addTask,
  buildTask,
  dbNow,
  HOUR_MS,
  makeTenant,
  plannedJob,
  readJob,
  removeTask,
} from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const ALL_TASKS = { status: null, priority: null, tag: null };

export function idempotencyContract(open: OpenStore): void {
  creates(open);
  groups(open);
  runsAndRetries(open);
  expires(open);
}

function creates(open: OpenStore): void {
  test(
    "a create that is repeated makes one task and answers alike, also when the task is gone",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const first = buildTask(await dbNow(store));
      const { tenantId } = first.task;
      const again = buildTask(await dbNow(store), { task: { tenantId, name: first.task.name } });
      const key = keyed<TaskWithVersion>(({ task }) => `${task.id} ${AWKWARD}`);
      assert.deepEqual(await tasks.create(first, key), { kind: "created" });
      const replay = { kind: "replayed", answer: `${first.task.id} ${AWKWARD}` };
      assert.deepEqual(await tasks.create(again, key), replay);
      await removeTask(store, first.task);
      assert.deepEqual(await tasks.create(again, key), replay);
      assert.equal(await tasks.find(tenantId, again.task.id), null);
    }),
  );

  test(
    "another body under the key is refused; another route, key or tenant is another request",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const create = async (changes: Partial<Idempotency<TaskWithVersion>>, tenantId = tenant) => {
        const built = buildTask(await dbNow(store), { task: { tenantId } });
        return (await tasks.create(built, { ...key, ...changes })).kind;
      };
      const tenant = makeTenant();
      const key = keyed<TaskWithVersion>(({ task }) => task.id);
      assert.equal(await create({}), "created");
      assert.equal(await create({ bodyHash: hashOf("other") }), "key-reused");
      assert.equal(await create({}), "replayed");
      assert.equal(await create({ route: "POST /v1/other" }), "created");
      assert.equal(await create({ key: key.key.toUpperCase() }), "created");
      assert.equal(await create({ key: `${key.key} ` }), "created");
      assert.equal(await create({ key: AWKWARD }), "created");
      assert.equal(await create({ key: AWKWARD }), "replayed");
      assert.equal(await create({}, makeTenant()), "created");
    }),
  );

  test(
    "an answer is found without taking its key, as long as it is kept",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const { task, ...version } = buildTask(await dbNow(store));
      const { tenantId } = task;
      const key = keyed<TaskWithVersion>((made) => `${made.task.id} ${AWKWARD}`);
      assert.equal(await tasks.findAnswer(tenantId, key), null);
      assert.deepEqual(await tasks.create({ task, ...version }, key), { kind: "created" });
      const replay = { kind: "replayed", answer: `${task.id} ${AWKWARD}` };
      assert.deepEqual(await tasks.findAnswer(tenantId, key), replay);
      const other = { ...key, bodyHash: hashOf("other") };
      assert.deepEqual(await tasks.findAnswer(tenantId, other), { kind: "key-reused" });
      assert.equal(await tasks.findAnswer(makeTenant(), key), null);
      assert.equal(await tasks.findAnswer(tenantId, { ...key, route: "POST /v1/other" }), null);
      const expired = { ...keyed<TaskWithVersion>(() => ""), expiresInMs: -1 };
      const made = buildTask(await dbNow(store), { task: { tenantId } });
      assert.deepEqual(await tasks.create(made, expired), { kind: "created" });
      assert.equal(await tasks.findAnswer(tenantId, expired), null);
    }),
  );

  test(
    "of twenty at once one makes the task, all have its answer",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const key = keyed<TaskWithVersion>(({ task }) => task.id);
      const builds = Array.from({ length: 20 }, () => buildTask(nowMs, { task: { tenantId } }));
      const answers = await Promise.all(builds.map((built) => tasks.create(built, key)));
      const made = await tasks.list(tenantId, ALL_TASKS, null, 50);
      assert.equal(made.length, 1);
      const replay = { kind: "replayed", answer: made[0]?.task.id };
      assert.equal(answers.filter(({ kind }) => kind === "created").length, 1);
      for (const answer of answers) if (answer.kind !== "created") assert.deepEqual(answer, replay);
    }),
  );

  test(
    "a request that made nothing keeps nothing: its key is free",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const { task } = await addTask(store);
      const { tenantId, name } = task;
      const nowMs = await dbNow(store);
      const taken = buildTask(nowMs, { task: { tenantId, name } });
      const free = buildTask(nowMs, { task: { tenantId } });
      const key = keyed<TaskWithVersion>((made) => made.task.id);
      const refused = { kind: "name-taken", taskId: task.id };
      assert.deepEqual(await tasks.create(taken, key), refused);
      const over = { kind: "quota", limit: 1, used: 1 };
      assert.deepEqual(await tasks.create(free, key, { tasksMax: 1 }), over);
      assert.deepEqual(await tasks.create(free, key, { tasksMax: 2 }), { kind: "created" });
      assert.equal((await tasks.create(free, key, { tasksMax: 2 })).kind, "replayed");
    }),
  );
}

function groups(open: OpenStore): void {
  test(
    "a group that is repeated is made once and answered alike, refusals too",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const { task } = await addTask(store);
      const { tenantId, name } = task;
      const nowMs = await dbNow(store);
      const build = (own: Partial<Task> = {}) => buildTask(nowMs, { task: { tenantId, ...own } });
      const groupOf = () => [build(), build({ name }), build(), build()];
      const key = keyed<readonly Creation[]>((all) => `${JSON.stringify(all)} ${AWKWARD}`);
      const quota = { tasksMax: 3 };
      const created = { kind: "created" };
      const full = { kind: "quota", limit: 3, used: 3 };
      const creations = [created, { kind: "name-taken", taskId: task.id }, created, full];
      assert.deepEqual(await tasks.createMany(groupOf(), key, quota), { kind: "made", creations });
      const replay = { kind: "replayed", answer: `${JSON.stringify(creations)} ${AWKWARD}` };
      assert.deepEqual(await tasks.createMany(groupOf(), key, quota), replay);
      assert.deepEqual(await tasks.createMany(groupOf(), key), replay);
      assert.deepEqual(await tasks.findAnswer(tenantId, key), replay);
      const other = { ...key, bodyHash: hashOf("other") };
      assert.deepEqual(await tasks.createMany(groupOf(), other), { kind: "key-reused" });
      assert.equal((await tasks.list(tenantId, ALL_TASKS, null, 50)).length, 3);
      const another = { ...key, route: "POST /v1/other" };
      assert.equal((await tasks.createMany([build()], another)).kind, "made");
    }),
  );

  test(
    "a group of which nothing was made keeps nothing: its key is free",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const { task } = await addTask(store);
      const { tenantId, name } = task;
      const nowMs = await dbNow(store);
      const key = keyed<readonly Creation[]>((all) => JSON.stringify(all));
      const group = [{ tenantId, name }, { tenantId }].map((own) =>
        buildTask(nowMs, { task: own }),
      );
      const creations = [
        { kind: "name-taken", taskId: task.id },
        { kind: "quota", limit: 1, used: 1 },
      ];
      const refused = await tasks.createMany(group, key, { tasksMax: 1 });
      assert.deepEqual(refused, { kind: "made", creations });
      assert.equal(await tasks.findAnswer(tenantId, key), null);
      assert.equal((await tasks.createMany(group, key)).kind, "made");
      assert.equal((await tasks.createMany(group, key)).kind, "replayed");
      assert.deepEqual(await tasks.createMany([], key), { kind: "made", creations: [] });
    }),
  );

  test(
    "of ten groups at once under one key one is made, all have its answer",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const key = keyed<readonly Creation[]>((all) => JSON.stringify(all));
      const build = () => buildTask(nowMs, { task: { tenantId } });
      const groups = Array.from({ length: 10 }, () => Array.from({ length: 20 }, build));
      const answers = await Promise.all(groups.map((group) => tasks.createMany(group, key)));
      const kinds = answers.map(({ kind }) => kind).sort();
      assert.deepEqual(kinds, ["made", ...Array(9).fill("replayed")]);
      assert.equal((await tasks.list(tenantId, ALL_TASKS, null, 50)).length, 20);
    }),
  );
}

function runsAndRetries(open: OpenStore): void {
  test(
    "a run by hand that is repeated makes one job, also of a completed task",
    onStore(open, async (store) => {
      for (const status of ["active", "completed"] as const) {
        const { task } = await addTask(store, { task: { status } });
        const key = keyed<MadeRun>(({ job }) => job.id);
        const run = (of: Pick<Task, "tenantId" | "id">) => {
          const make = (current: Task, nowMs: number) =>
            makeManualJob(current, "manual", nowMs, ++runs, null);
          return store.shard.tasks.runNow(of.tenantId, of.id, make, key);
        };
        let runs = 0;
        assert.deepEqual(await run({ ...task, id: buildTask(1_000).task.id }), {
          kind: "not-found",
        });
        const made = await run(task);
        assert(made.kind === "made");
        const replay = { kind: "replayed", answer: made.job.id };
        assert.deepEqual(await run(task), replay);
        await removeTask(store, task);
        assert.deepEqual(await run(task), replay);
        const all = { statuses: null, fromMs: null, toMs: null };
        const { tenantId, id } = task;
        assert.equal((await store.shard.jobs.listByTask(tenantId, id, all, null, 50)).length, 1);
      }
    }),
  );

  test(
    "a retry that is repeated moves the job once; without a key the second finds it not dead",
    onStore(open, async (store) => {
      const { jobs } = store.shard;
      for (const status of ["active", "completed"] as const) {
        const { task } = await addTask(store, { task: { status } });
        const { tenantId } = task;
        const nowMs = await dbNow(store);
        const rows = [0, 1].map((n) => deadJob(task, nowMs, n));
        for (const job of rows) await store.putJob(job);
        const [first, second] = rows as [Job, Job];
        const key = keyed<Job>((job) => JSON.stringify(job));
        const moved = await jobs.retryOne(tenantId, first.id, key);
        assert.deepEqual(moved, { kind: "moved", job: await readJob(store, first) });
        assert(moved.kind === "moved");
        assert.deepEqual([moved.job.status, moved.job.maxAttempts], ["pending", 2 + 5]);
        const replay = { kind: "replayed", answer: JSON.stringify(moved.job) };
        assert.deepEqual(await jobs.retryOne(tenantId, first.id, key), replay);
        await store.putJob(first);
        assert.deepEqual(await jobs.retryOne(tenantId, first.id, key), replay);
        assert.equal((await readJob(store, first)).status, "dead");
        assert.equal((await jobs.retryOne(tenantId, second.id)).kind, "moved");
        assert.deepEqual(await jobs.retryOne(tenantId, second.id), { kind: "not-dead" });
      }
    }),
  );

  test(
    "a retry that moved nothing keeps nothing",
    onStore(open, async (store) => {
      const { jobs } = store.shard;
      const { task } = await addTask(store);
      const { tenantId } = task;
      const nowMs = await dbNow(store);
      const [absent, gone] = [deadJob(task, nowMs, 0), deadJob(task, nowMs, 1)];
      const key = keyed<Job>(({ id }) => id);
      assert.deepEqual(await jobs.retryOne(tenantId, absent.id, key), { kind: "not-found" });
      assert.deepEqual(await jobs.retryOne(makeTenant(), gone.id, key), { kind: "not-found" });
      await store.putJob({ ...absent, status: "running" });
      assert.deepEqual(await jobs.retryOne(tenantId, absent.id, key), { kind: "not-dead" });
      await store.putJob(absent);
      assert.equal((await jobs.retryOne(tenantId, absent.id, key)).kind, "moved");
      await store.putJob(gone);
      await removeTask(store, task);
      assert.deepEqual(await jobs.retryOne(tenantId, gone.id), { kind: "task-gone" });
    }),
  );
}

function expires(open: OpenStore): void {
  test(
    "an answer is kept as long as it was asked to be; then the key is free, for another body too",
    onStore(open, async (store) => {
      const key = keyed<TaskWithVersion>(({ task }) => task.id);
      const tenantId = makeTenant();
      const create = async (changes: Partial<Idempotency<TaskWithVersion>>) => {
        const built = buildTask(await dbNow(store), { task: { tenantId } });
        return { built, result: await store.shard.tasks.create(built, { ...key, ...changes }) };
      };
      const expired = await create({ expiresInMs: -1 });
      assert.equal(expired.result.kind, "created");
      const bodyHash = hashOf("another");
      const anew = await create({ bodyHash });
      assert.equal(anew.result.kind, "created");
      const replay = { kind: "replayed", answer: anew.built.task.id };
      assert.deepEqual((await create({ bodyHash })).result, replay);
      assert.deepEqual((await create({})).result, { kind: "key-reused" });
    }),
  );

  test(
    "expired answers are pruned, up to the limit; others stay",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const tenantId = makeTenant();
      const create = async (n: number, expiresInMs: number) => {
        const built = buildTask(await dbNow(store), { task: { tenantId } });
        const key = { ...keyed<TaskWithVersion>(() => ""), key: `${AWKWARD} ${n}`, expiresInMs };
        return (await tasks.create(built, key)).kind;
      };
      for (let n = 0; n < 5; n++) assert.equal(await create(n, -1_000 * n - 1), "created");
      assert.equal(await create(9, HOUR_MS), "created");
      const pruned = [
        await tasks.pruneUnread(3),
        await tasks.pruneUnread(3),
        await tasks.pruneUnread(3),
      ];
      assert.deepEqual(pruned, [3, 2, 0]);
      assert.equal(await create(9, HOUR_MS), "replayed");
    }),
  );
}

function hashOf(body: string): string {
  return createHash("sha256").update(body).digest("hex");
}

let keys = 0;

function keyed<Made>(answerOf: (made: Made) => string): Idempotency<Made> {
  keys++;
  const bodyHash = hashOf("body");
  return { route: "POST /v1/tasks", key: `key-${keys}`, bodyHash, expiresInMs: HOUR_MS, answerOf };
}

function deadJob(task: Task, nowMs: number, n: number): Job {
  const job = plannedJob(task, nowMs, -60_000 - n);
  const dueAtMs = nowMs + HOUR_MS;
  return { ...job, status: "dead", claimNo: 2, attempt: 2, finishedAtMs: nowMs, dueAtMs };
}
