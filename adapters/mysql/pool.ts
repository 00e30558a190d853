/**
 * Connections to one database. mysql2's pool keeps them; this file adds what it lacks: a deadline on acquiring and on every
 * statement, settings checked on each new connection, and an end that does not wait for a server that is away.
 *
 * A connection whose statement ran into its deadline is not closed by the driver and may be inside a transaction: whoever gets
 * an error destroys it, and never releases it.
 */
import { createPool, type PoolConnection, type ResultSetHeader } from "mysql2";
import { assert } from "#core/domain/assert.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { DatabaseAccount } from "#core/ports/database-account.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { RotatingAccount } from "./account.ts";
import {
  ACQUIRE_MS,
  CLOSE_MS,
  CONNECT_MS,
  IDLE_MS,
  LOCK_WAIT_SECONDS,
  PACKET_BYTES_MIN,
  STATEMENT_MS,
  WAIT_TIMEOUT_SECONDS,
} from "./deadlines.ts";
import { DriverFault, isAccountRefused, toFault } from "./errors.ts";

export type Cell = string | number | Buffer | object | null;
export type Row = readonly Cell[];

/** Runs statements; the text protocol, and nothing prepared. */
export interface Session {
  /** Rows as arrays in the order of the SELECT. */
  select(sql: string, deadlineMs?: number): Promise<Row[]>;
  /** The rows that an INSERT, UPDATE or DELETE changed: a row that was already so does not count. */
  write(sql: string, deadlineMs?: number): Promise<number>;
}

export interface Connection extends Session {
  release(): void;
  destroy(): void;
}

export interface Pool {
  /** Throws StoreUnavailable when there is none within `deadlineMs`; the driver's own error when connecting fails. */
  acquire(deadlineMs?: number): Promise<Connection>;
  close(): Promise<void>;
}

export interface PoolOptions {
  readonly mysqlUrl: string;
  readonly database: string;
  /** Connections at most. */
  readonly size: number;
  readonly logger: Logger | null;
  /** Where the account is not in `mysqlUrl` but rotated elsewhere. */
  readonly account?: RotatingAccount | null;
  /** After which an unused connection is closed. */
  readonly idleMs?: number;
  /** Called when somebody has to wait for a connection, because all of them are in use. */
  readonly onWait?: (() => void) | undefined;
}

const WAITING_MAX = 1_000;
const IDLE_CHECK_MS = 1_000;

export function openPool(options: PoolOptions): Pool {
  const { mysqlUrl, database, size, logger, account = null, idleMs = IDLE_MS } = options;
  const pool = createPool({
    uri: mysqlUrl,
    database,
    connectionLimit: size,
    queueLimit: WAITING_MAX,
    connectTimeout: CONNECT_MS,
    timezone: "Z",
    dateStrings: true,
    charset: "utf8mb4_bin",
    // Statements come with their values written: the driver would else search each of them for placeholders.
    queryFormat: (sql: string) => sql,
    // With FOUND_ROWS an upsert that changes nothing would count as a row.
    flags: ["-FOUND_ROWS"],
  });
  if (options.onWait !== undefined) pool.on("enqueue", options.onWait);
  const live = new Set<PoolConnection>();
  pool.on("connection", (connection: PoolConnection) => {
    live.add(connection);
    connection.once("end", () => live.delete(connection));
    connection.once("error", () => live.delete(connection));
  });
  const idle = watchIdle(pool, idleMs);
  const checked = new WeakSet<PoolConnection>();
  const checkSettings = settingsChecker(logger);

  return {
    async acquire(deadlineMs = ACQUIRE_MS) {
      const endsAt = performance.now() + deadlineMs;
      const raw =
        account === null
          ? await acquireRaw(pool, idle, deadlineMs)
          : await acquireAs(pool, idle, account, deadlineMs);
      const connection = wrap(raw, () => live.delete(raw));
      if (checked.has(raw)) return connection;
      const checking = checkSettings(connection).then(() => void checked.add(raw));
      return readyInTime(connection, checking, endsAt - performance.now(), deadlineMs);
    },
    close: () =>
      new Promise((resolve) => {
        idle.stop();
        const timer = setTimeout(() => {
          for (const connection of live) connection.destroy();
          resolve();
        }, CLOSE_MS);
        pool.end(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}

interface IdleWatch {
  /** Whether a connection that was just handed out had not been used for so long that the server may have closed it. */
  isStale(connection: PoolConnection): boolean;
  stop(): void;
}

/**
 * Closes what nobody has used for `idleMs`. mysql2 would do so too, with a timer that keeps the process alive for as long as
 * the pool is open: a command that fails before it closes its pool would never end.
 *
 * A function that is frozen between two requests has no timers, and its monotonic clock may stand still: what it is handed when it goes
 * on is looked at once more, by both clocks, whichever is ahead.
 */
function watchIdle(pool: ReturnType<typeof createPool>, idleMs: number): IdleWatch {
  const idleSince = new Map<PoolConnection, { monotonicMs: number; wallMs: number }>();
  const stale = new WeakSet<PoolConnection>();
  const isOld = ({ monotonicMs, wallMs }: { monotonicMs: number; wallMs: number }) =>
    performance.now() - monotonicMs >= idleMs || Date.now() - wallMs >= idleMs;
  pool.on("release", (connection: PoolConnection) => {
    idleSince.set(connection, { monotonicMs: performance.now(), wallMs: Date.now() });
  });
  pool.on("acquire", (connection: PoolConnection) => {
    const since = idleSince.get(connection);
    if (since === undefined) return;
    idleSince.delete(connection);
    if (isOld(since)) stale.add(connection);
  });
  pool.on("connection", (connection: PoolConnection) => {
    connection.once("end", () => idleSince.delete(connection));
    connection.once("error", () => idleSince.delete(connection));
  });
  const timer = setInterval(
    () => {
      for (const [connection, since] of idleSince) {
        if (!isOld(since)) continue;
        idleSince.delete(connection);
        connection.destroy();
      }
    },
    Math.min(IDLE_CHECK_MS, idleMs),
  );
  timer.unref();
  return { isStale: (connection) => stale.has(connection), stop: () => clearInterval(timer) };
}

/** With the account as it is known; when the server refuses it, with the one that is fetched then. */
async function acquireAs(
  pool: ReturnType<typeof createPool>,
  idle: IdleWatch,
  account: RotatingAccount,
  deadlineMs: number,
): Promise<PoolConnection> {
  const endsAt = performance.now() + deadlineMs;
  const leftMs = () => Math.max(1, endsAt - performance.now());
  const used = await account.current(deadlineMs);
  useAccount(pool, used);
  try {
    return await acquireRaw(pool, idle, leftMs());
  } catch (error) {
    if (!(error instanceof DriverFault) || !isAccountRefused(error)) throw error;
  }
  useAccount(pool, await account.after(used, leftMs()));
  try {
    return await acquireRaw(pool, idle, leftMs());
  } catch (error) {
    if (!(error instanceof DriverFault) || !isAccountRefused(error)) throw error;
    // A rotation that is under way: the account follows.
    throw new StoreUnavailable(`MySQL refuses the account as it is kept now: ${error.message}`, {
      cause: error,
    });
  }
}

/** For connections to come: mysql2 copies its settings for each. */
function useAccount(
  pool: ReturnType<typeof createPool>,
  { user, password }: DatabaseAccount,
): void {
  const { connectionConfig } = (
    pool as unknown as { config: { connectionConfig?: { user?: string; password?: string } } }
  ).config;
  assert(connectionConfig !== undefined, "mysql2 keeps the settings of connections in its pool");
  connectionConfig.user = user;
  connectionConfig.password = password.reveal();
}

/** mysql2 lets a caller wait for ever. One that has given up hands the connection on when it comes after all. */
function acquireRaw(
  pool: ReturnType<typeof createPool>,
  idle: IdleWatch,
  deadlineMs: number,
): Promise<PoolConnection> {
  return new Promise((resolve, reject) => {
    let givenUp = false;
    const timer = setTimeout(() => {
      givenUp = true;
      reject(noneWithin(deadlineMs));
    }, deadlineMs);
    const take = () =>
      pool.getConnection((error, connection) => {
        if (error === null && idle.isStale(connection)) {
          connection.destroy();
          if (!givenUp) take();
          return;
        }
        if (givenUp) {
          if (error === null) connection.release();
          return;
        }
        clearTimeout(timer);
        if (error) reject(toFault(error));
        else resolve(connection);
      });
    take();
  });
}

/**
 * A new connection, once its settings are as they should be. Where that takes too long for this caller it goes on, and the next one
 * has the connection: a server that is slow, but below ACQUIRE_MS, would else never have one ready.
 */
function readyInTime(
  connection: Connection,
  checking: Promise<void>,
  leftMs: number,
  deadlineMs: number,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let givenUp = false;
    const timer = setTimeout(
      () => {
        givenUp = true;
        reject(noneWithin(deadlineMs));
      },
      Math.max(1, leftMs),
    );
    checking.then(
      () => {
        clearTimeout(timer);
        if (givenUp) connection.release();
        else resolve(connection);
      },
      (error) => {
        clearTimeout(timer);
        connection.destroy();
        reject(error);
      },
    );
  });
}

function noneWithin(deadlineMs: number): StoreUnavailable {
  return new StoreUnavailable(
    `no connection to MySQL was free, or could be opened, within ${Math.round(deadlineMs)} ms`,
  );
}

function wrap(raw: PoolConnection, forget: () => void): Connection {
  const run = <Result>(sql: string, deadlineMs: number) =>
    new Promise<Result>((resolve, reject) => {
      raw.query({ sql, timeout: Math.max(1, deadlineMs), rowsAsArray: true }, (error, result) => {
        if (error) reject(toFault(error));
        else resolve(result as Result);
      });
    });
  return {
    select: (sql, deadlineMs = STATEMENT_MS) => run<Row[]>(sql, deadlineMs),
    write: async (sql, deadlineMs = STATEMENT_MS) =>
      (await run<ResultSetHeader>(sql, deadlineMs)).affectedRows,
    release: () => raw.release(),
    destroy: () => {
      forget();
      raw.destroy();
    },
  };
}

/**
 * The server should be set up as local/native/mysql.sh does; where it is not, each connection sets itself up and the first one
 * warns. Escapes in our literals need backslashes, and a value that does not fit must be an error, never cut.
 */
function settingsChecker(logger: Logger | null): (session: Session) => Promise<void> {
  let warned = false;
  let warnedOfPackets = false;
  return async (session) => {
    // Meanwhile it has a place that another may need: one that says nothing gives it up sooner than a statement's deadline.
    const [row] = await session.select(
      "SELECT @@SESSION.transaction_isolation, @@SESSION.wait_timeout, @@SESSION.innodb_lock_wait_timeout, @@SESSION.sql_mode, @@SESSION.max_allowed_packet",
      ACQUIRE_MS,
    );
    const [isolation, waitSeconds, lockWaitSeconds, modes, packetBytes] = row ?? [];
    if (Number(packetBytes) < PACKET_BYTES_MIN && !warnedOfPackets) {
      warnedOfPackets = true;
      logger?.warn(
        "MySQL refuses larger statements than it should: bulk requests and groups of large bodies may fail; set max_allowed_packet to 16 MB or more",
        { count: Number(packetBytes) },
      );
    }
    const sqlModes = String(modes).split(",");
    const changes: string[] = [];
    if (isolation !== "READ-COMMITTED") changes.push("transaction_isolation = 'READ-COMMITTED'");
    if (Number(waitSeconds) > WAIT_TIMEOUT_SECONDS) {
      changes.push(`wait_timeout = ${WAIT_TIMEOUT_SECONDS}`);
    }
    if (Number(lockWaitSeconds) > LOCK_WAIT_SECONDS) {
      changes.push(`innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}`);
    }
    if (!sqlModes.includes("STRICT_TRANS_TABLES") || sqlModes.includes("NO_BACKSLASH_ESCAPES")) {
      changes.push("sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ENGINE_SUBSTITUTION'");
    }
    if (changes.length === 0) return;
    const set = changes.map((change) => `SESSION ${change}`).join(", ");
    await session.write(`SET ${set}`, ACQUIRE_MS);
    if (warned) return;
    warned = true;
    logger?.warn("MySQL is not set up as it should be: each connection sets it for itself", {
      message: changes.join(", "),
    });
  };
}
