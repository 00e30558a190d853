/** Caps that a tenant's endpoints get in the transaction that writes a task of them, and none by one that is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointKey, type LimitKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { LockedTask, TaskEdit } from "#core/ports/task-store.ts";
import {
  addJobs,
  addTask,
  buildTask,
  createMany,
  dbNow,
  idsOf,
  makeTenant,
  plannedJob,
  RETENTION,
  readJob,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const QUOTA = { tasksMax: 100, endpointLimit: { concurrency: 3, perSecond: null } };
const REQUEST = { method: "GET", headers: {}, body: null, bodyBase64: null };

export function endpointCapsContract(open: OpenStore): void {
  test(
    "a task that is made, alone or with others, or gets another URL caps its endpoint; one that has caps keeps them",
    onStore(open, async (store) => {
      const { tasks, limits } = store.shard;
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      await limits.put(keyOf(tenantId, "own"), { maxPerSecond: 9 });
      await limits.put(keyOf(tenantId, "theirs"), { perSecond: 2 });
      const one = taskOf(tenantId, nowMs, "one");
      await tasks.create(one, null, QUOTA);
      const group = ["two", "own", "two", "three", "theirs"];
      await createMany(
        tasks,
        group.map((host) => taskOf(tenantId, nowMs, host)),
        QUOTA,
      );
      const { id } = one.task;
      const edited = await tasks.edit(tenantId, id, turnTo("four"), RETENTION, QUOTA);
      assert.equal(edited.kind, "written");
      assert.deepEqual(await capsOf(store, tenantId), {
        four: [3, null],
        one: [3, null],
        own: [null, 9],
        theirs: [3, null],
        three: [3, null],
        two: [3, null],
      });
      assert.equal((await limits.find(keyOf(tenantId, "theirs")))?.perSecond, 2);
      await tasks.create(taskOf(tenantId, nowMs, "free"), null, { tasksMax: 100 });
      assert.equal(await limits.find(keyOf(tenantId, "free")), null);
    }),
  );

  test(
    "what an edit makes of its new request is lined up where that caps the endpoint",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const old = taskOf(tenantId, nowMs, "old");
      await tasks.create(old);
      const { task } = old;
      const job = plannedJob({ ...task, requestVersion: 2 }, nowMs, 0);
      const turn = (locked: LockedTask) => ({ ...turnTo("new")(locked), makeJobs: [job] });
      assert.equal((await tasks.edit(tenantId, task.id, turn, RETENTION, QUOTA)).kind, "written");
      const { status, limitKey } = await readJob(store, job);
      assert.deepEqual([status, limitKey], ["waiting", keyOf(tenantId, "new")]);
    }),
  );

  test(
    "what is refused or replayed caps nothing",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const { task } = await addTask(store);
      const { tenantId, id, name } = task;
      const nowMs = await dbNow(store);
      const taken = (host: string) => taskOf(tenantId, nowMs, host, name);
      const full = { ...QUOTA, tasksMax: 0 };
      const refuse = (): TaskEdit<string> => ({ kind: "refuse", refusal: "no" });
      const move = turnTo("a");
      assert.deepEqual(
        [
          await tasks.create(taken("a"), null, QUOTA),
          await tasks.create(taskOf(tenantId, nowMs, "b"), null, full),
          ...(await createMany(tasks, [taken("c")], QUOTA)),
          ...(await createMany(tasks, [taskOf(tenantId, nowMs, "d")], full)),
          await tasks.edit(tenantId, id, refuse, RETENTION, QUOTA),
          await tasks.edit(makeTenant(), id, move, RETENTION, QUOTA),
          await tasks.edit(tenantId, buildTask(nowMs).task.id, move, RETENTION, QUOTA),
        ].map(({ kind }) => kind),
        ["name-taken", "quota", "name-taken", "quota", "refused", "not-found", "not-found"],
      );
      const key = { route: "r", key: "k", bodyHash: "00".repeat(32), expiresInMs: 60_000 };
      const keyed = { ...key, answerOf: () => "" };
      await tasks.create(taskOf(tenantId, nowMs, "e"), keyed);
      const again = await tasks.create(taskOf(tenantId, nowMs, "f"), keyed, QUOTA);
      assert.equal(again.kind, "replayed");
      assert.deepEqual(await capsOf(store, tenantId), {});
    }),
  );

  test(
    "what other tasks of endpoints that are new have in line already is lined up, of all of them at once",
    onStore(open, async (store) => {
      const { tasks } = store.shard;
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const rows = [];
      for (const host of ["one", "two", "free", "one"]) {
        const built = taskOf(tenantId, nowMs, host);
        assert.equal((await tasks.create(built)).kind, "created");
        const job = plannedJob(built.task, nowMs, -1_000);
        await addJobs(store, built.task, [job]);
        rows.push({ host, job });
      }
      await createMany(
        tasks,
        ["one", "two"].map((host) => taskOf(tenantId, nowMs, host)),
        QUOTA,
      );
      for (const { host, job } of rows) {
        const { status, limitKey } = await readJob(store, job);
        const key = keyOf(tenantId, host);
        const expected = host === "free" ? ["pending", null] : ["waiting", key];
        assert.deepEqual([status, limitKey], expected, host);
      }
      const lined = rows.filter(({ host }) => host !== "free").map(({ job }) => job);
      assert.deepEqual(idsOf(await store.listLimited()).sort(), idsOf(lined).sort());
    }),
  );
}

function urlOf(host: string): string {
  return `https://${host}.example.com/hook`;
}

function keyOf(tenantId: TenantId, host: string): LimitKey {
  const key = endpointKey(tenantId, urlOf(host));
  assert(key !== null);
  return key;
}

function taskOf(tenantId: TenantId, nowMs: number, host: string, name?: string) {
  return buildTask(nowMs, {
    task: { tenantId, ...(name !== undefined && { name }) },
    version: { request: { ...REQUEST, url: urlOf(host) } },
  });
}

function turnTo(host: string) {
  return ({ task, version }: LockedTask): TaskEdit<string> => ({
    kind: "write",
    task: { ...task, version: 2, requestVersion: 2 },
    newVersion: { ...version, requestVersion: 2, request: { ...REQUEST, url: urlOf(host) } },
    jobsEffect: { kind: "keep" },
    makeJobs: [],
  });
}

/** By host. */
async function capsOf(store: ContractStore, tenantId: TenantId) {
  const all = await store.shard.limits.list(tenantId, null, 50);
  return Object.fromEntries(
    all.map(({ key, maxConcurrency, maxPerSecond }) => [
      /\/\/(\w+)\./.exec(key)?.[1],
      [maxConcurrency, maxPerSecond],
    ]),
  );
}
