/** The archiver on stores in memory, with faults at every step: whatever fails, each job is in a store, and none is in neither. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { insertParams } from "#adapters/cassandra/rows.ts";
import { OutcomeUnknown, StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import type { JobId } from "#core/domain/ids.ts";
import {
  ARCHIVE_COPY_MAX,
  ARCHIVE_READ_MAX,
  PURGE_TASKS_MAX,
  TASK_KEPT_IN_HISTORY_MS,
} from "#core/domain/limits.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import { buildTask } from "#test/contract/builders.ts";
import { openWorld, RETENTION, withMonotonic } from "#test/support/archiver-world.ts";
import { timestampRefusedByKeyspaces } from "#test/support/keyspaces-rules.ts";
import { archiveJobs } from "./archive-jobs.ts";
import { runArchiver } from "./run-archiver.ts";

const DAY_MS = 86_400_000;
const TASK_KEPT_MS = RETENTION.endedMs + TASK_KEPT_IN_HISTORY_MS;
const FOR_EVER = Number.POSITIVE_INFINITY;

test("moves what is due, keeps what is not, and asks for a request once", async () => {
  const { clock, tables, deps, asked, add, archived } = openWorld();
  const due = [
    ...add(3 * ARCHIVE_COPY_MAX + 1),
    ...add(1, { status: "dead" }),
    ...add(1, { status: "cancelled" }),
  ];
  const young = add(1, { dueAtMs: clock.nowMs() + 1 });
  const live = [...add(1, { status: "pending" }), ...add(1, { status: "running" })];
  const { moved, kept, end } = await archiveJobs(deps, FOR_EVER);
  assert.deepEqual({ moved, kept, end }, { moved: due.length, kept: 0, end: "drained" });
  assert.deepEqual([...tables.jobs.keys()].sort(), [...young, ...live].sort());
  for (const id of due) assert.ok(await archived(id));
  assert.equal(asked.filter((verb) => verb === "loadVersions").length, 1);
  const [first = ""] = due;
  const { request } = (await archived(first as JobId)) ?? {};
  assert.equal(request?.body, null);
  assert.equal(request?.bodyBytes, 1_000);
  assert.match(request?.bodySha256 ?? "", /^[0-9a-f]{64}$/);
});

test("a run by hand keeps the request that it sent; a job whose version is gone has none", async () => {
  const { deps, add, archived } = openWorld();
  const payload = { headers: { "x-a": "b" }, body: "mine" };
  const [own, plain, gone] = [
    ...add(1, { payload }),
    ...add(1),
    ...add(1, { taskVersion: 9 }),
  ] as const;
  assert(own !== undefined && plain !== undefined && gone !== undefined);
  await archiveJobs(deps, FOR_EVER);
  assert.deepEqual((await archived(own))?.request?.body, "mine");
  assert.deepEqual((await archived(own))?.request?.headers, { "x-a": "b" });
  assert.equal((await archived(plain))?.request?.bodyBytes, 1_000);
  assert.equal((await archived(gone))?.request, null);
});

test("a dead job retried between copy and delete stays and runs", async () => {
  const world = openWorld({ after: (verb) => verb === "history" && retry() });
  const { tables, deps, add } = world;
  const [dead, other] = add(2, { status: "dead" });
  assert(dead !== undefined && other !== undefined);
  const retry = () => {
    const job = tables.jobs.get(dead);
    assert(job !== undefined);
    tables.jobs.set(dead, { ...job, status: "pending", lost: 0, finishedAtMs: null });
  };
  const { moved, kept } = await archiveJobs(deps, FOR_EVER);
  assert.deepEqual({ moved, kept }, { moved: 1, kept: 1 });
  assert.deepEqual([...tables.jobs.keys()], [dead]);
  assert.equal(tables.jobs.get(dead)?.status, "pending");
});

for (const [step, when, error] of [
  ["listArchivable", "before", StoreUnavailable],
  ["loadVersions", "before", StoreUnavailable],
  ["history", "before", StoreUnavailable],
  ["history", "after", StoreUnavailable],
  ["deleteArchived", "before", StoreUnavailable],
  ["deleteArchived", "after", OutcomeUnknown],
] as const)
  test(`a run that fails ${when} ${step} loses nothing, and the next one goes on`, async () => {
    let seen = 0;
    // With the second group: the first one's deletion is under way.
    const at = step === "listArchivable" || step === "loadVersions" ? 1 : 2;
    const strike = (verb: string) => {
      if (verb === step && ++seen === at) throw new error("away");
    };
    const world = openWorld({ [when]: strike });
    const { tables, deps, said, add, archived, nothingLost } = world;
    const ids = add(3 * ARCHIVE_COPY_MAX);
    const first = await archiveJobs(deps, FOR_EVER);
    // One group that history does not take is tried again by the same run.
    assert.equal(first.end, step === "history" ? "drained" : "stopped");
    assert.match(said.join("\n"), /(archiving stopped|history is busy).* still in MySQL/);
    await nothingLost(ids);
    const second = await archiveJobs(deps, FOR_EVER);
    assert.equal(second.end, "drained");
    assert.equal(tables.jobs.size, 0);
    for (const id of ids) assert.ok(await archived(id));
  });

test("nothing is deleted while history is away", async () => {
  const world = openWorld({
    before: (verb) => {
      if (verb === "history") throw new StoreUnavailable("Cassandra is away");
    },
  });
  const { tables, deps, said, add } = world;
  add(10);
  const { moved, end } = await runArchiver(deps, FOR_EVER);
  assert.deepEqual([moved, end, tables.jobs.size], [0, "stopped", 10]);
  assert.match(said.join("\n"), /are left in MySQL: later runs move them/);
});

test("a job that history refuses is left alone and named, and all others are moved", async () => {
  const bad = new Set<JobId>();
  const world = openWorld();
  const { deps, tables, said, add } = world;
  const ids = add(ARCHIVE_COPY_MAX + 3);
  for (const id of [ids[1], ids[ARCHIVE_COPY_MAX + 1]]) bad.add(id as JobId);
  const history = {
    async write(entries: readonly HistoryEntry[]) {
      if (entries.some(({ job }) => bad.has(job.id))) throw new StoreRefused("no row as large");
      await deps.history.write(entries);
    },
  };
  const { moved, end } = await archiveJobs({ ...deps, history }, FOR_EVER);
  assert.deepEqual([moved, end], [ids.length - 2, "drained"]);
  assert.deepEqual(new Set(tables.jobs.keys()), bad);
  assert.equal(said.filter((line) => /history refuses a job/.test(line)).length, 2);
});

test("history that refuses everything ends the run with its refusal", async () => {
  const world = openWorld();
  const { deps, tables, add } = world;
  add(20);
  const history = { write: () => Promise.reject(new StoreRefused("not migrated")) };
  await assert.rejects(archiveJobs({ ...deps, history }, FOR_EVER), StoreRefused);
  assert.equal(tables.jobs.size, 20);
});

for (const [name, dead, succeeded] of [
  ["10 and 200", 10, 200],
  ["600 and 400", 600, 400],
  ["4,000 and 500", 4_000, 500],
] as const)
  test(`Keyspaces takes what died 14 days ago, what waited for a week, and the successes behind: ${name}`, async () => {
    const { clock, tables, deps, add, archived } = openWorld();
    const nowMs = clock.nowMs();
    const refuse = ({ job }: HistoryEntry, written: unknown) => {
      const refusal = timestampRefusedByKeyspaces(Number(written), nowMs);
      if (refusal !== null) throw new StoreRefused(`${job.status}: ${refusal}`);
    };
    const history = {
      async write(entries: readonly HistoryEntry[]) {
        for (const entry of entries) refuse(entry, insertParams(entry, nowMs).at(-1));
        await deps.history.write(entries);
      },
    };
    const ids = [
      ...add(dead, {
        status: "dead",
        finishedAtMs: nowMs - 14 * DAY_MS - 1_000,
        dueAtMs: nowMs - 1_000,
      }),
      ...add(dead, { finishedAtMs: nowMs - 7 * DAY_MS, dueAtMs: nowMs - 7 * DAY_MS }),
      ...add(succeeded, { finishedAtMs: nowMs - 3_600_000, dueAtMs: nowMs }),
    ];
    const { moved, end } = await archiveJobs({ ...deps, history }, FOR_EVER);
    assert.deepEqual([moved, end, tables.jobs.size], [ids.length, "drained", 0]);
    for (const id of ids) assert.ok(await archived(id));
  });

test("what history refuses by hundreds keeps neither the jobs behind it nor old tasks", async () => {
  const { clock, tables, shard, deps, task, said, add } = openWorld();
  const refused = new Set(add(ARCHIVE_COPY_MAX + 100, { status: "dead" }));
  add(2 * ARCHIVE_COPY_MAX);
  const old = buildTask(clock.nowMs(), {
    task: { status: "deleted", updatedAtMs: clock.nowMs() - TASK_KEPT_MS - 1 },
  });
  tables.tasks.set(old.task.id, old.task);
  tables.addVersion(old.version);
  let writes = 0;
  const history = {
    async write(entries: readonly HistoryEntry[]) {
      writes++;
      if (entries.some(({ job }) => refused.has(job.id))) throw new StoreRefused("no such column");
      await deps.history.write(entries);
    },
  };
  const run = await runArchiver({ ...deps, history }, FOR_EVER);
  assert.deepEqual(
    [run.moved, run.end, run.waiting],
    [2 * ARCHIVE_COPY_MAX, "stopped", refused.size],
  );
  assert.deepEqual(new Set(tables.jobs.keys()), refused);
  assert.ok(writes < 2 * ARCHIVE_COPY_MAX, `${writes} writes`);
  assert.match(said.join("\n"), /history refuses one job after the other/);
  assert.equal(run.purgedTasks, 1);

  tables.tasks.set(old.task.id, old.task);
  await assert.rejects(runArchiver({ ...deps, history }, FOR_EVER), StoreRefused);
  assert.deepEqual([...tables.tasks.keys()], [task.id]);
  assert.equal(await shard.jobs.countArchivable(1_000_000), refused.size);
});

test("runs that never come to an end in their time purge old tasks all the same", async () => {
  const { clock, tables, deps, add } = openWorld();
  add(1);
  for (let i = 0; i < PURGE_TASKS_MAX + 1; i++) {
    const { task: old } = buildTask(clock.nowMs());
    const updatedAtMs = clock.nowMs() - TASK_KEPT_MS - 1;
    tables.tasks.set(old.id, { ...old, status: "deleted", updatedAtMs });
  }
  const run = await runArchiver(deps, clock.monotonicMs());
  assert.deepEqual([run.end, run.moved, run.purgedTasks], ["time-up", 0, PURGE_TASKS_MAX]);
});

test("a run begins nothing when its time is up, and the next one goes on", async () => {
  let passedMs = 0;
  const world = openWorld({
    after: (verb) => {
      if (verb === "history") passedMs += 1_000;
    },
  });
  const { clock, tables, add } = world;
  const slow = withMonotonic(clock, () => passedMs);
  const deps = { ...world.deps, clock: slow };
  add(3 * ARCHIVE_COPY_MAX);
  const { moved, end } = await archiveJobs(deps, 1_500);
  assert.deepEqual([moved, end], [2 * ARCHIVE_COPY_MAX, "time-up"]);
  assert.equal((await archiveJobs(deps, FOR_EVER)).moved, ARCHIVE_COPY_MAX);
  assert.equal(tables.jobs.size, 0);
});

test("time that is up in the middle of a group begins no further row; what history has of it is deleted", async () => {
  let passedMs = 0;
  const { clock, tables, deps, add, archived } = openWorld();
  const slow = withMonotonic(clock, () => passedMs);
  const history: Pick<HistoryStore, "write"> = {
    write: (entries, onDurable, mayBegin) =>
      deps.history.write(
        entries,
        (entry) => {
          passedMs += 10;
          onDurable?.(entry);
        },
        mayBegin,
      ),
  };
  const ids = add(ARCHIVE_COPY_MAX);
  const { moved, end } = await archiveJobs({ ...deps, clock: slow, history }, 1_000);
  assert.deepEqual([moved, end], [100, "time-up"]);
  for (const id of ids) assert.notEqual(tables.jobs.has(id), (await archived(id)) !== null);
});

test("time that is up while a refused group is tried one by one begins no further row", async () => {
  let passedMs = 0;
  const { clock, deps, add } = openWorld();
  const slow = withMonotonic(clock, () => passedMs);
  const ids = add(ARCHIVE_COPY_MAX);
  const history: Pick<HistoryStore, "write"> = {
    async write(entries) {
      passedMs += 10;
      if (entries.some(({ job }) => job.id === ids[0])) throw new StoreRefused("too large");
    },
  };
  const { moved, end } = await archiveJobs({ ...deps, clock: slow, history }, 1_000);
  assert.deepEqual([passedMs, end], [1_000, "time-up"]);
  assert.ok(moved >= 98, `${moved} of 99 that history took`);
});

test("two at once move everything, and do not copy everything twice", async () => {
  const { tables, deps, written, add } = openWorld();
  const ids = add(ARCHIVE_READ_MAX + 10);
  const half = { ...deps, random: { ...deps.random, unit: () => 0.5 } };
  const runs = await Promise.all([archiveJobs(deps, FOR_EVER), archiveJobs(half, FOR_EVER)]);
  assert.equal(
    runs.reduce((sum, { moved }) => sum + moved, 0),
    ids.length,
  );
  assert.equal(tables.jobs.size, 0);
  const copies = written.reduce((sum, entries) => sum + entries.length, 0);
  const twice = copies - ids.length;
  assert.ok(twice <= 5 * ARCHIVE_COPY_MAX, `${twice} of ${ids.length} jobs were copied twice`);
});

test("tasks that ended long ago are purged with their versions, once their jobs are gone", async () => {
  const { clock, tables, deps, task, add } = openWorld();
  const updatedAtMs = clock.nowMs() - TASK_KEPT_MS - 1;
  tables.tasks.set(task.id, { ...task, status: "deleted", updatedAtMs });
  add(1);
  add(1, { dueAtMs: clock.nowMs() + 1 });
  assert.equal((await runArchiver(deps, FOR_EVER)).purgedTasks, 0);
  await clock.advance(1);
  assert.equal((await runArchiver(deps, FOR_EVER)).purgedTasks, 1);
  assert.equal(tables.tasks.size, 0);
  assert.equal(tables.versions.size, 0);
});
