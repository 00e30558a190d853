/** A Cassandra of the run's own, started when the first fault asks for it: a keyspace for each fault. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHistory } from "#adapters/cassandra/history-store.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import { startCassandra } from "#local/cassandra-server.ts";
import { pickPort } from "#local/hold-directory.ts";
import { migrateCassandra } from "#migrations/migrate-cassandra.ts";

/** The machine is busy, and a JVM that was started a moment ago is slow. */
const REQUEST_MS = 10_000;

export interface FaultHistory extends AsyncDisposable {
  readonly store: HistoryStore;
  /** Tells a process of ours where it is. */
  readonly env: Readonly<Record<string, string>>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Returns once it answers again. */
  restart(): Promise<void>;
}

export interface CassandraOfRun extends AsyncDisposable {
  keyspace(): Promise<FaultHistory>;
}

export function cassandraOfRun(say: (line: string) => void, signal: AbortSignal): CassandraOfRun {
  const dir = mkdtempSync(join(tmpdir(), "faults-cassandra-"));
  const port = pickPort(0);
  const { CASSANDRA_CONTACT_POINTS: _, ...env } = process.env;
  // An acknowledged write survives a kill: what is lost then was lost by us.
  const start = async () =>
    startCassandra({ dir, port: await port, env, sync: "group", onProgress: say, signal });
  let started: ReturnType<typeof start> | null = null;
  return {
    async keyspace() {
      started ??= start();
      const { contactPoints } = await started;
      const keyspace = `faults_${randomBytes(4).toString("hex")}`;
      await migrateCassandra({ contactPoints, keyspace });
      const store = openHistory({ contactPoints, keyspace, requestTimeoutMs: REQUEST_MS });
      return {
        store,
        env: { CASSANDRA_CONTACT_POINTS: contactPoints, CASSANDRA_KEYSPACE: keyspace },
        kill: async () => (await started)?.kill(),
        restart: async () => {
          started = start();
          await started;
        },
        [Symbol.asyncDispose]: () => store.close(),
      };
    },
    async [Symbol.asyncDispose]() {
      await (await started?.catch(() => null))?.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
