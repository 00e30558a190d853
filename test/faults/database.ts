/** A MySQL of the run's own, so that it may be killed: on a folder that goes with it, on a port that it keeps. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createPool, type RowDataPacket } from "mysql2/promise";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { assert } from "#core/domain/assert.ts";
import { pickPort } from "#local/hold-directory.ts";
import { type MysqlServer, startMysql } from "#local/mysql-server.ts";
import { migrate } from "#migrations/migrate.ts";

const PREFIX = "faults_";
/** A statement of the run's own is tried again for so long: it may meet the server while it is away. */
const RETRY_MS = 60_000;
const RETRY_EVERY_MS = 200;

export interface FaultDatabase extends AsyncDisposable {
  readonly mysqlUrl: string;
  readonly databasePrefix: string;
  readonly port: number;
  /** Runs a statement outside of what is tested; waits while the server is away. Use for what may be done twice. */
  run(sql: string): Promise<RowDataPacket[]>;
  /** SIGKILL. */
  kill(): void;
  /** Returns once it answers again. */
  restart(): Promise<void>;
}

export async function openFaultDatabase(
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<FaultDatabase> {
  const dir = mkdtempSync(join(tmpdir(), "faults-mysql-"));
  const port = await pickPort(0);
  const { MYSQL_URL: _, ...env } = process.env;
  const start = () => startMysql({ dir, port, env, onProgress: say, signal });
  let server: MysqlServer = await start();
  const pool = createPool({
    uri: server.url,
    database: shardDatabase("0", PREFIX),
    timezone: "Z",
    connectionLimit: 2,
    maxIdle: 0,
    idleTimeout: 5_000,
  });
  const end = async () => {
    await pool.end().catch(() => {});
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await migrate({ mysqlUrl: server.url, databasePrefix: PREFIX });
  } catch (error) {
    await end();
    throw error;
  }
  return {
    mysqlUrl: server.url,
    databasePrefix: PREFIX,
    port,
    async run(sql) {
      const endMs = performance.now() + RETRY_MS;
      for (;;) {
        try {
          return (await pool.query<RowDataPacket[]>(sql))[0];
        } catch (error) {
          const { errno = 0, sqlState } = error as { errno?: number; sqlState?: string };
          const refused = errno > 0 && sqlState !== undefined;
          if (refused || performance.now() > endMs) throw error;
          await sleep(RETRY_EVERY_MS, undefined, { signal });
        }
      }
    },
    kill() {
      assert(
        server.pid !== null,
        "only a server of our own can be killed: not MYSQL_URL, not Docker",
      );
      process.kill(server.pid, "SIGKILL");
    },
    async restart() {
      server = await start();
    },
    [Symbol.asyncDispose]: end,
  };
}
