/** Writes of jobs that wait under limits, or may by then: in one transaction with their places in line. */
import type { LimitKey } from "#core/domain/call-limit.ts";
import type { JobId } from "#core/domain/ids.ts";
import { readJobId } from "./cells.ts";
import type { Session } from "./pool.ts";
import { leaveLinesSql, lineUpSql, lockWaitingSql } from "./statements/limited-lines.ts";
import type { Database } from "./transaction.ts";

interface Held {
  readonly id: JobId;
  readonly limitKey: LimitKey | null;
}

/**
 * Runs `write` on the jobs that were claimed from lines, in a transaction with their places in line, and apart from that on the others,
 * as if there were no limits; answers what it has answered. `mayLineUp` false of all: whatever it does, it makes none of them wait.
 */
export async function writeKeepingLines<Job extends Held, T>(
  database: Database,
  jobs: readonly Job[],
  write: (writer: Pick<Database, "write">, jobs: readonly Job[], limited: boolean) => Promise<T>,
  mayLineUp: (job: Job) => boolean = () => true,
): Promise<T[]> {
  const limited = jobs.filter(isLimited);
  const free = limited.length === 0 ? jobs : jobs.filter((job) => !isLimited(job));
  const written: T[] = [];
  if (free.length > 0) written.push(await write(database, free, false));
  if (limited.length > 0)
    written.push(
      await keepLines(database, limited, limited.some(mayLineUp), (session) =>
        write(session, limited, true),
      ),
    );
  return written;
}

function isLimited({ limitKey }: Held): boolean {
  return limitKey !== null;
}

/** What a rescue has put in line meanwhile, and `write` takes out, leaves it. */
function keepLines<T>(
  database: Database,
  jobs: readonly Held[],
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
