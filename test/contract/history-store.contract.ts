/** What every history store does: run on memory and on a real Cassandra. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HistoryEntry } from "#core/domain/history.ts";
import { type JobId, makeJobId, type TenantId } from "#core/domain/ids.ts";
import type { JobStatus } from "#core/domain/job.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import type { TaskJobsFilter } from "#core/ports/job-store.ts";
import { entryOf, finishedJob, makeOwner, REQUEST } from "./history-entries.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const ALL: TaskJobsFilter = { statuses: null, fromMs: null, toMs: null };
/** More pages than any test needs: a walk that does not end fails. */
const PAGES_MAX = 60;

type Owner = ReturnType<typeof makeOwner>;

/** `nowMs` is the store's idea of now: jobs are made before it. */
export function historyStoreContract(
  name: string,
  open: () => Promise<{ readonly store: HistoryStore; readonly nowMs: number }>,
): void {
  const onHistory = (body: (store: HistoryStore, nowMs: number) => Promise<void>) => async () => {
    const { store, nowMs } = await open();
    await body(store, nowMs);
  };
  describe(`history on ${name}`, () => {
    findsWhatWasWritten(onHistory);
    keepsTheLatestEnd(onHistory);
    listsPages(onHistory);
    listsMonths(onHistory);
    filters(onHistory);
  });
}

type OnHistory = (
  body: (store: HistoryStore, nowMs: number) => Promise<void>,
) => () => Promise<void>;

function findsWhatWasWritten(onHistory: OnHistory): void {
  test(
    "a job is found whole by its id, by its tenant only",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - DAY_MS);
      const plain = entryOf(finishedJob(owner, nowMs - 2 * MINUTE_MS));
      const rich = richEntry(owner, nowMs - MINUTE_MS);
      await store.write([plain, rich]);
      assert.deepEqual(await store.find(owner.tenantId, plain.job.id), plain);
      assert.deepEqual(await store.find(owner.tenantId, rich.job.id), rich);
      assert.equal(await store.find("someone-else" as TenantId, plain.job.id), null);
      const other = makeOwner(nowMs).tenantId;
      assert.deepEqual(await store.listByTask(other, owner.taskId, ALL, null, 10), {
        entries: [],
        nextBefore: null,
      });
    }),
  );

  test(
    "a job that was never written is not there; neither is anything of a task without history",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - 400 * DAY_MS);
      const id = makeJobId(nowMs - MINUTE_MS, owner.taskId, 0);
      assert.equal(await store.find(owner.tenantId, id), null);
      assert.deepEqual(await readAll(store, owner, ALL, 10), []);
      await store.write([]);
    }),
  );

  test(
    "writing the same again changes nothing",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - DAY_MS);
      const entry = entryOf(finishedJob(owner, nowMs - MINUTE_MS));
      await store.write([entry, entry]);
      const durable: HistoryEntry[] = [];
      await store.write([entry], (each) => void durable.push(each));
      assert.deepEqual(durable, [entry]);
      assert.deepEqual(await readAll(store, owner, ALL, 10), [entry]);
    }),
  );

  test(
    "the largest job that can be is kept whole",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - DAY_MS);
      const entry = largestEntry(owner, nowMs - MINUTE_MS);
      await store.write([entry]);
      assert.deepEqual(await store.find(owner.tenantId, entry.job.id), entry);
    }),
  );
}

function keepsTheLatestEnd(onHistory: OnHistory): void {
  const ends = (owner: Owner, atMs: number): [HistoryEntry, HistoryEntry] => {
    const keptUntilMs = atMs + 14 * DAY_MS;
    const dead = finishedJob(owner, atMs, {
      status: "dead",
      reason: "attempts used up",
      claimNo: 5,
      finishedAtMs: atMs + 10_000,
      dueAtMs: keptUntilMs,
    });
    // What the first end had and the second has not must not show through.
    const retried = finishedJob(owner, atMs, { claimNo: 6, finishedAtMs: keptUntilMs + 10_000 });
    return [entryOf(dead), entryOf(retried, null)];
  };
  for (const [order, name] of [
    [[0, 1], "after the earlier"],
    [[1, 0], "before the earlier, which arrives late"],
  ] as const) {
    test(
      `a later end written ${name} is the one that stays`,
      onHistory(async (store, nowMs) => {
        const owner = makeOwner(nowMs - 15 * DAY_MS);
        const copies = ends(owner, nowMs - MINUTE_MS - 14 * DAY_MS);
        for (const index of order) await store.write([copies[index]]);
        assert.deepEqual(await store.find(owner.tenantId, copies[1].job.id), copies[1]);
        assert.deepEqual(await readAll(store, owner, ALL, 10), [copies[1]]);
      }),
    );
  }

  test(
    "of two ends in one millisecond the higher claim stays",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - DAY_MS);
      const [first, second] = [7, 8].map((claimNo) =>
        entryOf(finishedJob(owner, nowMs - MINUTE_MS, { claimNo })),
      ) as [HistoryEntry, HistoryEntry];
      await store.write([second]);
      await store.write([first]);
      assert.deepEqual(await store.find(owner.tenantId, first.job.id), second);
    }),
  );
}

function listsPages(onHistory: OnHistory): void {
  test(
    "25 jobs of one instant come in pages of 10, newest id first, each once",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - DAY_MS);
      const atMs = nowMs - MINUTE_MS;
      const runs = Array.from({ length: 25 }, (_, run) => run);
      const entries = runs.map((run) => entryOf(finishedJob(owner, atMs, {}, run)));
      const older = entryOf(finishedJob(owner, atMs - 1));
      await store.write([older, ...entries]);
      const first = await store.listByTask(owner.tenantId, owner.taskId, ALL, null, 10);
      assert.deepEqual(idsOf(first.entries), idsOf(entries.slice(15).reverse()));
      assert.equal(first.nextBefore, entries[15]?.job.id);
      assert.deepEqual(await readAll(store, owner, ALL, 10), [...entries.reverse(), older]);
    }),
  );

  test(
    "a cursor between two jobs starts below itself",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - DAY_MS);
      const entries = [1, 2, 3].map((back) =>
        entryOf(finishedJob(owner, nowMs - back * MINUTE_MS)),
      );
      await store.write(entries);
      const between = makeJobId(nowMs - 2 * MINUTE_MS + 1, owner.taskId, 9);
      const page = await store.listByTask(owner.tenantId, owner.taskId, ALL, between, 10);
      assert.deepEqual(page, { entries: entries.slice(1), nextBefore: null });
    }),
  );

  test(
    "a full page says whether anything older is left",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - MINUTE_MS);
      const entries = [1, 2, 3].map((back) => entryOf(finishedJob(owner, nowMs - back * 1_000)));
      await store.write(entries);
      assert.equal((await readPages(store, owner, ALL, 3)).flat().length, 3);
      assert.deepEqual(await readAll(store, owner, ALL, 1), entries);
    }),
  );
}

function listsMonths(onHistory: OnHistory): void {
  test(
    "a list crosses months, also empty ones, without gap or repeat",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - 200 * DAY_MS);
      const backDays = [0, 1, 20, 32, 33, 34, 130, 131, 190];
      const entries = backDays.map((days) =>
        entryOf(finishedJob(owner, nowMs - MINUTE_MS - days * DAY_MS)),
      );
      await store.write(entries);
      for (const limit of [1, 2, 4, 50]) {
        assert.deepEqual(await readAll(store, owner, ALL, limit), entries, `pages of ${limit}`);
      }
    }),
  );

  test(
    "from is inclusive and to exclusive, at the border of a month too",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - 100 * DAY_MS);
      const now = new Date(nowMs);
      const borderMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1);
      const entries = [1, 0, -1].map((offset) => entryOf(finishedJob(owner, borderMs + offset)));
      const [after, border, last] = entries as [HistoryEntry, HistoryEntry, HistoryEntry];
      await store.write(entries);
      const list = (fromMs: number | null, toMs: number | null) =>
        readAll(store, owner, { statuses: null, fromMs, toMs }, 10);
      assert.deepEqual(await list(null, null), entries);
      assert.deepEqual(await list(borderMs, null), [after, border]);
      assert.deepEqual(await list(null, borderMs), [last]);
      assert.deepEqual(await list(null, borderMs + 1), [border, last]);
      assert.deepEqual(await list(borderMs, borderMs + 1), [border]);
      assert.deepEqual(await list(borderMs - 1, borderMs), [last]);
      assert.deepEqual(await list(borderMs, borderMs), []);
      assert.deepEqual(await list(borderMs + 1, borderMs), []);
      const cursor = after.job.id;
      const page = await store.listByTask(
        owner.tenantId,
        owner.taskId,
        { statuses: null, fromMs: borderMs, toMs: null },
        cursor,
        10,
      );
      assert.deepEqual(page.entries, [border]);
    }),
  );
}

function filters(onHistory: OnHistory): void {
  test(
    "a filter by status passes over the others, over many of them too",
    onHistory(async (store, nowMs) => {
      const owner = makeOwner(nowMs - 70 * DAY_MS);
      const statusOf = (index: number): JobStatus =>
        index % 400 === 399 ? "dead" : index % 2 === 0 ? "succeeded" : "cancelled";
      const entries = Array.from({ length: 1_000 }, (_, index) =>
        entryOf(
          finishedJob(owner, nowMs - (index + 1) * 90 * MINUTE_MS, { status: statusOf(index) }),
        ),
      );
      await store.write(entries);
      const of = (...statuses: JobStatus[]) => ({ ...ALL, statuses });
      const withStatus = (...statuses: JobStatus[]) =>
        entries.filter(({ job }) => statuses.includes(job.status));
      assert.deepEqual(await readAll(store, owner, of("dead"), 5), withStatus("dead"));
      assert.deepEqual(
        await readAll(store, owner, of("dead", "cancelled"), 50),
        withStatus("dead", "cancelled"),
      );
      assert.deepEqual(await readAll(store, owner, of("running"), 5), []);
      const fromMs = nowMs - 600 * 90 * MINUTE_MS;
      assert.deepEqual(
        await readAll(store, owner, { statuses: ["dead"], fromMs, toMs: null }, 5),
        withStatus("dead").filter(({ job }) => job.scheduledAtMs >= fromMs),
      );
    }),
  );
}

/** All pages from the newest on, as a caller reads them. */
async function readPages(
  store: HistoryStore,
  { tenantId, taskId }: Owner,
  filter: TaskJobsFilter,
  limit: number,
): Promise<(readonly HistoryEntry[])[]> {
  const pages: (readonly HistoryEntry[])[] = [];
  let before: JobId | null = null;
  do {
    const page = await store.listByTask(tenantId, taskId, filter, before, limit);
    assert(page.entries.length <= limit);
    assert(before === null || page.nextBefore === null || page.nextBefore < before, "a step down");
    pages.push(page.entries);
    before = page.nextBefore;
    assert(pages.length <= Math.max(PAGES_MAX, 600 / limit), "the list comes to its end");
  } while (before !== null);
  return pages;
}

async function readAll(
  store: HistoryStore,
  owner: Owner,
  filter: TaskJobsFilter,
  limit: number,
): Promise<HistoryEntry[]> {
  return (await readPages(store, owner, filter, limit)).flat();
}

function idsOf(entries: readonly HistoryEntry[]): JobId[] {
  return entries.map(({ job }) => job.id);
}

/** Everything set that can be. */
function richEntry(owner: Owner, atMs: number): HistoryEntry {
  const job = finishedJob(owner, atMs, {
    trigger: "manual",
    status: "dead",
    priority: "critical",
    queue: 2,
    runAtMs: atMs + 12_000,
    claimNo: 3,
    attempt: 2,
    lost: 1,
    workerId: "00112233445566778899aabbccddeeff" as NonNullable<
      ReturnType<typeof finishedJob>["workerId"]
    >,
    cancelReason: "task paused",
    attempts: {
      "1": attempt(1, { error: "timeout" }),
      "3": attempt(2, { statusCode: 503, responseBody: 'né 🚀 \u0000 "\\' }),
    },
    payload: { headers: { "X-Once": "1" }, body: "é".repeat(300) },
    reason: "attempts used up",
    retryOf: makeJobId(atMs - DAY_MS, owner.taskId, 0),
    covers: { count: 12, atLeast: true, fromMs: atMs - DAY_MS, toMs: atMs },
  });
  return entryOf(job, { ...REQUEST, body: null, bodyBase64: "AAEC/w==" });
}

function attempt(number: number, changes: object) {
  return {
    attempt: number,
    startedAtMs: 1_780_000_000_123,
    lagMs: 4,
    durationMs: 30_000,
    statusCode: null,
    error: null,
    responseBody: null,
    ...changes,
  };
}

/** Every part at its bound, in characters that take most in JSON. */
function largestEntry(owner: Owner, atMs: number): HistoryEntry {
  const attempts = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      String(index + 1),
      attempt(index + 1, { statusCode: 500, responseBody: "\u0001".repeat(4_096) }),
    ]),
  );
  const headers = { "x-long": "\u00ff".repeat(8_000) };
  const job = finishedJob(owner, atMs, {
    attempts,
    payload: { headers, body: "\u0001".repeat(262_144) },
  });
  return entryOf(job, { ...REQUEST, url: `https://a.example/${"x".repeat(4_000)}`, headers });
}
