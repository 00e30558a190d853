/** What every TaskStore must do. Runs on any adapter: no clock is moved, instants are chosen around the database's now. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TaskId } from "#core/domain/ids.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import type { TaskFilter } from "#core/ports/task-store.ts";
import {
  AWKWARD,
  addTask,
  buildTask,
  dbNow,
  editTask,
  freshTaskId,
  makeTenant,
  readJob,
  removeTask,
} from "./builders.ts";
import type { OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { createManyContract } from "./create-many.contract.ts";
import { endpointCapsContract } from "./endpoint-caps.contract.ts";
import { housekeepingContract } from "./housekeeping.contract.ts";
import { idempotencyContract } from "./idempotency.contract.ts";
import { materializeContract } from "./materialize.contract.ts";
import { taskEditContract } from "./task-edit.contract.ts";
import { taskEffectsContract } from "./task-effects.contract.ts";
import { testCallsContract } from "./test-calls.contract.ts";

/** Registers the whole suite of the TaskStore port for the adapter called `name`. */
export function taskStoreContract(name: string, open: OpenStore): void {
  describe(`${name}: task store`, () => {
    createAndFind(open);
    lists(open);
    taskEditContract(open);
    runsNow(open);
    versions(open);
    taskEffectsContract(open);
    materializeContract(open);
    createManyContract(open);
    testCallsContract(open);
    idempotencyContract(open);
    endpointCapsContract(open);
    housekeepingContract(open);
  });
}

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
          retry: {
            ...RETRY_DEFAULT,
            maxAttempts: 20,
            factor: 2.5,
            jitter: 0.35,
            retryOn: ["network", "429"],
          },
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
      const refused = { kind: "name-taken", taskId: task.id };
      assert.deepEqual(await store.shard.tasks.create(twin), refused);
      assert.equal(await store.shard.tasks.find(task.tenantId, twin.task.id), null);
      assert.deepEqual(await store.shard.tasks.loadVersions([twin.version]), []);
      await addTask(store, { task: { name: "digest" } });
      await addTask(store, { task: { name: "Digest", tenantId: task.tenantId } });

      await removeTask(store, task);
      assert.deepEqual(await store.shard.tasks.create(twin), { kind: "created" });
      await removeTask(store, twin.task);
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
      await removeTask(store, task);
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
      await removeTask(store, deleted.task);
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
    "goes over a tenant's tasks in steps, of a status or of any: each that is listed is in one",
    onStore(open, async (store) => {
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      for (let n = 0; n < 7; n++) {
        const status = n % 3 === 0 ? "paused" : "active";
        const tags = n % 2 === 0 ? ["even"] : [];
        const task = { tenantId, status, tags } as const;
        await store.shard.tasks.create(buildTask(nowMs + n, { task }));
      }
      const deleted = await addTask(store, { task: { tenantId, tags: ["even"] } });
      await removeTask(store, deleted.task);
      await addTask(store, { task: { tags: ["even"] } });
      const { tasks } = store.shard;
      for (const [status, rows, listed] of [
        [null, 7, 4],
        ["active", 4, 2],
        ["paused", 3, 2],
        ["completed", 0, 0],
      ] as const) {
        const filter = { ...everything, status, tag: "even" };
        const whole = await tasks.list(tenantId, filter, null, 10);
        assert.equal(whole.length, listed);
        for (let size = 1; size <= 8; size++) {
          const found: TaskWithVersion[] = [];
          let before: TaskId | null = null;
          let steps = 0;
          do {
            const downTo = await tasks.findListedDownTo(tenantId, filter, before, size);
            found.push(...(await tasks.list(tenantId, filter, before, 10, downTo)));
            before = downTo;
            steps++;
          } while (before !== null);
          assert.deepEqual([found, steps], [whole, Math.floor(rows / size) + 1]);
        }
      }
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
      const completed = { status: "completed" as const, nextRunAtMs: null };
      const { task, version } = await addTask(store, { task: completed });
      const beforeMs = await dbNow(store);
      const made = await store.shard.tasks.runNow(task.tenantId, task.id, (given, nowMs, sends) => {
        assert.deepEqual(given, task);
        assert.deepEqual(sends, version);
        return makeManualJob(given, "test", nowMs, 9, null);
      });
      assert(made.kind === "made");
      assert.deepEqual(made.version, version);
      assert(made.job.scheduledAtMs >= beforeMs && made.job.scheduledAtMs <= (await dbNow(store)));
      const never = () => assert.fail("make was asked");
      const notFound = { kind: "not-found" };
      assert.deepEqual(await store.shard.tasks.runNow(makeTenant(), task.id, never), notFound);
      const refuse = () => ({ kind: "refuse" as const, refusal: "too long" });
      assert.deepEqual(await store.shard.tasks.runNow(task.tenantId, task.id, refuse), {
        kind: "refused",
        refusal: "too long",
      });
      await removeTask(store, task);
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
        editTask(store, task, (locked) => ({
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
