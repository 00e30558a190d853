/** What a scenario runs on: MySQL with durable settings, databases of its own, a sink and workers as separate processes. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { controlDatabase, SHARD_NAMES, shardDatabase } from "#adapters/mysql/database-names.ts";
import { pickPort } from "#local/hold-directory.ts";
import { startMysql } from "#local/mysql-server.ts";
import { migrate } from "#migrations/migrate.ts";
import type { SinkCall, SinkTotals } from "#test/support/sink.ts";
import { type OwnProcess, startProcess } from "#test/support/worker-process.ts";
import type { ScenarioContext } from "./scenario.ts";

/** Room for everything that a scenario writes, so that the bench does not measure the checkpoints of a small log. */
const BUFFER_POOL = "1G";
const REDO_LOG = "1G";
const START_MS = 10_000;

export interface BenchDatabases extends AsyncDisposable {
  readonly mysqlUrl: string;
  readonly databasePrefix: string;
  /** Runs a statement on a connection of the bench's own. */
  run(sql: string): Promise<RowDataPacket[]>;
  /** The server's process, where it runs on this machine and lets its file be read. */
  pid(): Promise<number | null>;
}

/**
 * Starts MySQL in `.local/bench` (or uses MYSQL_URL), empties the scenario's databases and migrates them. On leaving, the server is
 * stopped if it was started here; the databases are kept until the scenario runs again.
 */
export async function openBenchDatabases(
  scenario: string,
  { say, signal }: ScenarioContext,
): Promise<BenchDatabases> {
  const dir = join(resolve(process.env.LOCAL_DIR || ".local"), "bench", "mysql");
  const env = { MYSQL_POOL: BUFFER_POOL, MYSQL_REDO: REDO_LOG, ...process.env };
  const server = await startMysql({ dir, port: await pickPort(0), env, onProgress: say, signal });
  try {
    const databasePrefix = `bench_${scenario}_`;
    const uri = server.url;
    const admin = await createConnection({ uri, timezone: "Z" });
    admin.on("error", () => {});
    const names = [controlDatabase, ...SHARD_NAMES.map((shard) => shardDatabase.bind(null, shard))];
    for (const name of names) await admin.query(`DROP DATABASE IF EXISTS ${name(databasePrefix)}`);
    await migrate({ mysqlUrl: uri, databasePrefix });
    await admin.query("SET SESSION wait_timeout = 3600");
    await admin.query(`USE ${shardDatabase("0", databasePrefix)}`);
    say(`MySQL at ${new URL(uri).host}, databases ${databasePrefix}*`);
    const run = async (sql: string) => (await admin.query<RowDataPacket[]>(sql))[0];
    return {
      mysqlUrl: uri,
      databasePrefix,
      run,
      pid: async () => server.pid ?? readPid((await run("SELECT @@pid_file AS file"))[0]?.file),
      async [Symbol.asyncDispose]() {
        admin.destroy();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function readPid(file: unknown): number | null {
  try {
    return Number.parseInt(readFileSync(String(file), "utf8"), 10) || null;
  } catch {
    return null;
  }
}

export interface SinkProcess extends AsyncDisposable {
  readonly url: string;
  totals(): Promise<SinkTotals>;
  /** All calls so far; asks only for those that are new since the last time. */
  calls(): Promise<readonly SinkCall[]>;
}

/** Starts the sink as a process of its own. */
export async function startSink(): Promise<SinkProcess> {
  const child: OwnProcess = startProcess("test/support/sink.ts", {});
  const url = (await child.line("sink on ", START_MS)).replace("sink on ", "");
  const ask = async (path: string) => {
    const response = await fetch(`${url}/_sink/${path}`, { signal: AbortSignal.timeout(START_MS) });
    return response.json();
  };
  const known: SinkCall[] = [];
  return {
    url,
    totals: async () => (await ask("totals")) as SinkTotals,
    async calls() {
      for (;;) {
        const fresh = (await ask(`calls?from=${known.length}`)) as SinkCall[];
        if (fresh.length === 0) return known;
        known.push(...fresh);
      }
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
