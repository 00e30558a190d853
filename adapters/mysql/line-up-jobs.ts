/**
 * Lines up jobs that were there before their limit was: of the tasks that it holds for, a page at a time, the jobs of their newest request
 * that wait without a limit or in their tenant's line. Each group of jobs is a transaction of its own; a claim that is faster has its jobs.
 */
import type { LimitKey } from "#core/domain/call-limit.ts";
import type { TaskId } from "#core/domain/ids.ts";
import { LINE_UP_MS_MAX, LINE_UP_SINCE_MS } from "#core/domain/limits.ts";
import { readJobId, readTaskId } from "./cells.ts";
import { lineUpSql, lockWaitingSql } from "./statements/limited-lines.ts";
import { lineUpJobsSql, listLimitedTasksSql, listUnlinedSql } from "./statements/line-up-jobs.ts";
import type { Database } from "./transaction.ts";

const TASKS_MAX = 1_000;
const GROUP_MAX = 1_000;

/** `nowMs`: when the limit was made. */
export async function lineUpJobs(database: Database, key: LimitKey, nowMs: number): Promise<void> {
  const sinceMs = nowMs - LINE_UP_SINCE_MS;
  const endsAt = performance.now() + LINE_UP_MS_MAX;
  let after: TaskId | null = null;
  while (performance.now() < endsAt) {
    const tasks: TaskId[] = (await database.select(listLimitedTasksSql(key, after, TASKS_MAX))).map(
      (row) => readTaskId(row[0]),
    );
    if (tasks.length === 0) return;
    const jobs = await database.select(listUnlinedSql(key, tasks, sinceMs));
    for (let at = 0; at < jobs.length && performance.now() < endsAt; at += GROUP_MAX) {
      const group = jobs.slice(at, at + GROUP_MAX).map((row) => ({ id: readJobId(row[0]) }));
      await database.transaction(async (session) => {
        // One that stands in this line by now is not changed, and would not be held: it may be taken while its place is written.
        await session.select(lockWaitingSql(group));
        const lined = await session.write(lineUpJobsSql(key, group));
        if (lined > 0) await session.write(lineUpSql(group));
      });
    }
    if (tasks.length < TASKS_MAX) return;
    after = tasks.at(-1) ?? null;
  }
}
