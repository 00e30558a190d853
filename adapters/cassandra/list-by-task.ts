/**
 * One page of a task's jobs out of several partitions. A page of the database may be empty and not the last one; which rows match is
 * decided here, so a page of ours may be short and not the last one either: it ends with the id to go on below. The database's page
 * state never leaves this file.
 *
 * Rows whose time has passed are read and not answered: in Keyspaces for days, as empty pages. What was found before the time was
 * over, or before a page was refused, is an answer all the same, as far as a cursor can say how far that was.
 */
import type { types } from "cassandra-driver";
import { OperatingError } from "#core/domain/errors.ts";
import type { JobId, TaskId } from "#core/domain/ids.ts";
import type { JobStatus } from "#core/domain/job.ts";
import { HISTORY_SCAN_ROWS_MAX } from "#core/domain/limits.ts";
import { cursorAfter, type Step } from "./months.ts";
import { jobIdOfRow, statusOfRow } from "./rows.ts";

/** Rows read at a time when some are passed over. */
const FILTERED_FETCH_MIN = 100;
/** After an empty page: expired rows count as read. */
const EXPIRED_FETCH = 1_000;

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
  const found: types.Row[] = [];
  const told: Told = { downTo: null };
  try {
    return { rows: found, nextBefore: await findRows(readPage, request, found, told) };
  } catch (error) {
    if (!(error instanceof OperatingError) || told.downTo === null) throw error;
    return { rows: found, nextBefore: told.downTo };
  }
}

/** Below which id nothing has been read yet; null at the very beginning. */
interface Told {
  downTo: JobId | null;
}

async function findRows(
  readPage: ReadPage,
  { taskId, steps, statuses, limit, pauseAt }: ListRequest,
  found: types.Row[],
  told: Told,
): Promise<JobId | null> {
  const usualFetch = statuses === null ? limit : Math.max(limit, FILTERED_FETCH_MIN);
  let scanned = 0;
  for (const [index, step] of steps.entries()) {
    const isLastStep = index === steps.length - 1;
    let fetchSize = usualFetch;
    let pageState: string | undefined;
    do {
      const { rows, nextPageState } = await readPage(step, fetchSize, pageState);
      for (const [position, row] of rows.entries()) {
        if (statuses !== null && !statuses.includes(statusOfRow(row))) continue;
        found.push(row);
        if (found.length < limit) continue;
        const isLastRow = position === rows.length - 1 && nextPageState === undefined;
        return isLastRow && isLastStep ? null : jobIdOfRow(row);
      }
      scanned += rows.length;
      const lastRow = rows.at(-1);
      if (nextPageState === undefined) told.downTo = cursorAfter(step, taskId);
      else if (lastRow !== undefined) told.downTo = jobIdOfRow(lastRow);
      if (isLastStep && nextPageState === undefined) return null;
      const mayPause = scanned >= HISTORY_SCAN_ROWS_MAX || performance.now() >= pauseAt;
      // Only where a cursor can say how far we are; else on, to the deadline.
      if (mayPause && told.downTo !== null) return told.downTo;
      pageState = nextPageState;
      fetchSize = rows.length === 0 ? EXPIRED_FETCH : usualFetch;
    } while (pageState !== undefined);
  }
  return null;
}
