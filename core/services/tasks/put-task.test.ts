/** What happens to a PUT when the name moves between looking and writing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { QUOTAS_DEFAULT } from "#core/domain/quotas.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { TaskStore } from "#core/ports/task-store.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { createTask } from "./create-task.ts";
import { deleteTask } from "./delete-task.ts";
import { editTask } from "./edit-task.ts";
import { putTask } from "./put-task.ts";
import type { TaskServiceDeps, TaskSettings } from "./task-settings.ts";

const TENANT = "acme" as TenantId;
const SETTINGS: TaskSettings & { readonly name: string } = {
  name: "digest",
  description: null,
  tags: [],
  schedule: { type: "every", seconds: 3_600, anchor: "1970-01-01T00:00:00.000Z" },
  priority: "normal",
  catchUp: "all",
  startAtMs: null,
  endAtMs: null,
  request: { method: "POST", url: "https://a.example/", headers: {}, body: null, bodyBase64: null },
  timeoutMs: 30_000,
  retry: RETRY_DEFAULT,
};

/** `between` runs after each look for the name, before what follows it. */
function openDeps(between: (deps: TaskServiceDeps, looked: number) => Promise<void>) {
  const clock = new ManualClock(Date.UTC(2026, 5, 1, 9, 0, 0));
  let seed = 1;
  const random = {
    bytes: (length: number) => new Uint8Array(length).map(() => (seed = (seed * 75) % 65_537)),
    unit: () => 0.5,
  };
  const memory = openMemoryShards({ clock });
  const deps = { shards: memory, clock, random, retention: { succeededMs: 1, endedMs: 1 } };
  let looked = 0;
  const { tasks, ...rest } = memory.forTenant(TENANT);
  const watched: TaskStore = new Proxy(tasks, {
    get(target, verb: keyof TaskStore) {
      if (verb !== "findByName") return target[verb].bind(target);
      return async (tenantId: TenantId, name: string) => {
        const found = await target.findByName(tenantId, name);
        await between(deps, ++looked);
        return found;
      };
    },
  });
  const shard = { ...rest, tasks: watched };
  const shards: Shards = {
    forTask: () => shard,
    forJob: () => shard,
    forTenant: () => shard,
    all: () => [shard],
    close: async () => {},
  };
  return {
    deps,
    put: () => putTask({ ...deps, shards }, TENANT, SETTINGS, { kind: "anything" }, QUOTAS_DEFAULT),
  };
}

async function make(deps: TaskServiceDeps) {
  const made = await createTask(deps, TENANT, SETTINGS);
  assert(made.kind === "created");
  return made.created.task.id;
}

test("made by somebody else meanwhile: it is replaced", async () => {
  const { put } = openDeps(async (deps, looked) => {
    if (looked === 1) await make(deps);
  });
  assert.equal((await put()).kind, "replaced");
});

test("deleted meanwhile: it is made anew", async () => {
  const { deps, put } = openDeps(async (inner, looked) => {
    if (looked === 1) await deleteTask(inner, TENANT, id, null);
  });
  const id = await make(deps);
  assert.equal((await put()).kind, "created");
});

test("renamed meanwhile: the one that has the name is written, not the one that had it", async () => {
  const { deps, put } = openDeps(async (inner, looked) => {
    if (looked === 1)
      await editTask(inner, TENANT, id, null, () => ({
        kind: "ok",
        settings: { ...SETTINGS, name: "other", priority: "low" },
      }));
  });
  const id = await make(deps);
  const done = await put();
  assert(done.kind === "created");
  assert.notEqual(done.created.task.id, id);
  const renamed = await deps.shards.forTask(id).tasks.find(TENANT, id);
  assert.deepEqual([renamed?.task.name, renamed?.task.priority], ["other", "low"]);
});

test("a name that others make and delete eight times meanwhile is written in the end", async () => {
  const { put } = openDeps(async (deps, looked) => {
    if (looked > 8) return;
    const found = await deps.shards.forTenant(TENANT).tasks.findByName(TENANT, SETTINGS.name);
    if (found === null) await make(deps);
    else await deleteTask(deps, TENANT, found.task.id, null);
  });
  assert.equal((await put()).kind, "created");
});

test("a name that moves every time is an error that may pass", async () => {
  const { put } = openDeps(async (deps) => {
    const found = await deps.shards.forTenant(TENANT).tasks.findByName(TENANT, SETTINGS.name);
    if (found === null) await make(deps);
    else await deleteTask(deps, TENANT, found.task.id, null);
  });
  await assert.rejects(put(), { code: "name-contended", retryable: true });
});

test("a PUT that changes nothing moves a next run to where today's rules have it only where the workers have the same rules", async () => {
  const { deps } = openDeps(async () => {});
  const schedule = { type: "cron", expression: "0 9 * * *", timezone: "Europe/Madrid" } as const;
  const put = async (otherZoneData: boolean) => {
    const settings = { ...SETTINGS, schedule };
    const to = { ...deps, otherZoneData };
    const done = await putTask(to, TENANT, settings, { kind: "anything" }, QUOTAS_DEFAULT);
    assert(done.kind === "created" || done.kind === "replaced");
    return done.kind === "created" ? done.created.task : done.current.task;
  };
  const made = await put(false);
  const storedMs = (made.nextRunAtMs ?? 0) + 3_600_000;
  deps.shards.tables.tasks.set(made.id, { ...made, nextRunAtMs: storedMs });
  assert.equal((await put(true)).nextRunAtMs, storedMs);
  assert.equal((await put(false)).nextRunAtMs, made.nextRunAtMs);
});

test("the same PUT of a one-off does not run it again, when the completed task has been removed", async () => {
  const { deps } = openDeps(async () => {});
  const put = (agoMs: number) => {
    const at = new Date(deps.clock.nowMs() - agoMs).toISOString();
    const settings = { ...SETTINGS, schedule: { type: "at", at } as const };
    return putTask(deps, TENANT, settings, { kind: "anything" }, QUOTAS_DEFAULT);
  };
  const refused = await put(86_400_001);
  assert(refused.kind === "invalid");
  assert.deepEqual(
    refused.problems.map(({ field }) => field),
    ["schedule.at"],
  );
  const late = await put(86_400_000);
  assert(late.kind === "created");
  assert.equal(late.created.task.nextRunAtMs, deps.clock.nowMs());
  assert.equal(
    (await put(10 * 86_400_000)).kind,
    "invalid",
    "as an edit of the task that is there",
  );
});
