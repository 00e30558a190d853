/** Many tasks at once, how many a tenant may have, and tasks by their names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { BULK_TASKS_MAX } from "#core/domain/limits.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import type { LockedTask, TaskEdit } from "#core/ports/task-store.ts";
import {
  AWKWARD,
  addTask,
  buildTask,
  createMany,
  dbNow,
  makeTenant,
  RETENTION,
  removeTask,
  writeEdit,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const CREATED = { kind: "created" };
const takenBy = ({ task }: TaskWithVersion) => ({ kind: "name-taken", taskId: task.id });

export function createManyContract(open: OpenStore): void {
  many(open);
  quotas(open);
  names(open);
}

function many(open: OpenStore): void {
  test(
    "all of a group are made, whole, and answered in the order given",
    onStore(open, async (store) => {
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const group = Array.from({ length: BULK_TASKS_MAX }, (_, n) =>
        buildTask(nowMs, {
          task: { tenantId, name: `${n % 7} ${AWKWARD} ${n}`, tags: [`t${n % 3}`] },
          version: { timeoutMs: 1_000 + n },
        }),
      );
      const results = await createMany(store.shard.tasks, group);
      assert.deepEqual(
        results,
        group.map(() => CREATED),
      );
      for (const built of [group[0], group[BULK_TASKS_MAX - 1]]) {
        assert(built !== undefined);
        assert.deepEqual(await store.shard.tasks.find(tenantId, built.task.id), built);
      }
      assert.deepEqual(await createMany(store.shard.tasks, []), []);
    }),
  );

  test(
    "each stands for itself: taken names are left out, of one name in the group the first is made",
    onStore(open, async (store) => {
      const taken = await addTask(store, { task: { name: "taken" } });
      const { tenantId } = taken.task;
      const gone = await addTask(store, { task: { tenantId, name: "gone" } });
      await removeTask(store, gone.task);
      await addTask(store, { task: { name: "theirs" } });
      const nowMs = await dbNow(store);
      const group = ["twice", "taken", "a", "twice", "gone", "theirs", "twice", "A"].map((name) =>
        buildTask(nowMs, { task: { tenantId, name } }),
      );
      const [twice] = group;
      assert(twice !== undefined);
      const { tasks } = store.shard;
      const expected = [
        CREATED,
        takenBy(taken),
        CREATED,
        takenBy(twice),
        CREATED,
        CREATED,
        takenBy(twice),
        CREATED,
      ];
      assert.deepEqual(await createMany(tasks, group), expected);
      for (const [n, built] of group.entries()) {
        const found = await tasks.find(tenantId, built.task.id);
        assert.deepEqual(found, expected[n] === CREATED ? built : null);
      }
      const versions = await tasks.loadVersions(
        group.map(({ task: { id } }) => ({ taskId: id, requestVersion: 1 })),
      );
      assert.equal(versions.length, 5);
      assert.deepEqual(await createMany(tasks, group), expected, "a repeat changes nothing");
    }),
  );

  test(
    "groups that share names at once: each name is made once",
    onStore(open, async (store) => {
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const names = Array.from({ length: 30 }, (_, n) => `name ${n}`);
      const groupOf = (order: readonly string[]) =>
        order.map((name) => buildTask(nowMs, { task: { tenantId, name } }));
      const { tasks } = store.shard;
      const results = await Promise.all([
        createMany(tasks, groupOf(names)),
        createMany(tasks, groupOf([...names].reverse())),
        createMany(tasks, groupOf(names.slice(10, 20))),
        ...names.slice(0, 5).map((name) => createMany(tasks, groupOf([name]))),
      ]);
      const created = results.flat().filter(({ kind }) => kind === "created");
      assert.equal(created.length, 30);
      assert.equal((await allOf(store, tenantId)).length, 30);
    }),
  );
}

function quotas(open: OpenStore): void {
  test(
    "a quota counts the tenant's tasks that are active or paused",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const tenantId = makeTenant();
      for (const status of ["active", "paused", "completed", "deleted"] as const) {
        await addTask(store, { task: { tenantId, status } });
      }
      await addTask(store);
      const create = async (tasksMax: number) =>
        tasks.create(buildTask(await dbNow(store), { task: { tenantId } }), null, { tasksMax });
      assert.deepEqual(await create(1), { kind: "quota", limit: 1, used: 2 });
      assert.deepEqual(await create(2), { kind: "quota", limit: 2, used: 2 });
      assert.deepEqual(await create(3), CREATED);
      assert.deepEqual(await create(3), { kind: "quota", limit: 3, used: 3 });
      assert.deepEqual(await create(5_000), CREATED);
      assert.deepEqual(await create(0), { kind: "quota", limit: 0, used: 1 });
    }),
  );

  test(
    "of a name that is taken and a quota that is used up, the name is told: alone, in a group, and where others take both just now",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const named = (name: string) => buildTask(nowMs, { task: { tenantId, name } });
      const quota = { tasksMax: 1 };
      const races = Array.from({ length: 5 }, () => tasks.create(named("one"), null, quota));
      const kinds = (await Promise.all(races)).map(({ kind }) => kind).sort();
      assert.deepEqual(kinds, ["created", ...Array(4).fill("name-taken")]);
      const [one] = await allOf(store, tenantId);
      assert(one !== undefined);
      assert.deepEqual(await tasks.create(named("one"), null, quota), takenBy(one));
      const full = { kind: "quota", limit: 1, used: 1 };
      assert.deepEqual(await tasks.create(named("two"), null, quota), full);
      const group = [named("one"), named("two")];
      assert.deepEqual(await createMany(tasks, group, quota), [takenBy(one), full]);
    }),
  );

  test(
    "an edit by which a completed task goes on, or is paused, counts it; every other edit passes",
    onStore(open, async (store) => {
      const tenantId = makeTenant();
      const edit = async (task: Task, changes: Partial<Task>, tasksMax: number) => {
        const { tasks } = store.shard;
        return (await tasks.edit(tenantId, task.id, turnInto(changes), RETENTION, { tasksMax }))
          .kind;
      };
      const completed = { tenantId, status: "completed" } as const;
      const [first, second] = [
        await addTask(store, { task: completed }),
        await addTask(store, { task: completed }),
      ].map(({ task }) => task) as [Task, Task];
      await addTask(store, { task: { tenantId } });
      assert.equal(await edit(first, { description: "d" }, 0), "written");
      for (const status of ["active", "paused"] as const)
        assert.equal(await edit(first, { status }, 1), "quota");
      const found = await store.shard.tasks.find(tenantId, first.id);
      assert.deepEqual([found?.task.status, found?.task.version], ["completed", 2]);
      assert.equal(await edit(first, { status: "active" }, 2), "written");
      assert.equal(await edit(first, { status: "paused" }, 0), "written");
      assert.equal(await edit(first, { status: "active" }, 0), "written");
      assert.equal(await edit(second, { status: "paused" }, 2), "quota");
      assert.equal(await edit(second, { status: "paused" }, 5_000), "written");
    }),
  );

  test(
    "of a group, as many are made as there is room for; taken names take none",
    onStore(open, async (store) => {
      const taken = await addTask(store, { task: { name: "taken" } });
      const { tenantId } = taken.task;
      const nowMs = await dbNow(store);
      const group = ["taken", "a", "a", "b", "c", "c"].map((name) =>
        buildTask(nowMs, { task: { tenantId, name } }),
      );
      const over = { kind: "quota", limit: 3, used: 3 };
      const results = await createMany(store.shard.tasks, group, { tasksMax: 3 });
      const ownA = group[1];
      assert(ownA !== undefined);
      const expected = [takenBy(taken), CREATED, takenBy(ownA), CREATED, over, over];
      assert.deepEqual(results, expected);
      assert.equal((await allOf(store, tenantId)).length, 3);
    }),
  );

  test(
    "however many come at once or go on, never more than the quota",
    onStore(open, async (store) => {
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const { tasks } = store.shard;
      const build = () => buildTask(nowMs, { task: { tenantId } });
      const quota = { tasksMax: 10 };
      const ended = await Promise.all(
        Array.from({ length: 9 }, () =>
          addTask(store, { task: { tenantId, status: "completed" } }),
        ),
      );
      const revive = turnInto({ status: "active" });
      await Promise.all([
        ...ended.map(({ task }) => tasks.edit(tenantId, task.id, revive, RETENTION, quota)),
        ...Array.from({ length: 9 }, () => tasks.create(build(), null, quota)),
        ...Array.from({ length: 5 }, () => createMany(tasks, [build(), build(), build()], quota)),
      ]);
      const all = await allOf(store, tenantId);
      assert.equal(all.filter(({ task }) => task.status === "active").length, 10);
    }),
  );

  test(
    "full groups at once, far from the quota when they begin, never make more than it",
    onStore(open, async (store) => {
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const build = () => buildTask(nowMs, { task: { tenantId } });
      const groups = Array.from({ length: 10 }, () => Array.from({ length: 200 }, build));
      const { tasks } = store.shard;
      const answers = await Promise.all(
        groups.map((group) => createMany(tasks, group, { tasksMax: 1_201 })),
      );
      const made = answers.flat().filter(({ kind }) => kind === "created");
      assert.equal(made.length, 1_201);
    }),
  );
}

function turnInto(changes: Partial<Task>) {
  return ({ task }: LockedTask): TaskEdit<never> => ({
    kind: "write",
    task: { ...task, ...changes, version: task.version + 1 },
    newVersion: null,
    jobsEffect: { kind: "keep" },
    makeJobs: [],
  });
}

function names(open: OpenStore): void {
  test(
    "a live task is found by its name, as it is spelled, with its newest version",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const built = await addTask(store, { task: { name: AWKWARD } });
      const { tenantId } = built.task;
      assert.deepEqual(await tasks.findByName(tenantId, AWKWARD), built);
      assert.equal(await tasks.findByName(tenantId, AWKWARD.toUpperCase()), null);
      assert.equal(await tasks.findByName(tenantId, `${AWKWARD} `), null);
      assert.equal(await tasks.findByName(makeTenant(), AWKWARD), null);
      const renamed = await writeEdit(store, built.task, { name: "new" }, { kind: "keep" });
      assert.equal(await tasks.findByName(tenantId, AWKWARD), null);
      assert.deepEqual(await tasks.findByName(tenantId, "new"), renamed);
      await removeTask(store, renamed.task);
      assert.equal(await tasks.findByName(tenantId, "new"), null);
      const next = await addTask(store, { task: { tenantId, name: "new" } });
      assert.deepEqual(await tasks.findByName(tenantId, "new"), next);
    }),
  );

  test(
    "pages of every filter are whole and in order, whatever lies between",
    onStore(open, async (store) => {
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const group = Array.from({ length: 40 }, (_, n) => {
        const task: Partial<Task> = {
          tenantId,
          status: (["active", "paused", "completed", "deleted"] as const)[n % 4] ?? "active",
          priority: n % 3 === 0 ? "high" : "low",
          tags: n % 5 < 2 ? ["x", AWKWARD] : ["y"],
        };
        return buildTask(nowMs + n, { task });
      });
      for (const built of group) await store.shard.tasks.create(built);
      for (const status of [null, "active", "paused", "completed"] as const) {
        for (const priority of [null, "high"] as const) {
          for (const tag of [null, "x", AWKWARD]) {
            const expected = group
              .filter(({ task }) => task.status !== "deleted")
              .filter(({ task }) => status === null || task.status === status)
              .filter(({ task }) => priority === null || task.priority === priority)
              .filter(({ task }) => tag === null || task.tags.includes(tag))
              .reverse();
            const found: TaskWithVersion[] = [];
            for (;;) {
              const before = found.at(-1)?.task.id ?? null;
              const filter = { status, priority, tag };
              const page = await store.shard.tasks.list(tenantId, filter, before, 4);
              if (page.length === 0) break;
              found.push(...page);
            }
            assert.deepEqual(found, expected);
          }
        }
      }
    }),
  );
}

function allOf(store: ContractStore, tenantId: TenantId): Promise<TaskWithVersion[]> {
  const all = { status: null, priority: null, tag: null };
  return store.shard.tasks.list(tenantId, all, null, 200);
}
