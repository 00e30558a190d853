/**
 * The two ways in which statements run: one alone, or several in a transaction. Both end by a deadline, both run again what the
 * server gave up (deadlock, lock wait) as a whole, and both destroy the connection on any error: it may hold an open
 * transaction, or be a writer that a failover has made a reader.
 */
import { OutcomeUnknown, StoreUnavailable } from "#core/domain/errors.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { RotatingAccount } from "./account.ts";
import {
  ACQUIRE_MS,
  LOCK_WAIT_SECONDS,
  RERUN_PAUSE_MS_MAX,
  RERUNS_MAX,
  STATEMENT_MS,
  TRANSACTION_MS,
} from "./deadlines.ts";
import { DriverFault, isLockWait, isRetryAtOnce, translate } from "./errors.ts";
import { type Connection, openPool, type Pool, type Row, type Session } from "./pool.ts";

export interface Database {
  /** One reading statement. */
  select(sql: string, deadlineMs?: number): Promise<Row[]>;
  /** One writing statement, committed by itself. Throws OutcomeUnknown when its answer is lost. */
  write(sql: string, deadlineMs?: number): Promise<number>;
  /**
   * BEGIN, `work`, COMMIT, within `deadlineMs` over everything. `work` may run several times. Throws OutcomeUnknown when the
   * COMMIT's answer is lost; any other error means that nothing was written.
   */
  transaction<T>(work: (session: Session) => Promise<T>, deadlineMs?: number): Promise<T>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly mysqlUrl: string;
  readonly database: string;
  readonly poolSize: number;
  readonly logger: Logger | null;
  readonly account?: RotatingAccount | null;
  readonly onWait?: (() => void) | undefined;
}

export function openDatabase(options: DatabaseOptions): Database {
  const { mysqlUrl, database, poolSize, logger, account = null, onWait } = options;
  const pool = openPool({ mysqlUrl, database, size: poolSize, logger, account, onWait });
  return {
    select: (sql, deadlineMs = STATEMENT_MS) =>
      rerunning(logger, performance.now() + deadlineMs, false, (leftMs) =>
        alone(pool, leftMs, (connection, ms) => connection.select(sql, ms)),
      ),
    write: (sql, deadlineMs = STATEMENT_MS) =>
      rerunning(logger, performance.now() + deadlineMs, true, (leftMs) =>
        alone(pool, leftMs, (connection, ms) => connection.write(sql, ms)),
      ),
    transaction: (work, deadlineMs = TRANSACTION_MS) => {
      const endsAt = performance.now() + deadlineMs;
      return rerunning(logger, endsAt, false, () => transact(pool, endsAt, work));
    },
    close: () => pool.close(),
  };
}

/** Marks the one place in a transaction where an error leaves the outcome open. */
class CommitFailed extends Error {
  override readonly name = "CommitFailed";
}

async function alone<T>(
  pool: Pool,
  leftMs: () => number,
  run: (connection: Connection, deadlineMs: number) => Promise<T>,
): Promise<T> {
  const connection = await acquire(pool, leftMs());
  try {
    const result = await run(connection, leftMs());
    connection.release();
    return result;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

async function transact<T>(
  pool: Pool,
  endsAt: number,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const leftMs = () => endsAt - performance.now();
  const connection = await acquire(pool, leftMs());
  const statementMs = (wantedMs = STATEMENT_MS) => {
    const ms = Math.min(wantedMs, leftMs());
    if (ms <= 0) throw new StoreUnavailable("a transaction on MySQL did not end in time");
    return ms;
  };
  const session: Session = {
    select: async (sql, ms) => connection.select(sql, statementMs(ms)),
    write: async (sql, ms) => connection.write(sql, statementMs(ms)),
  };
  try {
    await session.write("BEGIN");
    const result = await work(session);
    const commitMs = statementMs();
    try {
      await connection.write("COMMIT", commitMs);
    } catch (error) {
      throw new CommitFailed("COMMIT", { cause: error });
    }
    connection.release();
    return result;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** A failure to get a connection has written nothing, whatever the statement is. */
async function acquire(pool: Pool, leftMs: number): Promise<Connection> {
  try {
    return await pool.acquire(Math.max(1, Math.min(ACQUIRE_MS, leftMs)));
  } catch (error) {
    throw error instanceof DriverFault ? translate(error, false) : error;
  }
}

/** Runs again, with jitter and bounded, what the server rolled back as a whole; turns every other driver error into ours. */
async function rerunning<T>(
  logger: Logger | null,
  endsAt: number,
  write: boolean,
  run: (leftMs: () => number) => Promise<T>,
): Promise<T> {
  const leftMs = () => endsAt - performance.now();
  for (let reruns = 0; ; reruns++) {
    try {
      return await run(leftMs);
    } catch (error) {
      const inCommit = error instanceof CommitFailed;
      const fault = inCommit ? error.cause : error;
      if (!(fault instanceof DriverFault)) throw fault;
      const pauseMs = Math.random() * RERUN_PAUSE_MS_MAX;
      // A write that our deadline cuts leaves open whether it was done, which its caller would do again as a whole.
      const leastMs = write && isLockWait(fault) ? LOCK_WAIT_SECONDS * 1_000 : 0;
      if (!isRetryAtOnce(fault) || reruns >= RERUNS_MAX || leftMs() <= pauseMs + leastMs) {
        throw translate(fault, inCommit ? "commit" : write && "alone");
      }
      logger?.warn("a transaction gave way to another and runs again", {
        code: fault.code,
        ...(fault.errno === null ? {} : { errno: fault.errno }),
        count: reruns + 1,
      });
      await new Promise((wake) => setTimeout(wake, pauseMs));
    }
  }
}

/** Whether the answer to a COMMIT was lost. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof OutcomeUnknown;
}
