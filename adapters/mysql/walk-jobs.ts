/** A task's jobs that have not ended, found by a walk in pages, and what a pause or delete does to them. */
import type { JobId, TaskId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import { readJobId } from "./cells.ts";
import type { Session } from "./pool.ts";
import { cancelJobsSql, selectLeftLimitedSql } from "./statements/edit-jobs.ts";
import { deleteLimitedSql } from "./statements/limited-lines.ts";
import { selectPageEndSql, selectWalkedJobsSql, type Walked } from "./statements/walk-jobs.ts";

/** Jobs changed by one statement. */
const GROUP_MAX = 1_000;

export interface WalkBounds {
  /** Rows that one statement reads. */
  readonly pageRows: number;
  /** No further page is read once so many jobs are found, or so much time is gone. */
  readonly jobs: number;
  readonly ms: number;
}

export interface Walk {
  /** Ids in order. */
  readonly found: readonly JobId[];
  /** Null when the walk has come to the last row; else it goes on below this id. */
  readonly before: JobId | null;
}

/**
 * Walks from `before` downwards. Nothing is missed between its statements, nor between walks that follow one another: under the task's
 * lock no job joins those that are looked for.
 */
export async function walkJobs(
  session: Session,
  taskId: TaskId,
  from: JobId | null,
  walked: Walked,
  { pageRows, jobs, ms }: WalkBounds,
): Promise<Walk> {
  const endsAt = performance.now() + ms;
  const pages: JobId[][] = [];
  let found = 0;
  let before = from;
  do {
    const [row] = await session.select(selectPageEndSql(taskId, before, pageRows));
    const end = row === undefined ? null : readJobId(row[0]);
    const page = await idsOf(session, selectWalkedJobsSql(taskId, before, end, walked));
    pages.push(page);
    found += page.length;
    before = end;
  } while (before !== null && found < jobs && performance.now() < endsAt);
  return { found: pages.reverse().flat(), before };
}

/** Events 12 and 13. The ids in order: everybody who holds several jobs walks on in that order. */
export async function cancelJobs(
  session: Session,
  ids: readonly JobId[],
  reason: string,
  nowMs: number,
  retention: Retention,
): Promise<void> {
  await inGroups(ids, (group) => session.write(cancelJobsSql(group, reason, nowMs, retention)));
  await inGroups(ids, async (group) => {
    const left = await idsOf(session, selectLeftLimitedSql(group));
    if (left.length > 0) await session.write(deleteLimitedSql(left));
  });
}

export async function idsOf(session: Session, sql: string): Promise<JobId[]> {
  return (await session.select(sql)).map((row) => readJobId(row[0]));
}

export async function inGroups(
  ids: readonly JobId[],
  change: (group: readonly JobId[]) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < ids.length; at += GROUP_MAX) await change(ids.slice(at, at + GROUP_MAX));
}
