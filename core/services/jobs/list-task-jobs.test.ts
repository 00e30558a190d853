/** A task's jobs in two stores, read as one list: in memory, with a history whose pages are as awkward as Cassandra's may be. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openMemoryHistory } from "#adapters/memory/history-store.ts";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { historyEntryOf } from "#core/domain/history.ts";
import { type JobId, makeJobId } from "#core/domain/ids.ts";
import type { Job, JobStatus } from "#core/domain/job.ts";
import { LISTED_ROWS_MAX, LISTED_ROWS_MS_MAX } from "#core/domain/limits.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import type { TaskJobsFilter } from "#core/ports/job-store.ts";
import { buildTask, plannedJob } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { getJob } from "./get-job.ts";
import { listTaskJobs, type TaskJobsPage } from "./list-task-jobs.ts";

const ALL: TaskJobsFilter = { statuses: null, fromMs: null, toMs: null };
const sha256 = () => "0".repeat(64);

function openWorld(wrap: (history: HistoryStore) => Partial<HistoryStore> = () => ({})) {
  const clock = new ManualClock();
  const shards = openMemoryShards({ clock });
  const store = openMemoryHistory();
  const history = { ...verbsOf(store), ...wrap(store) };
  const logger = { info() {}, warn() {}, error() {} };
  const deps = { shards, history, clock, logger };
  const { task, version } = buildTask(clock.nowMs());
  shards.tables.tasks.set(task.id, task);
  shards.tables.addVersion(version);
  const build = (n: number, status: JobStatus = "succeeded"): Job => ({
    ...plannedJob(task, clock.nowMs(), -1_000 * (n + 1)),
    status,
    claimNo: 1,
    finishedAtMs: clock.nowMs(),
  });
  const putHot = (job: Job) => void shards.tables.jobs.set(job.id, job);
  const putArchived = (job: Job) => store.write([historyEntryOf(job, null, sha256)]);
  const page = async (filter: TaskJobsFilter, before: JobId | null, limit: number) => {
    const { tenantId, id: taskId } = task;
    const found = await listTaskJobs(deps, { tenantId, taskId, filter, before, limit });
    assert(found !== null);
    return found;
  };
  const readAll = async (filter: TaskJobsFilter, limit: number) => {
    const pages: TaskJobsPage[] = [];
    let before: JobId | null = null;
    do {
      assert.ok(pages.length < 200, "a list comes to its end");
      const next: TaskJobsPage = await page(filter, before, limit);
      assert.ok(next.items.length <= limit);
      pages.push(next);
      before = next.nextBefore;
    } while (before !== null);
    return pages.flatMap(({ items }) => items.map(({ job }) => job));
  };
  return { shards, deps, task, clock, build, putHot, putArchived, page, readAll };
}

/** Of a class's instance, so that some can be replaced. */
function verbsOf(store: HistoryStore): HistoryStore {
  return {
    write: (entries) => store.write(entries),
    find: (tenantId, jobId) => store.find(tenantId, jobId),
    listByTask: (...asked) => store.listByTask(...asked),
    close: () => store.close(),
  };
}

/** Pages that end early, even empty, at ids that belong to no job: at most `per` jobs a page, and one gap after each. */
const broken = (per: number) => (store: HistoryStore) => ({
  async listByTask(...asked: Parameters<HistoryStore["listByTask"]>) {
    const [tenantId, taskId, filter, before, limit] = asked;
    const whole = await store.listByTask(tenantId, taskId, ALL, before, Math.min(per, limit));
    const entries = whole.entries.filter(
      ({ job }) => filter.statuses === null || filter.statuses.includes(job.status),
    );
    const last = whole.entries.at(-1)?.job;
    if (last === undefined || whole.nextBefore === null) return { entries, nextBefore: null };
    // Below the last job, above the next one: they are a second apart.
    return { entries, nextBefore: makeJobId(last.scheduledAtMs - 1, taskId, 1) };
  },
});

const PLACES = ["hot", "archived", "both"] as const;

test("any spread over both stores, any page size, any page of history: each job once, newest first, MySQL's where both have it", async () => {
  const spread = fc.array(
    fc.record({
      place: fc.constantFrom(...PLACES),
      status: fc.constantFrom<JobStatus>("succeeded", "dead", "cancelled"),
    }),
    { maxLength: 30 },
  );
  const asked = fc.record({
    limit: fc.integer({ min: 1, max: 12 }),
    per: fc.integer({ min: 1, max: 8 }),
    statuses: fc.constantFrom<readonly JobStatus[] | null>(null, ["dead"], ["succeeded", "dead"]),
  });
  await fc.assert(
    fc.asyncProperty(spread, asked, async (jobs, { limit, per, statuses }) => {
      const world = openWorld(broken(per));
      const expected: JobId[] = [];
      for (const [n, { place, status }] of jobs.entries()) {
        const job = world.build(n, status);
        if (place !== "archived") world.putHot(job);
        if (place !== "hot") await world.putArchived({ ...job, reason: "older copy" });
        if (statuses === null || statuses.includes(status)) expected.push(job.id);
      }
      const listed = await world.readAll({ ...ALL, statuses }, limit);
      assert.deepEqual(
        listed.map(({ id }) => id),
        expected,
      );
      for (const [n, { place }] of jobs.entries()) {
        const job = listed.find(({ id }) => id === world.build(n).id);
        if (job !== undefined) assert.equal(job.reason === "older copy", place === "archived");
      }
    }),
    { numRuns: 300 },
  );
});

test("the copy of a dead job that was retried is not listed as dead", async () => {
  const { build, putHot, putArchived, readAll } = openWorld();
  await putArchived(build(0, "dead"));
  await putArchived(build(1, "dead"));
  putHot({ ...build(0), status: "pending", finishedAtMs: null });
  const ids = async (statuses: readonly JobStatus[] | null) =>
    (await readAll({ ...ALL, statuses }, 1)).map(({ id }) => id);
  assert.deepEqual(await ids(["dead"]), [build(1).id]);
  assert.deepEqual(await ids(["pending"]), [build(0).id]);
  assert.deepEqual(await ids(null), [build(0).id, build(1).id]);
});

test("a list by status passes over no more rows than there is time for: pages may be empty, each job is on one", async () => {
  const { clock, shards, build, putHot, page, readAll } = openWorld();
  const rows = 3 * LISTED_ROWS_MAX + 2;
  const wanted = [0, LISTED_ROWS_MAX - 1, LISTED_ROWS_MAX, 3 * LISTED_ROWS_MAX + 1];
  for (let n = 0; n < rows; n++) putHot(build(n, wanted.includes(n) ? "succeeded" : "dead"));
  const filter = { ...ALL, statuses: ["succeeded"] as const };
  const expected = wanted.map((n) => build(n).id);
  const [from, to] = [build(LISTED_ROWS_MAX).id, build(2 * LISTED_ROWS_MAX).id];
  const all = await page(filter, null, 50);
  assert.deepEqual([all.items.map(({ job }) => job.id), all.nextBefore], [expected, null]);
  const [shard] = shards.all();
  assert(shard !== undefined);
  const { findListedDownTo } = shard.jobs;
  shard.jobs.findListedDownTo = async (...asked) => {
    const found = await findListedDownTo.apply(shard.jobs, asked);
    await clock.advance(LISTED_ROWS_MS_MAX);
    return found;
  };
  const listed = (await readAll(filter, 50)).map(({ id }) => id);
  assert.deepEqual(listed, expected);
  const second = await page(filter, from, 50);
  assert.deepEqual([second.items.length, second.nextBefore], [0, to]);
});

test("a page that MySQL fills goes on where it ends, though history has told further", async () => {
  const { build, putHot, putArchived, page } = openWorld();
  for (const n of [0, 2, 4]) putHot(build(n));
  for (const n of [1, 3, 5]) await putArchived(build(n));
  const first = await page(ALL, null, 2);
  assert.deepEqual(
    first.items.map(({ job }) => job.id),
    [build(0).id, build(1).id],
  );
  assert.equal(first.nextBefore, build(1).id);
});

test("without history the list is MySQL's and says so; a job that MySQL lacks cannot be denied", async () => {
  const away = () => Promise.reject(new StoreUnavailable("Cassandra is away"));
  const world = openWorld(() => ({ find: away, listByTask: away }));
  const { deps, task, build, putHot, putArchived, page } = world;
  putHot(build(0));
  await putArchived(build(1));
  const { items, nextBefore, historyAvailable } = await page(ALL, null, 10);
  assert.deepEqual([items.length, nextBefore, historyAvailable], [1, null, false]);
  assert.equal((await getJob(deps, task.tenantId, build(0).id)).kind, "found");
  assert.equal((await getJob(deps, task.tenantId, build(1).id)).kind, "history-away");
});

test("history is not asked for jobs that have not finished: it has none, and nothing is missing while it is away", async () => {
  const asked: TaskJobsFilter[] = [];
  const listByTask: HistoryStore["listByTask"] = async (_tenantId, _taskId, filter) => {
    asked.push(filter);
    throw new StoreUnavailable("Cassandra is away");
  };
  const { build, putHot, page } = openWorld(() => ({ listByTask }));
  putHot({ ...build(0), status: "pending", finishedAtMs: null });
  const list = async (...statuses: JobStatus[]) => {
    const { items, nextBefore, historyAvailable } = await page({ ...ALL, statuses }, null, 10);
    return [items.length, nextBefore, historyAvailable];
  };
  assert.deepEqual(await list("running"), [0, null, true]);
  assert.deepEqual(await list("pending", "waiting", "running"), [1, null, true]);
  assert.deepEqual(asked, []);
  assert.deepEqual(await list("pending", "dead"), [1, null, false]);
  assert.equal(asked.length, 1);
});

test("history that fails after a page of it keeps nothing back: the next page goes on, and says that it is away while it is", async () => {
  let answers = 2;
  const world = openWorld((store) => ({
    async listByTask(...asked) {
      if (answers-- <= 0) throw new StoreUnavailable("Cassandra is away");
      return broken(1)(store).listByTask(...asked);
    },
  }));
  const { build, putHot, putArchived, page } = world;
  putHot(build(0));
  for (const n of [1, 2, 3]) await putArchived(build(n));
  const first = await page(ALL, null, 10);
  const idsOf = ({ items }: TaskJobsPage) => items.map(({ job }) => job.id);
  assert.deepEqual(idsOf(first), [build(0).id, build(1).id, build(2).id]);
  assert.equal(first.historyAvailable, true);
  assert(first.nextBefore !== null);
  const away = await page(ALL, first.nextBefore, 10);
  assert.deepEqual([away.items.length, away.historyAvailable], [0, false]);
  answers = 10;
  assert.deepEqual(idsOf(await page(ALL, first.nextBefore, 10)), [build(3).id]);
});

test("a job by id, wherever it is; another tenant's is nowhere", async () => {
  const { deps, task, build, putHot, putArchived } = openWorld();
  putHot(build(0));
  await putArchived(build(1));
  await putArchived({ ...build(0), reason: "older copy" });
  const [hot, archived, none] = await Promise.all(
    [0, 1, 2].map((n) => getJob(deps, task.tenantId, build(n).id)),
  );
  assert(hot?.kind === "found" && archived?.kind === "found");
  assert.equal(hot.job.reason, null);
  assert.equal(hot.request?.url, "https://example.com/hook");
  assert.equal(archived.job.id, build(1).id);
  assert.equal(none?.kind, "not-found");
  const other = "other" as typeof task.tenantId;
  assert.equal((await getJob(deps, other, build(0).id)).kind, "not-found");
  assert.equal((await getJob(deps, other, build(1).id)).kind, "not-found");
  const asked = { tenantId: other, taskId: task.id, filter: ALL, before: null, limit: 10 };
  assert.equal(await listTaskJobs(deps, asked), null);
});
