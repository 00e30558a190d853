import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { createConnection } from "mysql2/promise";
import { runCommand } from "./run-command.ts";
import { SetupError } from "./setup-error.ts";

/** A server that answers. `pid` is null when it is not a process of ours (MYSQL_URL, Docker). */
export type MysqlServer = {
  url: string;
  pid: number | null;
  kind: MysqlKind;
  stop(): Promise<void>;
};
export type MysqlKind = "given" | "docker" | "native";
export type MysqlOptions = {
  /** Its data: `dir` itself, made when missing. */
  dir: string;
  port?: number;
  env?: NodeJS.ProcessEnv;
  /** Turns performance_schema on (native server only). */
  perf?: boolean;
  onProgress?: (line: string) => void;
};

export const MYSQL_PORT_DEFAULT = 3307;
const ROOM = import.meta.dirname;
const SCRIPT = join(ROOM, "native", "mysql.sh");
const COMPOSE_FILE = resolve(ROOM, "..", "docker-compose.yml");
const ANSWER_DEADLINE_MS = 60_000;
const CONNECT_TIMEOUT_MS = 2_000;
const DOCKER_INFO_MS = 5_000;
const FETCH_MS = 10 * 60_000;
const START_MS = 4 * 60_000;
const STOP_MS = 3 * 60_000;

/**
 * Brings up MySQL 8.0: the one that MYSQL_URL names (waits until it answers; stop() leaves it alone), else Docker Compose
 * where a Docker engine answers, else a native server on `dir`. Returns once it answers. Calling it again for a `dir` whose
 * server runs finds that one. `env` (default: the process's) is read for MYSQL_URL, MYSQL_TZ, MYSQL_POOL, MYSQL_REDO,
 * LOCAL_CACHE. Throws SetupError with a line that says what to do.
 */
export async function startMysql(opts: MysqlOptions): Promise<MysqlServer> {
  const env = opts.env ?? process.env;
  const progress = opts.onProgress ?? (() => {});
  const given = env.MYSQL_URL;
  if (given) {
    await waitUntilMysqlAnswers(parseMysqlUrl(given), progress, ANSWER_DEADLINE_MS);
    return { url: given, pid: null, kind: "given", stop: async () => {} };
  }
  const port = opts.port ?? MYSQL_PORT_DEFAULT;
  if (await dockerAnswers(env)) return startInDocker(opts.dir, port, env, progress);
  return startNative(opts, port, env, progress);
}

/** Stops the server of `dir` that an earlier startMysql left running, in Docker (`docker`) or natively. Data is kept. */
export async function stopMysql(
  dir: string,
  kind: MysqlKind,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  if (kind === "given") return;
  const result =
    kind === "docker"
      ? await runCommand("docker", [...composeArgs(dir), "down"], { timeoutMs: STOP_MS, env })
      : await runCommand(SCRIPT, ["stop", resolve(dir)], { timeoutMs: STOP_MS, env });
  if (result.code !== 0)
    throw new SetupError(`MySQL in ${dir} did not stop: ${lastLine(result.stderr)}`);
}

/** Checks the form of MYSQL_URL: `mysql://user:password@host:port`, without a database. Never repeats it: it holds a password. */
export function parseMysqlUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const wellFormed =
    url?.protocol === "mysql:" &&
    url.hostname !== "" &&
    (url.pathname === "" || url.pathname === "/");
  if (!wellFormed) {
    throw new SetupError(
      "MYSQL_URL has to look like mysql://user:password@host:3306, without a database name",
    );
  }
  return text;
}

/** Tries until the server answers a query. Throws SetupError at once when it refuses the account, else after `deadlineMs`. */
async function waitUntilMysqlAnswers(
  url: string,
  progress: (line: string) => void,
  deadlineMs: number,
): Promise<void> {
  const { host } = new URL(url);
  const endsAt = performance.now() + deadlineMs;
  let nextWordAt = performance.now() + 2_000;
  for (;;) {
    try {
      const connection = await createConnection({ uri: url, connectTimeout: CONNECT_TIMEOUT_MS });
      try {
        await connection.query({ sql: "SELECT 1", timeout: CONNECT_TIMEOUT_MS });
        return;
      } finally {
        connection.destroy();
      }
    } catch (error) {
      const code = (error as { code?: string }).code ?? "no answer";
      if (code === "ER_ACCESS_DENIED_ERROR" || code === "ER_HOST_NOT_PRIVILEGED") {
        throw new SetupError(`MySQL at ${host} refuses the account in MYSQL_URL (${code})`, {
          cause: error,
        });
      }
      if (performance.now() > endsAt) {
        throw new SetupError(
          `MySQL at ${host} did not answer within ${deadlineMs / 1000} s (${code}): start it, or unset MYSQL_URL`,
          { cause: error },
        );
      }
      if (performance.now() > nextWordAt) {
        progress(`waiting for MySQL at ${host} (${code})`);
        nextWordAt += 5_000;
      }
      await new Promise((wake) => setTimeout(wake, 200));
    }
  }
}

async function dockerAnswers(env: NodeJS.ProcessEnv): Promise<boolean> {
  const result = await runCommand("docker", ["info", "--format", "{{.ServerVersion}}"], {
    timeoutMs: DOCKER_INFO_MS,
    env,
  });
  // Some clients exit 0 without an engine: the version is what tells.
  if (result.code !== 0 || !/^\d/.test(result.stdout)) return false;
  return (
    (await runCommand("docker", ["compose", "version"], { timeoutMs: DOCKER_INFO_MS, env }))
      .code === 0
  );
}

/** One Compose project per data folder, so that two copies run side by side. */
function composeArgs(dir: string): string[] {
  const project = `at-and-cron-${createHash("sha256").update(resolve(dir)).digest("hex").slice(0, 8)}`;
  return ["compose", "--project-name", project, "--file", COMPOSE_FILE];
}

async function startInDocker(
  dir: string,
  port: number,
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
): Promise<MysqlServer> {
  onLine("starting MySQL in Docker");
  const result = await runCommand(
    "docker",
    [...composeArgs(dir), "up", "--detach", "--wait", "mysql"],
    {
      timeoutMs: FETCH_MS,
      env: { ...env, MYSQL_PORT: String(port) },
      onLine,
    },
  );
  if (result.code !== 0) {
    const taken = /port is already allocated|address already in use/i.test(result.stderr);
    throw new SetupError(
      taken
        ? `port ${port} is taken: choose another with MYSQL_PORT`
        : `MySQL did not start in Docker: ${lastLine(result.stderr)}`,
    );
  }
  const url = `mysql://root@127.0.0.1:${port}`;
  await waitUntilMysqlAnswers(url, onLine, ANSWER_DEADLINE_MS);
  return { url, pid: null, kind: "docker", stop: () => stopMysql(dir, "docker", env) };
}

async function startNative(
  opts: MysqlOptions,
  port: number,
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
): Promise<MysqlServer> {
  const base = join(
    env.LOCAL_CACHE ? resolve(env.LOCAL_CACHE) : join(homedir(), ".cache", "at-and-cron"),
    "mysql-8.0.31",
  );
  await script(["fetch", base], env, onLine, FETCH_MS);
  const dir = resolve(opts.dir);
  const childEnv = opts.perf ? { ...env, MYSQL_PERF: "ON" } : env;
  const ready = await script(["start", base, dir, String(port)], childEnv, onLine, START_MS);
  const match = /ready on 127\.0\.0\.1:(\d+) pid (\d+)/.exec(ready);
  if (!match) throw new SetupError(`MySQL did not start in ${dir}: see ${dir}/mysqld.log`);
  const url = `mysql://root@127.0.0.1:${match[1]}`;
  await waitUntilMysqlAnswers(url, onLine, ANSWER_DEADLINE_MS);
  return { url, pid: Number(match[2]), kind: "native", stop: () => stopMysql(dir, "native", env) };
}

async function script(
  args: string[],
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
  timeoutMs: number,
): Promise<string> {
  const result = await runCommand(SCRIPT, args, { timeoutMs, env, onLine });
  if (result.code === 0) return result.stdout;
  throw new SetupError(lastLine(result.stderr) || `${SCRIPT} ${args[0]} did not end in time`);
}

/** Our scripts say what to do in their last line. */
function lastLine(text: string): string {
  return (text.trimEnd().split("\n").at(-1) ?? "").replace(/^mysql\.sh: /, "");
}
