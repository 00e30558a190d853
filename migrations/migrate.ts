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
import { readFault, translate } from "#adapters/mysql/errors.ts";
import { ConfigurationInvalid, StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";

export interface MigrateOptions {
  /** `mysql://user:password@host:port`, without a database. */
  readonly mysqlUrl: string;
  /** First part of every database's name; tests choose their own. */
  readonly databasePrefix?: string;
  readonly onProgress?: (line: string) => void;
}

const CONNECT_TIMEOUT_MS = 5_000;
const ROOM = import.meta.dirname;

/**
 * Creates the databases that are missing and applies what they lack, oldest first. Safe when several run at once.
 * Throws StoreUnavailable when the server does not answer, StoreRefused when it refuses the account or a statement.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const { mysqlUrl, databasePrefix = DATABASE_PREFIX, onProgress = () => {} } = options;
  if (!URL.canParse(mysqlUrl)) {
    throw new ConfigurationInvalid("MYSQL_URL has to look like mysql://user:password@host:3306");
  }
  try {
    await migrateDatabase(mysqlUrl, controlDatabase(databasePrefix), "control", onProgress);
    for (const shard of SHARD_NAMES) {
      await migrateDatabase(mysqlUrl, shardDatabase(shard, databasePrefix), "shard", onProgress);
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
  if (!(translated instanceof StoreUnavailable)) return translated;
  return new StoreUnavailable(
    `MySQL at ${new URL(mysqlUrl).host} does not answer (${fault.message}): start it, or set MYSQL_URL`,
    { cause: fault },
  );
}

async function migrateDatabase(
  mysqlUrl: string,
  database: string,
  set: "control" | "shard",
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
    const { error, results = [] } = await migrator.migrateToLatest();
    for (const { migrationName, status } of results) {
      if (status === "Success") onProgress(`${database}: applied ${migrationName}`);
    }
    if (error === undefined) return;
    const failed = results.find(({ status }) => status === "Error");
    const fault = readFault(error);
    if (failed === undefined || fault === null) throw error;
    if (!(translate(fault, false) instanceof StoreRefused)) throw error;
    const what = `${database}: ${failed.migrationName} was refused: ${fault.message}`;
    throw new StoreRefused(what, { cause: fault });
  } finally {
    await db.destroy();
  }
}

function open(mysqlUrl: string, database?: string): Kysely<unknown> {
  const pool = createPool({
    uri: mysqlUrl,
    ...(database === undefined ? {} : { database }),
    connectionLimit: 1,
    connectTimeout: CONNECT_TIMEOUT_MS,
    timezone: "Z",
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
