/**
 * Lists over rows whose time has passed, on a model of Keyspaces: a page counts the rows that were read, expired ones too, so that it
 * may be empty for thousands of pages. No server here does so.
 */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { types } from "cassandra-driver";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { type JobId, jobIdToBytes, makeJobId, makeTaskId } from "#core/domain/ids.ts";
import { type ReadPage, readSteps } from "./list-by-task.ts";
import { planSteps } from "./months.ts";
import { jobIdOfRow } from "./rows.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = Date.parse("2026-11-30T12:00:00Z");
const TASK = makeTaskId(NOW_MS - 100 * DAY_MS, 1, new Uint8Array(8));
const PAGE_MS = 5;
const DEADLINE_MS = 1_500;
const FETCH_MAX = 1_000;
const LIMIT = 50;

interface Row {
  readonly atMs: number;
  readonly isLive: boolean;
}

/** Newest first: 120 jobs of the last days, then what has expired, `periodMs` apart, with a job that died among it now and then. */
function rowsOf(
  periodMs: number,
  expiredFromMs: number,
  expiredToMs: number,
  deadMs: number,
): Row[] {
  const rows = Array.from({ length: 120 }, (_, n) => ({
    atMs: NOW_MS - (n + 1) * HOUR_MS,
    isLive: true,
  }));
  let dead = 1;
  for (let ageMs = expiredFromMs; ageMs < expiredToMs; ageMs += periodMs) {
    const isLive = ageMs >= expiredFromMs + dead * deadMs;
    if (isLive) dead++;
    rows.push({ atMs: NOW_MS - ageMs, isLive });
  }
  return rows;
}

function rowAt(atMs: number): types.Row {
  const id = makeJobId(atMs, TASK, 0);
  const cells: Record<string, unknown> = {
    job_id: Buffer.from(jobIdToBytes(id)),
    status: "succeeded",
  };
  return { get: (name: string) => cells[name] } as unknown as types.Row;
}

/** One list after the other to the end, as a tenant reads it; each has its deadline. Returns how many. */
async function walk(rows: readonly Row[]): Promise<number> {
  let nowMs = 0;
  let endsAt = 0;
  const clock = mock.method(performance, "now", () => nowMs);
  /** The first row below an instant. */
  const firstBelow = (ms: number) => {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((rows[middle]?.atMs ?? 0) < ms) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const readPage: ReadPage = async (step, fetchSize, pageState) => {
    nowMs += PAGE_MS;
    if (nowMs >= endsAt) throw new StoreUnavailable("deadline");
    if (step.kind === "instant") return { rows: [], nextPageState: undefined };
    const from = pageState === undefined ? firstBelow(step.toMs) : Number(pageState);
    const end = firstBelow(step.fromMs);
    const to = Math.min(from + Math.min(fetchSize, FETCH_MAX), end);
    const live = rows.slice(from, to).filter(({ isLive }) => isLive);
    return {
      rows: live.map(({ atMs }) => rowAt(atMs)),
      nextPageState: to < end ? String(to) : undefined,
    };
  };
  const found: JobId[] = [];
  let lists = 0;
  let before: JobId | null = null;
  try {
    do {
      endsAt = nowMs + DEADLINE_MS;
      const steps = planSteps(TASK, { fromMs: null, toMs: null }, before, NOW_MS);
      const pauseAt = endsAt - DEADLINE_MS / 2;
      const request = { taskId: TASK, steps, statuses: null, limit: LIMIT, pauseAt };
      const listed = await readSteps(readPage, request);
      found.push(...listed.rows.map(jobIdOfRow));
      before = listed.nextBefore;
      assert.ok(++lists < 1_000, "a walk comes to its end");
    } while (before !== null);
  } finally {
    clock.mock.restore();
  }
  const live = rows.filter(({ isLive }) => isLive);
  const expected = live.map(({ atMs }) => makeJobId(atMs, TASK, 0));
  assert.deepEqual(found, expected, "each live job once, in order");
  return lists;
}

for (const [name, periodMs, fromMs, toMs, deadMs, listsMax] of [
  ["every 30 s, for ten days", 30_000, 30 * DAY_MS, 40 * DAY_MS, 400 * DAY_MS, 5],
  ["every second, for ten days", 1_000, 30 * DAY_MS, 40 * DAY_MS, 400 * DAY_MS, 15],
  ["every second, and one that died each day", 1_000, 30 * DAY_MS, 44 * DAY_MS, DAY_MS, 30],
  ["70 a second, for half a day", 14, 33 * DAY_MS, 33.5 * DAY_MS, 400 * DAY_MS, 30],
] as const)
  test(`jobs above rows that have expired are listed, and the walk ends: ${name}`, async () => {
    const lists = await walk(rowsOf(periodMs, fromMs, toMs, deadMs));
    assert.ok(lists <= listsMax, `${lists} lists`);
  });

test("it ends in a month whose jobs have all expired", async () => {
  assert.ok((await walk(rowsOf(1_000, 33 * DAY_MS, 40 * DAY_MS, 400 * DAY_MS).slice(120))) <= 15);
});
