/** Writes of jobs that wait under limits, or may by then: in one transaction with their places in line. */
import type { JobId } from "#core/domain/ids.ts";
import { readJobId } from "./cells.ts";
import type { Session } from "./pool.ts";
import { leaveLinesSql, lineUpSql, lockWaitingSql } from "./statements/limited-lines.ts";
import type { Database } from "./transaction.ts";

interface Keyed {
  readonly id: JobId;
}

/**
 * Runs `write` on jobs that were claimed from lines. `mayLineUp` false: whatever it does, it makes none of them wait. What a rescue has put
 * in line meanwhile, and `write` takes out, leaves it.
 */
export function keepLines<T>(
  database: Database,
  jobs: readonly Keyed[],
  mayLineUp: boolean,
  write: (session: Session) => Promise<T>,
): Promise<T> {
  return database.transaction(async (session) => {
    const before = await session.select(lockWaitingSql(jobs));
    const waited = before.flatMap(([id, waits]) => (waits === 1 ? [{ id: readJobId(id) }] : []));
    const result = await write(session);
    if (mayLineUp) await session.write(lineUpSql(jobs));
    if (waited.length > 0) await session.write(leaveLinesSql(waited));
    return result;
  });
}

/** Jobs that were claimed from lines, and those that were not: these are written as if there were no limits. */
export function splitLimited<Job extends { readonly limitKey?: string | null }>(
  jobs: readonly Job[],
): { readonly limited: readonly Job[]; readonly free: readonly Job[] } {
  const limited = jobs.filter(({ limitKey }) => (limitKey ?? null) !== null);
  if (limited.length === 0) return { limited, free: jobs };
  return { limited, free: jobs.filter(({ limitKey }) => (limitKey ?? null) === null) };
}
