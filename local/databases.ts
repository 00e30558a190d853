import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseContactPoints } from "#adapters/cassandra/client.ts";
import { chooseCassandra, startCassandra } from "./cassandra-server.ts";
import { chooseMysql, startMysql } from "./mysql-server.ts";
import { identify, isAlive } from "./process-identity.ts";
import type { Run } from "./run-file.ts";
import type { Settings } from "./settings.ts";

// The two databases of a run: brought up side by side, and a native one again when it has ended, though it is no child of ours.

const CHECK_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;

export type Databases = { mysqlUrl: string; contactPoints: string };
export type DatabasesDeps = {
  settings: Settings;
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
  stop: AbortSignal;
};
/** Where it is recorded what runs: before it is started, because a supervisor killed meanwhile would leave a server that nobody knows of. */
export type DatabasesRecord = {
  run(): Pick<Run, "mysql" | "cassandra">;
  setMysql(mysql: Run["mysql"]): void;
  setCassandra(cassandra: Run["cassandra"]): void;
};

/** Brings both up. When one cannot come up, or at `stop`, the other's start has ended too before this throws. */
export async function bringUpDatabases(
  deps: DatabasesDeps,
  record: DatabasesRecord,
): Promise<Databases> {
  const failed = new AbortController();
  const stop = AbortSignal.any([deps.stop, failed.signal]);
  const orStop = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      failed.abort();
      throw error;
    }
  };
  let first: unknown;
  const both = [bringUpMysql, bringUpCassandra].map((bringUp) =>
    orStop(bringUp({ ...deps, stop }, record)).catch((error: unknown) => {
      first ??= error;
      return "";
    }),
  );
  const [mysqlUrl = "", contactPoints = ""] = await Promise.all(both);
  deps.stop.throwIfAborted();
  if (first !== undefined) throw first;
  return { mysqlUrl, contactPoints };
}

async function bringUpMysql(deps: DatabasesDeps, record: DatabasesRecord): Promise<string> {
  const { settings, env, say, stop } = deps;
  const dir = join(settings.localDir, "mysql");
  const port = settings.mysqlPort;
  const kind = await chooseMysql(env);
  const url = env.MYSQL_URL || `mysql://root@127.0.0.1:${port}`;
  record.setMysql({ url, kind, dir, process: null });
  const server = await startMysql({ dir, port, env, onProgress: say, signal: stop });
  const identity = server.pid === null ? null : identify(server.pid, "mysqld");
  record.setMysql({ url: server.url, kind, dir, process: identity });
  return server.url;
}

async function bringUpCassandra(deps: DatabasesDeps, record: DatabasesRecord): Promise<string> {
  const { settings, env, say, stop } = deps;
  const dir = join(settings.localDir, "cassandra");
  const port = settings.cassandraPort;
  const kind = await chooseCassandra(env);
  const given = env.CASSANDRA_CONTACT_POINTS;
  const contactPoints = given ? parseContactPoints(given).join(",") : `127.0.0.1:${port}`;
  record.setCassandra({ contactPoints, kind, dir, process: null });
  const server = await startCassandra({ dir, port, env, onProgress: say, signal: stop });
  const identity = server.pid === null ? null : identify(server.pid, "jvm.options");
  record.setCassandra({ contactPoints: server.contactPoints, kind, dir, process: identity });
  return server.contactPoints;
}

/** Until `stop`. A native server that has ended is started again, for as long as it takes. */
export async function watchDatabases(deps: DatabasesDeps, record: DatabasesRecord): Promise<void> {
  await Promise.all([
    watch("MySQL", () => record.run().mysql, bringUpMysql, deps, record),
    watch("Cassandra", () => record.run().cassandra, bringUpCassandra, deps, record),
  ]);
}

async function watch(
  name: string,
  current: () => Run["mysql"] | Run["cassandra"],
  bringUp: typeof bringUpMysql,
  deps: DatabasesDeps,
  record: DatabasesRecord,
): Promise<void> {
  if (current()?.kind !== "native") return;
  let backoffMs = CHECK_MS;
  while (await wait(backoffMs, deps.stop)) {
    const identity = current()?.process;
    if (identity && isAlive(identity)) {
      backoffMs = CHECK_MS;
      continue;
    }
    deps.say(`${name} has ended: starting it again`);
    try {
      await bringUp(deps, record);
    } catch (error) {
      if (deps.stop.aborted) return;
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS);
      deps.say(
        `${name} did not start: ${(error as Error).message}; again in ${backoffMs / 1000} s`,
      );
    }
  }
}

/** False when it was ended by the signal. */
export function wait(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal }).catch(() => false);
}
