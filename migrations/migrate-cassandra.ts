/**
 * Brings Cassandra's keyspace to the newest schema: numbered .cql files, each applied once and recorded in schema_migrations. A run
 * claims a file with a lightweight transaction before it applies it, so runs may overlap: the others wait until it is applied, and
 * take it over when its run has died. DDL is asynchronous in Keyspaces: a statement counts when its table is there to be used.
 */
import { randomUUID } from "node:crypto";
import type { types } from "cassandra-driver";
import type { CassandraConnection } from "#adapters/cassandra/client.ts";
import { CassandraSession } from "#adapters/cassandra/session.ts";
import { ConfigurationInvalid, StoreUnavailable } from "#core/domain/errors.ts";
import {
  type CassandraService,
  type CqlMigration,
  qualify,
  readCqlMigrations,
  tableOf,
} from "./cql-files.ts";

export interface MigrateCassandraOptions extends CassandraConnection {
  readonly keyspace?: string;
  /** Default: Apache Cassandra. */
  readonly service?: CassandraService;
  readonly onProgress?: (line: string) => void;
}

export const KEYSPACE = "scheduler";
const ONE_NODE = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
/** DDL in Keyspaces takes up to a minute. */
const STATEMENT_MS = 60_000;
const TOTAL_MS = 5 * 60_000;
/** A run that has held a file for so long is dead. */
const CLAIM_STALE_MS = 2 * STATEMENT_MS;
const POLL_MS = 200;

interface Run {
  readonly session: CassandraSession;
  readonly keyspace: string;
  readonly service: CassandraService;
  readonly owner: string;
  readonly endsAt: number;
}

/**
 * Creates the keyspace when it is missing and applies what it lacks, oldest first. Safe to repeat and when several run at once.
 * Throws StoreUnavailable when Cassandra does not answer, StoreRefused when it refuses a statement.
 */
export async function migrateCassandra(options: MigrateCassandraOptions): Promise<void> {
  const { keyspace = KEYSPACE, service = "cassandra", onProgress = () => {} } = options;
  if (!/^[a-z][a-z0-9_]{0,47}$/.test(keyspace)) {
    throw new ConfigurationInvalid("a keyspace has lower-case letters, digits and _ only");
  }
  const session = new CassandraSession(options, STATEMENT_MS);
  const endsAt = performance.now() + TOTAL_MS;
  const run: Run = { session, keyspace, service, owner: randomUUID(), endsAt };
  try {
    // In AWS the keyspace is a resource of the data stack.
    if (service === "cassandra") {
      const query = `CREATE KEYSPACE IF NOT EXISTS ${keyspace} WITH replication = ${ONE_NODE}`;
      await define(run, query);
    }
    await createTable(
      run,
      "CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, state text, owner text, at timestamp)",
    );
    for (const migration of await readCqlMigrations(service)) {
      if (await applyOnce(run, migration)) onProgress(`${keyspace}: applied ${migration.name}`);
    }
  } finally {
    await session.close();
  }
}

/** False when the file had been applied, here or by a run that we waited for. */
async function applyOnce(run: Run, { name, statements }: CqlMigration): Promise<boolean> {
  while (!(await claim(run, name))) {
    if ((await stateOf(run, name)) === "applied") return false;
    await pause(run);
  }
  const record = `${run.keyspace}.schema_migrations`;
  try {
    for (const statement of statements) await createTable(run, statement);
  } catch (error) {
    // So that the next run need not wait until our claim is stale; when this fails too, it does.
    await execute(run, `DELETE FROM ${record} WHERE name = ? IF owner = ?`, [
      name,
      run.owner,
    ]).catch(() => {});
    throw error;
  }
  const params = ["applied", new Date(), name, run.owner];
  await execute(run, `UPDATE ${record} SET state = ?, at = ? WHERE name = ? IF owner = ?`, params);
  return true;
}

/** True: the file is ours to apply. */
async function claim(run: Run, name: string): Promise<boolean> {
  const record = `${run.keyspace}.schema_migrations`;
  const inserted = await execute(
    run,
    `INSERT INTO ${record} (name, state, owner, at) VALUES (?, ?, ?, ?) IF NOT EXISTS`,
    [name, "running", run.owner, new Date()],
  );
  if (inserted.wasApplied()) return true;
  const row = inserted.first();
  // Our own earlier try, whose answer was lost.
  if (row?.get("owner") === run.owner) return true;
  const at = row?.get("at") as Date | undefined;
  const stale = at !== undefined && Date.now() - at.getTime() > CLAIM_STALE_MS;
  if (row?.get("state") !== "running" || !stale) return false;
  const taken = await execute(
    run,
    `UPDATE ${record} SET owner = ?, at = ? WHERE name = ? IF owner = ? AND at = ?`,
    [run.owner, new Date(), name, row.get("owner"), at],
  );
  return taken.wasApplied();
}

async function stateOf(run: Run, name: string): Promise<string | null> {
  const record = `${run.keyspace}.schema_migrations`;
  const found = await execute(run, `SELECT state FROM ${record} WHERE name = ?`, [name]);
  return (found.first()?.get("state") as string | undefined) ?? null;
}

/** Runs the DDL of one table and waits until the table can be used. */
async function createTable(run: Run, statement: string): Promise<void> {
  await define(run, qualify(statement, run.keyspace));
  while (!(await isUsable(run, tableOf(statement) ?? ""))) await pause(run);
}

async function isUsable(run: Run, table: string): Promise<boolean> {
  const [schema, column] =
    run.service === "keyspaces" ? ["system_schema_mcs", "status"] : ["system_schema", "table_name"];
  const found = await execute(
    run,
    `SELECT ${column} FROM ${schema}.tables WHERE keyspace_name = ? AND table_name = ?`,
    [run.keyspace, table],
  );
  const row = found.first();
  if (row === null) return false;
  return run.service === "cassandra" || row.get("status") === "ACTIVE";
}

function define(run: Run, query: string): Promise<types.ResultSet> {
  return run.session.execute({ query, params: [], prepare: false, deadlineAt: deadlineOf(run) });
}

function execute(run: Run, query: string, params: unknown[]): Promise<types.ResultSet> {
  return run.session.execute({ query, params, deadlineAt: deadlineOf(run) });
}

function deadlineOf(run: Run): number {
  return Math.min(run.endsAt, performance.now() + STATEMENT_MS);
}

async function pause(run: Run): Promise<void> {
  if (performance.now() > run.endsAt) {
    throw new StoreUnavailable("Cassandra's schema is not there yet: run the migrations again");
  }
  await new Promise((wake) => setTimeout(wake, POLL_MS));
}
