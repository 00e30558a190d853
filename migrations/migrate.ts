/**
 * Brings the control database and every shard to the newest schema. Kysely's Migrator keeps the list of what was applied and
 * holds a lock of the server while it works, so runs may overlap; the SQL files are read by a provider of ours.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Kysely, MysqlDialect, sql } from "kysely";
import { type Migration, type MigrationProvider, Migrator } from "kysely/migration";
import { createPool } from "mysql2";
import {
  controlDatabase,
  DATABASE_PREFIX,
  SHARD_NAMES,
  shardDatabase,
} from "#adapters/mysql/database-names.ts";
import { type DriverFault, isLockWait, readFault, translate } from "#adapters/mysql/errors.ts";
import { ConfigurationInvalid, StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";

export interface MigrateOptions {
  /** `mysql://user:password@host:port`, without a database. */
  readonly mysqlUrl: string;
  /** First part of every database's name; tests choose their own. */
  readonly databasePrefix?: string;
  readonly onProgress?: (line: string) => void;
  /** Called at each try that met a table in use, with whose transaction that may be. */
  readonly onWait?: (line: string) => void;
  /** How long a table that is in use is waited for, and how often it is tried; default BLOCKED. */
  readonly blocked?: Blocked;
}

interface Blocked {
  readonly everyMs: number;
  readonly forMs: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
/**
 * While a change of a table waits for those who use it (a long read is enough), all other statements on the table wait behind it: the
 * system stands still. So it waits no longer than this, gives way, and is tried again. A server whose client is gone gives up then too.
 */
const LOCK_WAIT_SECONDS = 1;
/** In all shorter than the 600 s that the function of a deploy has. */
const BLOCKED: Blocked = { everyMs: 10_000, forMs: 480_000 };
/** A change of a large table says nothing for minutes: sooner than networks between (NAT, 350 s) forget a connection that is silent. */
const KEEP_ALIVE_MS = 60_000;
const ROOM = import.meta.dirname;

/**
 * Creates the databases that are missing and applies what they lack, oldest first. Safe when several run at once.
 * Throws StoreUnavailable when the server does not answer or cannot do it now, StoreRefused when it refuses the account or a statement.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const { mysqlUrl, databasePrefix = DATABASE_PREFIX, onProgress = () => {} } = options;
  const { everyMs, forMs } = options.blocked ?? BLOCKED;
  const { onWait = () => {} } = options;
  const patience = { everyMs, endsAt: performance.now() + forMs, onWait };
  if (!URL.canParse(mysqlUrl)) {
    throw new ConfigurationInvalid("MYSQL_URL has to look like mysql://user:password@host:3306");
  }
  try {
    await migrateDatabase(
      mysqlUrl,
      controlDatabase(databasePrefix),
      "control",
      patience,
      onProgress,
    );
    for (const shard of SHARD_NAMES) {
      await migrateDatabase(
        mysqlUrl,
        shardDatabase(shard, databasePrefix),
        "shard",
        patience,
        onProgress,
      );
    }
  } catch (error) {
    throw describeFailure(error, mysqlUrl);
  }
}

/** One line that says what to do; a driver's error never leaves as it is. */
function describeFailure(error: unknown, mysqlUrl: string): unknown {
  const fault = readFault(error);
  if (fault === null) return error;
  const translated = translate(fault, false);
  // What the server itself has said is told as it is.
  if (!(translated instanceof StoreUnavailable) || fault.errno !== null) return translated;
  return new StoreUnavailable(
    `MySQL at ${new URL(mysqlUrl).host} does not answer (${fault.message}): start it, or set MYSQL_URL`,
    { cause: fault },
  );
}

async function migrateDatabase(
  mysqlUrl: string,
  database: string,
  set: "control" | "shard",
  patience: Patience,
  onProgress: (line: string) => void,
): Promise<void> {
  const server = open(mysqlUrl);
  try {
    await sql`CREATE DATABASE IF NOT EXISTS ${sql.id(database)} CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin`.execute(
      server,
    );
  } finally {
    await server.destroy();
  }
  const db = open(mysqlUrl, database);
  try {
    const provider = new SqlFiles(join(ROOM, set), () => listApplied(mysqlUrl, database));
    const migrator = new Migrator({ db, provider });
    for (;;) {
      const { error, results = [] } = await migrator.migrateToLatest();
      for (const { migrationName, status } of results) {
        if (status === "Success") onProgress(`${database}: applied ${migrationName}`);
      }
      if (error === undefined) return;
      const failed = results.find(({ status }) => status === "Error");
      const fault = readFault(error);
      if (failed === undefined || fault === null) throw error;
      const file = `${database}: ${failed.migrationName}`;
      if (isLockWait(fault)) await waitForOthers(db, file, fault, patience);
      else if (translate(fault, false) instanceof StoreRefused)
        throw new StoreRefused(`${file} was refused: ${fault.message}`, { cause: fault });
      else if (fault.errno !== null)
        throw new StoreUnavailable(`${file} was not applied: ${fault.message}`, { cause: fault });
      else throw error;
    }
  } finally {
    await db.destroy();
  }
}

interface Patience {
  readonly everyMs: number;
  /** On the monotonic clock: throws at the first wait after that. */
  readonly endsAt: number;
  readonly onWait: (line: string) => void;
}

/** Until the next try of a file that met a table in use. */
async function waitForOthers(
  db: Kysely<unknown>,
  file: string,
  fault: DriverFault,
  { everyMs, endsAt, onWait }: Patience,
): Promise<void> {
  const oldest = await describeOldest(db);
  if (performance.now() + everyMs > endsAt) {
    const what = `${file} was not applied: its table was in use at every try; ${oldest}`;
    throw new StoreUnavailable(what, { cause: fault });
  }
  onWait(`${file} waits, as its table is in use; ${oldest}`);
  await new Promise((wake) => setTimeout(wake, everyMs));
}

/** The oldest transaction; of those that use a table of ours, where the server's performance schema is on and tells. */
async function describeOldest(db: Kysely<unknown>): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    SELECT trx_mysql_thread_id AS id FROM information_schema.innodb_trx
    LEFT JOIN (
      SELECT DISTINCT processlist_id FROM performance_schema.metadata_locks JOIN performance_schema.threads ON thread_id = owner_thread_id
      WHERE object_type = 'TABLE' AND object_schema = DATABASE() AND lock_status = 'GRANTED'
    ) AS users ON processlist_id = trx_mysql_thread_id
    WHERE trx_mysql_thread_id <> CONNECTION_ID() ORDER BY processlist_id IS NULL, trx_started LIMIT 1`
    .execute(db)
    .catch(() => ({ rows: [] }));
  const [oldest] = rows;
  if (oldest === undefined) return "SHOW PROCESSLIST may tell by whom";
  return `the oldest transaction is that of connection ${oldest.id}: let it end, or KILL ${oldest.id}`;
}

function open(mysqlUrl: string, database?: string): Kysely<unknown> {
  const pool = createPool({
    uri: mysqlUrl,
    ...(database === undefined ? {} : { database }),
    connectionLimit: 1,
    connectTimeout: CONNECT_TIMEOUT_MS,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    timezone: "Z",
  });
  // The database itself is made without it: nobody waits behind that.
  if (database !== undefined)
    pool.on("connection", (connection) => {
      connection.query(`SET SESSION lock_wait_timeout = ${LOCK_WAIT_SECONDS}`, () => {});
    });
  return new Kysely<unknown>({ dialect: new MysqlDialect({ pool }) });
}

/** Of Kysely's own list, which is there by then; by a connection of its own, as the migrator holds the other one. */
async function listApplied(mysqlUrl: string, database: string): Promise<string[]> {
  const db = open(mysqlUrl, database);
  try {
    const { rows } = await sql<{ name: string }>`SELECT name FROM kysely_migration`.execute(db);
    return rows.map(({ name }) => name);
  } finally {
    await db.destroy();
  }
}

/**
 * The migrations of one folder, by name: `0001_create_tasks` and so on. Those that were applied after our last one are a newer
 * release's, to which this one comes back (a rollback): migrations only expand, so they are left alone. Kysely would refuse them.
 */
class SqlFiles implements MigrationProvider {
  readonly #folder: string;
  readonly #listApplied: () => Promise<string[]>;

  constructor(folder: string, applied: () => Promise<string[]>) {
    this.#folder = folder;
    this.#listApplied = applied;
  }

  async getMigrations(): Promise<Record<string, Migration>> {
    const migrations: Record<string, Migration> = {};
    for (const file of (await readdir(this.#folder)).sort()) {
      if (!/^\d{4}_[a-z0-9_]+\.sql$/.test(file)) {
        throw new ConfigurationInvalid(`${file} is not named NNNN_verb_object.sql`);
      }
      const text = await readFile(join(this.#folder, file), "utf8");
      migrations[file.slice(0, -".sql".length)] = {
        async up(db) {
          for (const statement of splitStatements(text)) await sql.raw(statement).execute(db);
        },
      };
    }
    const newest = Object.keys(migrations).at(-1) ?? "";
    for (const name of await this.#listApplied())
      if (name > newest) migrations[name] = { up: () => Promise.resolve() };
    return migrations;
  }
}

/** A statement ends with `;` at the end of a line. */
function splitStatements(text: string): string[] {
  return text
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}
