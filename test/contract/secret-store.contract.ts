/** Secrets of tasks, data keys and signing secrets, on every adapter. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import { changeMarks, type SealedSecret } from "#core/domain/task-secrets.ts";
import type { SealedSigningSecret, WrappedKey } from "#core/ports/secret-store.ts";
import type { NewTask } from "#core/ports/task-store.ts";
import { buildTask, carriedOf, createMany, dbNow, editTask, makeTenant } from "./builders.ts";
import { type ContractStore, type OpenStore, onStore } from "./contract-store.ts";

const hex = (bytes: number) => randomBytes(bytes).toString("hex");

/** Bytes that are no text. */
function sealed(name: string): SealedSecret {
  return {
    name,
    fingerprint: hex(32),
    sealed: new Uint8Array([0, 39, 92, 255, ...randomBytes(60)]),
  };
}

function withSecrets(built: TaskWithVersion, secrets: readonly SealedSecret[]): NewTask {
  return { ...built, sealed: secrets, secrets: changeMarks([], { set: secrets, remove: [] }) };
}

async function addTaskWith(
  store: ContractStore,
  secrets: readonly SealedSecret[],
  task: Partial<Task> = {},
): Promise<TaskWithVersion> {
  const { sealed: _, ...built } = withSecrets(buildTask(await dbNow(store), { task }), secrets);
  assert.equal((await store.shard.tasks.create({ ...built, sealed: secrets })).kind, "created");
  return built;
}

/** What an executor gets of one task's secrets, by name. */
async function secretsOf(store: ContractStore, { task }: TaskWithVersion) {
  const request = { versions: [], secretsOf: [task.id], signingOf: [] };
  const { secrets } = await store.shard.tasks.loadCallParts(request);
  return (secrets.get(task.id) ?? [])
    .map(({ name, sealed: bytes }) => [name, Buffer.from(bytes).toString("hex")])
    .sort();
}

const stored = ({ name, sealed: bytes }: SealedSecret) => [
  name,
  Buffer.from(bytes).toString("hex"),
];

export function secretStoreContract(adapter: string, open: OpenStore): void {
  taskSecretsContract(adapter, open);
  dataKeysContract(adapter, open);
  signingContract(adapter, open);
}

function taskSecretsContract(adapter: string, open: OpenStore): void {
  test(
    `${adapter}: a task is made with its secrets, and shows their marks wherever it is read`,
    onStore(open, async (store) => {
      const secrets = [sealed("header:x-b"), sealed("auth"), sealed("header:x-a")];
      const built = await addTaskWith(store, secrets);
      const { tenantId, id, name } = built.task;
      const { tasks } = store.shard;
      const all = { status: null, priority: null, tag: null };
      assert.deepEqual(
        built.secrets?.map((mark) => mark.name),
        ["auth", "header:x-a", "header:x-b"],
      );
      assert.deepEqual(await tasks.find(tenantId, id), built);
      assert.deepEqual(await tasks.findByName(tenantId, name), built);
      assert.deepEqual(await tasks.list(tenantId, all, null, 10), [built]);
      assert.deepEqual(await secretsOf(store, built), secrets.map(stored).sort());
    }),
  );

  test(
    `${adapter}: of many tasks each gets its own secrets, a refused one leaves none`,
    onStore(open, async (store) => {
      const tenantId = makeTenant();
      const nowMs = await dbNow(store);
      const make = (name: string, secrets: SealedSecret[]) =>
        withSecrets(buildTask(nowMs, { task: { tenantId, name } }), secrets);
      const group = [
        make("a", [sealed("auth")]),
        make("b", []),
        make("a", [sealed("auth")]),
        make("c", [sealed("header:x")]),
      ];
      const kinds = await createMany(store.shard.tasks, group);
      assert.deepEqual(
        kinds.map(({ kind }) => kind),
        ["created", "created", "name-taken", "created"],
      );
      for (const [at, one] of group.entries()) {
        const expected = at === 2 ? [] : (one.sealed ?? []).map(stored);
        assert.deepEqual(await secretsOf(store, one), expected);
      }
    }),
  );

  test(
    `${adapter}: an edit sets and removes secrets, and leaves the others`,
    onStore(open, async (store) => {
      const [kept, changed, removed] = ["auth", "header:x-a", "header:x-b"].map(sealed);
      assert(kept && changed && removed);
      const built = await addTaskWith(store, [kept, changed, removed]);
      const [rotated, added] = [sealed("header:x-a"), sealed("header:x-c")];
      const change = { set: [rotated, added], remove: ["header:x-b", "header:never"] };
      const edited = await editTask(store, built.task, (locked) => {
        assert.deepEqual(locked.secrets, built.secrets);
        return {
          kind: "write",
          task: { ...locked.task, version: 2 },
          newVersion: null,
          secrets: change,
          jobsEffect: { kind: "keep" },
          makeJobs: [],
        };
      });
      assert(edited.kind === "written");
      assert.deepEqual(edited.current.secrets, changeMarks(built.secrets ?? [], change));
      const { tenantId, id } = built.task;
      assert.deepEqual(await store.shard.tasks.find(tenantId, id), edited.current);
      assert.deepEqual(await secretsOf(store, built), [kept, rotated, added].map(stored).sort());
      const same = await editTask(store, built.task, () => ({ kind: "unchanged" }));
      assert(same.kind === "unchanged");
      assert.deepEqual(same.current, edited.current);
      await editTask(store, built.task, (locked) => ({
        kind: "write",
        task: { ...locked.task, version: 3 },
        newVersion: null,
        secrets: { set: [], remove: (locked.secrets ?? []).map(({ name }) => name) },
        jobsEffect: { kind: "keep" },
        makeJobs: [],
      }));
      assert.equal((await store.shard.tasks.find(tenantId, id))?.secrets, undefined);
      assert.deepEqual(await secretsOf(store, built), []);
    }),
  );

  test(
    `${adapter}: a purged task leaves no secret`,
    onStore(open, async (store) => {
      const old = (await dbNow(store)) - 86_400_000;
      const ended = { status: "completed", nextRunAtMs: null, updatedAtMs: old } as const;
      const gone = await addTaskWith(store, [sealed("auth")], ended);
      const stays = await addTaskWith(store, [sealed("auth")]);
      assert.equal(await store.shard.tasks.purgeEnded(10, 3_600_000), 1);
      assert.deepEqual(await secretsOf(store, gone), []);
      assert.equal((await secretsOf(store, stays)).length, 1);
    }),
  );

  test(
    `${adapter}: secrets come with the newest version that their task has by then`,
    onStore(open, async (store) => {
      const { task } = await addTaskWith(store, [sealed("auth"), sealed("header:x")]);
      const newest = async () => {
        const request = { versions: [], secretsOf: [task.id], signingOf: [] };
        const { secrets } = await store.shard.tasks.loadCallParts(request);
        return secrets.get(task.id)?.map(({ requestVersion }) => requestVersion);
      };
      assert.deepEqual(await newest(), [1, 1]);
      await editTask(store, task, (locked) => ({
        kind: "write",
        task: { ...locked.task, version: 2, requestVersion: 2 },
        newVersion: { ...locked.version, requestVersion: 2 },
        jobsEffect: { kind: "keep" },
        makeJobs: [],
      }));
      assert.deepEqual(await newest(), [2, 2]);
    }),
  );

  test(
    `${adapter}: one question brings versions, secrets and signing secrets of a claim`,
    onStore(open, async (store) => {
      const tasks = [await addTaskWith(store, [sealed("auth")]), await addTaskWith(store, [])];
      const tenants = tasks.map(({ task }) => task.tenantId);
      const [tenant] = tenants;
      assert(tenant);
      const signing = signingSecret();
      await store.shard.secrets.keepSigningSecret(tenant, signing);
      const parts = await store.shard.tasks.loadCallParts({
        versions: tasks.map(({ version }) => version),
        secretsOf: tasks.map(({ task }) => task.id),
        signingOf: tenants,
      });
      const byId = <T extends { taskId: string }>(all: readonly T[]) =>
        [...all].sort((a, b) => (a.taskId < b.taskId ? -1 : 1));
      assert.deepEqual(byId(parts.versions), byId(tasks.map(({ version }) => carriedOf(version))));
      assert.deepEqual([...parts.secrets.keys()], [tasks[0]?.task.id]);
      assert.deepEqual([...parts.signing.keys()], [tenant]);
      const [found] = parts.signing.get(tenant) ?? [];
      assert.equal(found?.id, signing.id);
      assert.deepEqual(Buffer.from(found?.sealed ?? []), Buffer.from(signing.sealed));
      const none = await store.shard.tasks.loadCallParts({
        versions: [],
        secretsOf: [],
        signingOf: [],
      });
      assert.deepEqual(none, { versions: [], secrets: new Map(), signing: new Map() });
    }),
  );
}

function dataKeysContract(adapter: string, open: OpenStore): void {
  test(
    `${adapter}: data keys are found by tenant, purpose and id`,
    onStore(open, async (store) => {
      const { secrets } = store.shard;
      const [mine, others] = [makeTenant(), makeTenant()];
      const key = (tenantId: typeof mine, purpose: WrappedKey["purpose"]): WrappedKey => ({
        tenantId,
        purpose,
        id: hex(16),
        wrapped: randomBytes(200),
      });
      const first = key(mine, "seal");
      await secrets.addDataKey(first);
      await secrets.addDataKey(key(mine, "seal"));
      await secrets.addDataKey(key(others, "seal"));
      assertKey(await secrets.findDataKey(first, first.id), first);
      const many = Array.from({ length: 450 }, () => key(makeTenant(), "seal"));
      for (const one of many.slice(0, 30)) await secrets.addDataKey(one);
      const found = await Promise.all(many.map((one) => secrets.findDataKey(one, one.id)));
      for (const [i, one] of many.entries())
        if (i < 30) assertKey(found[i] ?? null, one);
        else assert.equal(found[i], null);
      assert.equal(await secrets.findDataKey({ ...first, tenantId: others }, first.id), null);
      assert.equal(await secrets.findDataKey({ ...first, purpose: "fingerprint" }, first.id), null);
      assert.equal(await secrets.firstDataKey({ tenantId: mine, purpose: "fingerprint" }), null);
    }),
  );

  test(
    `${adapter}: one data key of each master key is a sample`,
    onStore(open, async (store) => {
      const { secrets } = store.shard;
      assert.deepEqual(await secrets.sampleDataKeys(), []);
      const masters = [randomBytes(8), randomBytes(8), randomBytes(8)];
      const byMaster = masters.map((master, i) =>
        Array.from({ length: 3 }, (_, j): WrappedKey => {
          const purpose = (i + j) % 2 === 0 ? "seal" : "fingerprint";
          const wrapped = Buffer.concat([master, randomBytes(60)]);
          return { tenantId: makeTenant(), purpose, id: hex(16), wrapped };
        }),
      );
      for (const key of byMaster.flat()) await secrets.addDataKey(key);
      const samples = await secrets.sampleDataKeys();
      assert.equal(samples.length, masters.length);
      for (const keys of byMaster) {
        const [sample = null, ...more] = samples.filter(({ id }) => {
          return keys.some((key) => key.id === id);
        });
        assert.deepEqual(more, []);
        assertKey(sample, keys.find(({ id }) => id === sample?.id) ?? null);
      }
    }),
  );

  test(
    `${adapter}: of several who keep a tenant's key at once all get the same one`,
    onStore(open, async (store) => {
      const { secrets } = store.shard;
      const context = { tenantId: makeTenant(), purpose: "fingerprint" } as const;
      const made = Array.from({ length: 6 }, () => ({
        ...context,
        id: hex(16),
        wrapped: randomBytes(100),
      }));
      const kept = await Promise.all(made.map((key) => secrets.keepDataKey(key)));
      const ids = new Set(kept.map(({ id }) => id));
      assert.equal(ids.size, 1);
      const first = await secrets.firstDataKey(context);
      assert.ok(first !== null && ids.has(first.id));
      assertKey(first, made.find(({ id }) => id === first.id) ?? null);
    }),
  );
}

function assertKey(found: WrappedKey | null, expected: WrappedKey | null): void {
  assert(found !== null && expected !== null);
  const comparable = ({ wrapped, ...key }: WrappedKey) => ({ ...key, wrapped: [...wrapped] });
  assert.deepEqual(comparable(found), comparable(expected));
}

function signingSecret(): SealedSigningSecret {
  return { id: hex(8), fingerprint: hex(32), sealed: new Uint8Array(randomBytes(90)) };
}

function signingContract(adapter: string, open: OpenStore): void {
  test(
    `${adapter}: a tenant's first signing secret is kept once, whoever comes first`,
    onStore(open, async (store) => {
      const { secrets } = store.shard;
      const tenantId = makeTenant();
      assert.deepEqual(await secrets.listSigningSecrets(tenantId), []);
      const all = await Promise.all(
        Array.from({ length: 6 }, () => secrets.keepSigningSecret(tenantId, signingSecret())),
      );
      const ids = new Set(all.flat().map(({ id }) => id));
      assert.equal(ids.size, 1);
      const [only, ...more] = await secrets.listSigningSecrets(tenantId);
      assert.deepEqual([more.length, only?.expiresAtMs, ids.has(only?.id ?? "")], [0, null, true]);
    }),
  );

  test(
    `${adapter}: the two before the newest stay valid, each until the end that its rotation gave it`,
    onStore(open, async (store) => {
      const { secrets } = store.shard;
      const tenantId = makeTenant();
      const [a, b, c, d] = [signingSecret(), signingSecret(), signingSecret(), signingSecret()];
      const idsOf = (all: readonly { id: string }[]) => all.map(({ id }) => id);
      assert.deepEqual(idsOf(await secrets.rotateSigningSecret(tenantId, a, 60_000)), [a.id]);
      const beforeMs = await dbNow(store);
      const two = await secrets.rotateSigningSecret(tenantId, b, 60_000);
      const afterMs = await dbNow(store);
      assert.deepEqual(idsOf(two), [b.id, a.id]);
      assert.equal(two[0]?.expiresAtMs, null);
      const expiresAtMs = two[1]?.expiresAtMs ?? 0;
      assert.ok(expiresAtMs >= beforeMs + 60_000 && expiresAtMs <= afterMs + 60_000);
      assert.equal(two[0]?.fingerprint, b.fingerprint);
      const three = await secrets.rotateSigningSecret(tenantId, c, 90_000);
      assert.deepEqual(idsOf(three), [c.id, b.id, a.id]);
      assert.deepEqual([three[0]?.expiresAtMs, three[2]?.expiresAtMs], [null, expiresAtMs]);
      assert.ok((three[1]?.expiresAtMs ?? 0) >= beforeMs + 90_000);
      assert.deepEqual(await secrets.listSigningSecrets(tenantId), three);
      const request = { versions: [], secretsOf: [], signingOf: [tenantId] };
      const { signing } = await store.shard.tasks.loadCallParts(request);
      assert.deepEqual(idsOf(signing.get(tenantId) ?? []), [c.id, b.id, a.id]);
      const four = await secrets.rotateSigningSecret(tenantId, d, 60_000);
      assert.deepEqual(idsOf(four), [d.id, c.id, b.id]);
      assert.equal(four[2]?.expiresAtMs, three[1]?.expiresAtMs);
      assert.deepEqual(await secrets.listSigningSecrets(tenantId), four);
    }),
  );

  test(
    `${adapter}: one that has ended is not valid again after the next rotation`,
    onStore(open, async (store) => {
      const { secrets } = store.shard;
      const tenantId = makeTenant();
      const [a, b, c] = [signingSecret(), signingSecret(), signingSecret()];
      await secrets.rotateSigningSecret(tenantId, a, 60_000);
      await secrets.rotateSigningSecret(tenantId, b, 0);
      const valid = await secrets.rotateSigningSecret(tenantId, c, 60_000);
      assert.deepEqual(
        valid.map(({ id }) => id),
        [c.id, b.id],
      );
    }),
  );

  test(
    `${adapter}: one before the two that may stay is valid no longer, also where one of those has ended`,
    onStore(open, async (store) => {
      const { secrets } = store.shard;
      const tenantId = makeTenant();
      const last = signingSecret();
      await secrets.rotateSigningSecret(tenantId, signingSecret(), 0);
      await secrets.rotateSigningSecret(tenantId, signingSecret(), 60_000);
      const before = signingSecret();
      await secrets.rotateSigningSecret(tenantId, before, 0);
      const valid = await secrets.rotateSigningSecret(tenantId, last, 60_000);
      assert.deepEqual(
        valid.map(({ id }) => id),
        [last.id, before.id],
      );
    }),
  );

  test(
    `${adapter}: what has expired is valid no longer, for calls neither`,
    onStore(open, async (store) => {
      const { secrets, tasks } = store.shard;
      const tenantId = makeTenant();
      const [a, b] = [signingSecret(), signingSecret()];
      await secrets.rotateSigningSecret(tenantId, a, 0);
      await secrets.rotateSigningSecret(tenantId, b, 0);
      assert.deepEqual(
        (await secrets.listSigningSecrets(tenantId)).map(({ id }) => id),
        [b.id],
      );
      const request = { versions: [], secretsOf: [], signingOf: [tenantId] };
      const { signing } = await tasks.loadCallParts(request);
      assert.deepEqual(
        signing.get(tenantId)?.map(({ id }) => id),
        [b.id],
      );
    }),
  );

  test(
    `${adapter}: rotations at once leave three valid secrets, one of them without an end`,
    onStore(open, async (store) => {
      const { secrets } = store.shard;
      const tenantId = makeTenant();
      const made = Array.from({ length: 6 }, signingSecret);
      await Promise.all(made.map((one) => secrets.rotateSigningSecret(tenantId, one, 60_000)));
      const left = await secrets.listSigningSecrets(tenantId);
      assert.deepEqual(
        left.map(({ expiresAtMs }) => expiresAtMs === null),
        [true, false, false],
      );
    }),
  );
}
