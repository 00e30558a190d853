/**
 * Lines up jobs that were there before their limit was: of the tasks that it holds for, a page at a time, the jobs of their newest request
 * that wait without a limit or in their tenant's line. Each group of jobs is a transaction of its own; a claim that is faster has its jobs.
 */
import { type LimitKey, tenantKeyOf, tenantOf } from "#core/domain/call-limit.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { TaskId } from "#core/domain/ids.ts";
import { LINE_UP_MS_MAX, LINE_UP_SINCE_MS } from "#core/domain/limits.ts";
import { readInstant, readJobId, readTaskId } from "./cells.ts";
import { fillEndpoints } from "./fill-endpoints.ts";
import type { Row } from "./pool.ts";
import { selectClockSql } from "./statements/clock.ts";
import { lineUpSql, lockWaitingSql } from "./statements/limited-lines.ts";
import { lineUpJobsSql, listLimitedTasksSql, listUnlinedSql } from "./statements/line-up-jobs.ts";
import type { Database } from "./transaction.ts";

const TASKS_MAX = 1_000;
const GROUP_MAX = 1_000;

/**
 * Lines up under limits (the tenant's own, or those of some of its endpoints), once the endpoints of the tenant's tasks are `check`ed
 * (fill-endpoints.ts): where they are new, or that found tasks for which they did not hold. They hold already for jobs that are made from now
 * on; where the database does not go on with this, it ends here, as it does where it takes too long.
 */
export async function holdForTasks(
  database: Database,
  keys: readonly LimitKey[],
  { isNew, check }: { readonly isNew: boolean; readonly check: "all" | "missing" },
): Promise<void> {
  const [first, ...others] = keys;
  if (first === undefined) return;
  try {
    const isTenants = first === tenantKeyOf(first);
    const filled = isTenants ? 0 : await fillEndpoints(database, tenantOf(first), check);
    if (isNew || filled > 0) await lineUp(database, [first, ...others]);
  } catch (error) {
    if (!(error instanceof OperatingError && error.retryable)) throw error;
  }
}

async function lineUp(database: Database, keys: readonly [LimitKey, ...LimitKey[]]): Promise<void> {
  const [key] = keys;
  const isTenants = key === tenantKeyOf(key);
  const endsAt = performance.now() + LINE_UP_MS_MAX;
  const [clock] = await database.select(selectClockSql());
  const sinceMs = readInstant(clock?.[0]) - LINE_UP_SINCE_MS;
  let after: TaskId | null = null;
  while (performance.now() < endsAt) {
    const tasks: TaskId[] = (
      await database.select(listLimitedTasksSql(keys, after, TASKS_MAX))
    ).map((row) => readTaskId(row[0]));
    if (tasks.length === 0) return;
    const rows = await database.select(listUnlinedSql(key, tasks, sinceMs));
    const lines = Map.groupBy(rows, (row) => (isTenants ? key : (row[1] as LimitKey)));
    // The endpoint of a task that was edited just now may be none of them.
    for (const line of keys) await lineUpUnder(database, line, lines.get(line) ?? [], endsAt);
    if (tasks.length < TASKS_MAX) return;
    after = tasks.at(-1) ?? null;
  }
}

async function lineUpUnder(
  database: Database,
  key: LimitKey,
  jobs: readonly Row[],
  endsAt: number,
): Promise<void> {
  for (let at = 0; at < jobs.length && performance.now() < endsAt; at += GROUP_MAX) {
    const group = jobs.slice(at, at + GROUP_MAX).map((row) => ({ id: readJobId(row[0]) }));
    await database.transaction(async (session) => {
      // One that stands in this line by now is not changed, and would not be held: it may be taken while its place is written.
      await session.select(lockWaitingSql(group));
      const lined = await session.write(lineUpJobsSql(key, group));
      if (lined > 0) await session.write(lineUpSql(group));
    });
  }
}
