/**
 * One page of a task's jobs out of several partitions. A page of the database may be empty and not the last one; which rows match is
 * decided here, so a page of ours may be short and not the last one either: it ends with the id to go on below. The database's page
 * state never leaves this file.
 */
import type { types } from "cassandra-driver";
import type { JobId, TaskId } from "#core/domain/ids.ts";
import type { JobStatus } from "#core/domain/job.ts";
import { HISTORY_SCAN_ROWS_MAX } from "#core/domain/limits.ts";
import { cursorAfter, type Step } from "./months.ts";
import { jobIdOfRow, statusOfRow } from "./rows.ts";

/** Rows read at a time when some are passed over. */
const FILTERED_FETCH_MIN = 100;

export type ReadPage = (
  step: Step,
  fetchSize: number,
  pageState: string | undefined,
) => Promise<{ readonly rows: readonly types.Row[]; readonly nextPageState: string | undefined }>;

export interface ListRequest {
  readonly taskId: TaskId;
  readonly steps: readonly Step[];
  readonly statuses: readonly JobStatus[] | null;
  readonly limit: number;
  /** On `performance.now()`: from then on whatever was found is the answer. */
  readonly pauseAt: number;
}

export interface ListedRows {
  readonly rows: readonly types.Row[];
  readonly nextBefore: JobId | null;
}

export async function readSteps(readPage: ReadPage, request: ListRequest): Promise<ListedRows> {
  const { taskId, steps, statuses, limit, pauseAt } = request;
  const fetchSize = statuses === null ? limit : Math.max(limit, FILTERED_FETCH_MIN);
  const found: types.Row[] = [];
  let scanned = 0;
  for (const [index, step] of steps.entries()) {
    const isLastStep = index === steps.length - 1;
    let pageState: string | undefined;
    do {
      const { rows, nextPageState } = await readPage(step, fetchSize, pageState);
      for (const [position, row] of rows.entries()) {
        if (statuses !== null && !statuses.includes(statusOfRow(row))) continue;
        found.push(row);
        if (found.length < limit) continue;
        const isLastRow = position === rows.length - 1 && nextPageState === undefined;
        return { rows: found, nextBefore: isLastRow && isLastStep ? null : jobIdOfRow(row) };
      }
      scanned += rows.length;
      const lastRow = rows.at(-1);
      const mayPause = scanned >= HISTORY_SCAN_ROWS_MAX || performance.now() >= pauseAt;
      // Only where a cursor can say how far we are; else on, to the deadline.
      if (mayPause && nextPageState !== undefined && lastRow !== undefined) {
        return { rows: found, nextBefore: jobIdOfRow(lastRow) };
      }
      if (mayPause && nextPageState === undefined && !isLastStep) {
        return { rows: found, nextBefore: cursorAfter(step, taskId) };
      }
      pageState = nextPageState;
    } while (pageState !== undefined);
  }
  return { rows: found, nextBefore: null };
}
