/** Cassandra for test files: the node that CASSANDRA_CONTACT_POINTS names, else one of the file's own; a keyspace per file. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { CassandraSession } from "#adapters/cassandra/session.ts";
import { type CassandraServer, startCassandra } from "#local/cassandra-server.ts";
import { pickPort } from "#local/hold-directory.ts";
import { migrateCassandra } from "#migrations/migrate-cassandra.ts";

const REQUEST_MS = 30_000;

export interface TestKeyspace {
  readonly contactPoints: string;
  readonly keyspace: string;
  /** Tells a process of ours where it is. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs a statement on a connection of its own; `{ks}` stands for the keyspace. Returns its rows as objects. */
  run(query: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

export interface OwnCassandra extends CassandraServer {
  /** After a stop or a kill. */
  restart(): Promise<void>;
  pidNow(): number;
}

/** A node of the test's own, natively even where another is given, so that it may be killed. Ends with the file. */
export async function ownCassandra(sync: "periodic" | "group"): Promise<OwnCassandra> {
  const { server, end } = await startOwn(sync);
  after(end);
  return server;
}

/** Migrated, and dropped when the file has ended. */
export async function makeTestKeyspace(): Promise<TestKeyspace> {
  const given = process.env.CASSANDRA_CONTACT_POINTS || null;
  const own = given === null ? await startOwn("periodic") : null;
  const contactPoints = given ?? own?.server.contactPoints ?? "";
  const keyspace = `t_${randomBytes(6).toString("hex")}`;
  await migrateCassandra({ contactPoints, keyspace });
  const session = new CassandraSession({ contactPoints }, REQUEST_MS);
  const run = async (query: string, params: readonly unknown[] = []) => {
    const deadlineAt = performance.now() + REQUEST_MS;
    const text = query.replaceAll("{ks}", keyspace);
    const prepare = params.length > 0;
    const { rows } = await session.execute({ query: text, params, prepare, deadlineAt });
    return (rows ?? []).map((row) => ({ ...row }));
  };
  // One hook: they run in the order in which they were given, and the node has to end last.
  after(async () => {
    try {
      if (own === null) await run("DROP KEYSPACE {ks}");
    } finally {
      await session.close();
      await own?.end();
    }
  });
  const env = { CASSANDRA_CONTACT_POINTS: contactPoints, CASSANDRA_KEYSPACE: keyspace };
  return { contactPoints, keyspace, env, run };
}

async function startOwn(
  sync: "periodic" | "group",
): Promise<{ readonly server: OwnCassandra; readonly end: () => Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), "cass-test-"));
  const port = await pickPort(0);
  const { CASSANDRA_CONTACT_POINTS: _, ...env } = process.env;
  const start = () => startCassandra({ dir, port, env, sync });
  let server = await start();
  const end = async () => {
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  const restart = async () => {
    server = await start();
  };
  const pidNow = () => {
    assert(server.pid !== null, "a native node has a pid");
    return server.pid;
  };
  return { server: { ...server, restart, pidNow }, end };
}
