import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { types } from "cassandra-driver";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { type JobId, jobIdToBytes, makeJobId, makeTaskId } from "#core/domain/ids.ts";
import type { JobStatus } from "#core/domain/job.ts";
import { HISTORY_SCAN_ROWS_MAX } from "#core/domain/limits.ts";
import { type ListRequest, type ReadPage, readSteps } from "./list-by-task.ts";
import { cursorAfter, monthOf, type Step } from "./months.ts";
import { jobIdOfRow } from "./rows.ts";

const TASK = makeTaskId(Date.parse("2026-01-05T00:00:00Z"), 1, new Uint8Array(8));
const NEVER = Number.POSITIVE_INFINITY;

type Page = { readonly rows: readonly types.Row[]; readonly more: boolean };

function rowAt(at: string, status: JobStatus = "succeeded"): types.Row {
  const id = makeJobId(Date.parse(at), TASK, 0);
  const cells: Record<string, unknown> = { job_id: Buffer.from(jobIdToBytes(id)), status };
  return { get: (name: string) => cells[name] } as unknown as types.Row;
}

function stepOf(month: number): Step {
  const fromMs = Date.UTC(Math.floor(month / 100), (month % 100) - 1, 1);
  return { kind: "range", month: monthOf(fromMs), fromMs, toMs: fromMs + 86_400_000 };
}

/** A database whose answers are given: pages by month, in order. */
function answers(pages: Record<number, readonly Page[]>): {
  readPage: ReadPage;
  asked: { month: number; fetchSize: number; pageState: string | undefined }[];
} {
  const asked: { month: number; fetchSize: number; pageState: string | undefined }[] = [];
  const readPage: ReadPage = async (step, fetchSize, pageState) => {
    asked.push({ month: step.month, fetchSize, pageState });
    const index = pageState === undefined ? 0 : Number(pageState);
    const page = pages[step.month]?.[index] ?? { rows: [], more: false };
    return { rows: page.rows, nextPageState: page.more ? String(index + 1) : undefined };
  };
  return { readPage, asked };
}

function request(changes: Partial<ListRequest>): ListRequest {
  const steps = [stepOf(202611), stepOf(202610)];
  return { taskId: TASK, steps, statuses: null, limit: 2, pauseAt: NEVER, ...changes };
}

const idsOf = (rows: readonly types.Row[]): JobId[] => rows.map(jobIdOfRow);

test("an empty page that is not the last is passed, between rows and before the first", async () => {
  const rows = [rowAt("2026-11-03T00:00:00Z"), rowAt("2026-11-02T00:00:00Z")] as const;
  const { readPage } = answers({
    202611: [
      { rows: [], more: true },
      { rows: [rows[0]], more: true },
      { rows: [], more: true },
      { rows: [rows[1]], more: true },
      { rows: [], more: false },
    ],
  });
  const listed = await readSteps(readPage, request({ limit: 10 }));
  assert.deepEqual(listed, { rows: [...rows], nextBefore: null });
});

test("an empty first page of every month is not the end of the list", async () => {
  const row = rowAt("2026-10-02T00:00:00Z");
  const { readPage } = answers({
    202611: [{ rows: [], more: true }],
    202610: [
      { rows: [], more: true },
      { rows: [row], more: false },
    ],
  });
  assert.deepEqual(await readSteps(readPage, request({})), { rows: [row], nextBefore: null });
});

test("every page asked for is of the limit; larger only to pass over rows", async () => {
  const plain = answers({ 202611: [{ rows: [rowAt("2026-11-03T00:00:00Z")], more: true }] });
  await readSteps(plain.readPage, request({ limit: 7 }));
  assert(plain.asked.length > 1 && plain.asked.every(({ fetchSize }) => fetchSize === 7));
  const filtered = answers({});
  await readSteps(filtered.readPage, request({ limit: 7, statuses: ["dead"] }));
  assert(filtered.asked.every(({ fetchSize }) => fetchSize === 100));
});

test("a page filled by a month's last row ends the list only in the last month", async () => {
  const rows = ["2026-11-03T00:00:00Z", "2026-11-02T00:00:00Z"].map((at) => rowAt(at));
  const { readPage } = answers({ 202611: [{ rows, more: false }] });
  const listed = await readSteps(readPage, request({}));
  assert.deepEqual([idsOf(listed.rows), listed.nextBefore], [idsOf(rows), idsOf(rows)[1]]);
  const last = await readSteps(readPage, request({ steps: [stepOf(202611)] }));
  assert.deepEqual([last.rows, last.nextBefore], [rows, null]);
});

test("a page filled within a page of the database, or by its last row, goes on below that row", async () => {
  const rows = ["2026-11-03T00:00:00Z", "2026-11-02T00:00:00Z", "2026-11-01T00:00:00Z"].map((at) =>
    rowAt(at),
  );
  for (const page of [
    { rows, more: false },
    { rows: rows.slice(0, 2), more: true },
  ]) {
    const { readPage } = answers({ 202611: [page, { rows: rows.slice(2), more: false }] });
    const listed = await readSteps(readPage, request({ steps: [stepOf(202611)] }));
    assert.deepEqual([listed.rows, listed.nextBefore], [rows.slice(0, 2), idsOf(rows)[1]]);
  }
});

test("after so many rows that do not match it answers with what it has", async () => {
  const passed = rowAt("2026-11-02T00:00:00Z");
  const page = { rows: Array<types.Row>(HISTORY_SCAN_ROWS_MAX / 2).fill(passed), more: true };
  const { readPage, asked } = answers({ 202611: [page, page, page] });
  const listed = await readSteps(readPage, request({ statuses: ["dead"] }));
  assert.deepEqual(listed, { rows: [], nextBefore: jobIdOfRow(passed) });
  assert.equal(asked.length, 2);
});

test("out of time it answers with what it has, and where to go on: below the last row it has read", async () => {
  const dead = rowAt("2026-11-03T00:00:00Z", "dead");
  const passed = rowAt("2026-11-02T00:00:00Z");
  const { readPage } = answers({ 202611: [{ rows: [dead, passed], more: true }] });
  const listed = await readSteps(readPage, request({ statuses: ["dead"], pauseAt: 0 }));
  assert.deepEqual(listed, { rows: [dead], nextBefore: jobIdOfRow(passed) });
});

test("out of time after a month without rows it goes on below that month", async () => {
  const listed = await readSteps(answers({}).readPage, request({ pauseAt: 0 }));
  assert.deepEqual(listed, { rows: [], nextBefore: cursorAfter(stepOf(202611), TASK) });
});

test("out of time it still reads on where no cursor can say how far it is", async () => {
  const row = rowAt("2026-11-02T00:00:00Z");
  const { readPage, asked } = answers({
    202611: [
      { rows: [], more: true },
      { rows: [row], more: true },
    ],
  });
  const listed = await readSteps(readPage, request({ pauseAt: 0 }));
  assert.equal(asked.length, 2);
  assert.deepEqual(listed, { rows: [row], nextBefore: jobIdOfRow(row) });
});

test("after an empty page many rows are asked for, and the usual number once there is one", async () => {
  const row = rowAt("2026-11-02T00:00:00Z");
  const empty = { rows: [], more: true };
  const { readPage, asked } = answers({ 202611: [empty, empty, { rows: [row], more: true }] });
  await readSteps(readPage, request({ limit: 7, steps: [stepOf(202611)] }));
  assert.deepEqual(
    asked.map(({ fetchSize }) => fetchSize),
    [7, 1_000, 1_000, 7],
  );
});

test("out of time after empty pages it goes on below the last row before them", async () => {
  const row = rowAt("2026-11-03T00:00:00Z");
  const empty = { rows: [], more: true };
  const { readPage, asked } = answers({ 202611: [{ rows: [row], more: true }, empty, empty] });
  const now = mock.method(performance, "now", () => asked.length);
  const listed = await readSteps(readPage, request({ pauseAt: 3 }));
  now.mock.restore();
  assert.equal(asked.length, 3);
  assert.deepEqual(listed, { rows: [row], nextBefore: jobIdOfRow(row) });
});

test("a page that cannot be read ends the list below what was read before it; the first one's failure is the list's", async () => {
  const row = rowAt("2026-11-03T00:00:00Z");
  const failing = (failsAt: number, pages: Record<number, readonly Page[]>, error: Error) => {
    const { readPage, asked } = answers(pages);
    const read: ReadPage = async (...page) => {
      if (asked.length === failsAt) throw error;
      return readPage(...page);
    };
    return readSteps(read, request({ limit: 10 }));
  };
  const away = new StoreUnavailable("Cassandra does not answer: deadline");
  const more = { 202611: [{ rows: [row], more: true }] };
  const whole = { 202611: [{ rows: [row], more: false }] };
  assert.deepEqual(await failing(1, more, away), { rows: [row], nextBefore: jobIdOfRow(row) });
  assert.deepEqual(await failing(1, whole, away), {
    rows: [row],
    nextBefore: cursorAfter(stepOf(202611), TASK),
  });
  await assert.rejects(failing(0, more, away), StoreUnavailable);
  await assert.rejects(failing(1, { 202611: [{ rows: [], more: true }] }, away), StoreUnavailable);
  await assert.rejects(failing(1, more, new TypeError("ours")), TypeError);
});
