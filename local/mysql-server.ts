import {
  chooseServer,
  endServer,
  type ServerKind,
  type ServerOptions,
  startServer,
} from "./database-server.ts";
import { parseMysqlUrl, waitUntilMysqlAnswers } from "./mysql-answers.ts";

/** A server that answers. `pid` is null when it is not a process of ours (MYSQL_URL, Docker). */
export type MysqlServer = {
  url: string;
  pid: number | null;
  kind: ServerKind;
  stop(): Promise<void>;
};
export type MysqlOptions = ServerOptions & {
  /** Turns performance_schema on (native server only). */
  perf?: boolean;
};

export const MYSQL_PORT_DEFAULT = 3307;
const ANSWER_DEADLINE_MS = 60_000;
const MYSQL = {
  name: "MySQL",
  service: "mysql",
  folder: "mysql-8.0.31",
  portVariable: "MYSQL_PORT",
  portDefault: MYSQL_PORT_DEFAULT,
  log: "mysqld.log",
};

/** Which MySQL a start with this environment uses. */
export function chooseMysql(env: NodeJS.ProcessEnv): Promise<ServerKind> {
  return chooseServer(env.MYSQL_URL, env);
}

/**
 * Brings up MySQL 8.0: the one that MYSQL_URL names (waits until it answers; stop() leaves it alone), else Docker Compose
 * where a Docker engine answers, else a native server on `dir`. Returns once it answers. Calling it again for a `dir` whose
 * server runs finds that one. `env` (default: the process's) is read for MYSQL_URL, MYSQL_TZ, MYSQL_POOL, MYSQL_REDO,
 * LOCAL_CACHE. Throws SetupError with a line that says what to do.
 */
export async function startMysql(opts: MysqlOptions): Promise<MysqlServer> {
  const env = opts.env ?? process.env;
  const kind = await chooseMysql(env);
  if (kind === "given") {
    const url = parseMysqlUrl(env.MYSQL_URL ?? "");
    await answers(url, opts);
    return { url, pid: null, kind, stop: async () => {} };
  }
  const startEnv = opts.perf ? { ...env, MYSQL_PERF: "ON" } : env;
  const { port, pid } = await startServer(MYSQL, kind, opts, startEnv);
  const url = `mysql://root@127.0.0.1:${port}`;
  await answers(url, opts);
  return { url, pid, kind, stop: () => endServer(MYSQL, kind, opts.dir, env) };
}

/** Stops the server of `dir` that an earlier startMysql left running, in Docker (`docker`) or natively. Data is kept. */
export async function stopMysql(
  dir: string,
  kind: ServerKind,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  if (kind !== "given") await endServer(MYSQL, kind, dir, env);
}

function answers(url: string, opts: MysqlOptions): Promise<void> {
  return waitUntilMysqlAnswers(url, opts.onProgress ?? (() => {}), ANSWER_DEADLINE_MS, opts.signal);
}
