import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { composeArgs, dockerAnswers } from "./docker-compose.ts";
import { parseMysqlUrl, waitUntilMysqlAnswers } from "./mysql-answers.ts";
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
  /** Gives the start up: what it has started so far is left to `stopMysql`. */
  signal?: AbortSignal;
};

export const MYSQL_PORT_DEFAULT = 3307;
const ROOM = import.meta.dirname;
const SCRIPT = join(ROOM, "native", "mysql.sh");
const ANSWER_DEADLINE_MS = 60_000;
const FETCH_MS = 10 * 60_000;
const START_MS = 4 * 60_000;
const STOP_MS = 3 * 60_000;

/** Which MySQL a start with this environment uses. */
export async function chooseMysql(env: NodeJS.ProcessEnv): Promise<MysqlKind> {
  if (env.MYSQL_URL) return "given";
  return (await dockerAnswers(env)) ? "docker" : "native";
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
  switch (kind) {
    case "given": {
      const url = parseMysqlUrl(env.MYSQL_URL ?? "");
      await answers(url, opts);
      return { url, pid: null, kind, stop: async () => {} };
    }
    case "docker":
      return startInDocker(opts, env);
    case "native":
      return startNative(opts, env);
  }
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

async function startInDocker(opts: MysqlOptions, env: NodeJS.ProcessEnv): Promise<MysqlServer> {
  const port = opts.port ?? MYSQL_PORT_DEFAULT;
  opts.onProgress?.("starting MySQL in Docker");
  const args = [...composeArgs(opts.dir), "up", "--detach", "--wait", "mysql"];
  const result = await runCommand("docker", args, {
    timeoutMs: FETCH_MS,
    env: { ...env, MYSQL_PORT: String(port) },
    onLine: opts.onProgress,
    signal: opts.signal,
  });
  if (result.code !== 0) {
    const taken = /port is already allocated|address already in use/i.test(result.stderr);
    throw new SetupError(
      taken
        ? `port ${port} is taken: choose another with MYSQL_PORT`
        : `MySQL did not start in Docker: ${lastLine(result.stderr)}`,
    );
  }
  const url = `mysql://root@127.0.0.1:${port}`;
  await answers(url, opts);
  return { url, pid: null, kind: "docker", stop: () => stopMysql(opts.dir, "docker", env) };
}

async function startNative(opts: MysqlOptions, env: NodeJS.ProcessEnv): Promise<MysqlServer> {
  const cache = env.LOCAL_CACHE
    ? resolve(env.LOCAL_CACHE)
    : join(homedir(), ".cache", "at-and-cron");
  const base = join(cache, "mysql-8.0.31");
  await script(["fetch", base], env, opts, FETCH_MS);
  const dir = resolve(opts.dir);
  const port = String(opts.port ?? MYSQL_PORT_DEFAULT);
  const startEnv = opts.perf ? { ...env, MYSQL_PERF: "ON" } : env;
  const ready = await script(["start", base, dir, port], startEnv, opts, START_MS);
  const match = /ready on 127\.0\.0\.1:(\d+) pid (\d+)/.exec(ready);
  if (!match) throw new SetupError(`MySQL did not start in ${dir}: see ${dir}/mysqld.log`);
  const url = `mysql://root@127.0.0.1:${match[1]}`;
  await answers(url, opts);
  const stop = () => stopMysql(dir, "native", env);
  return { url, pid: Number(match[2]), kind: "native", stop };
}

async function script(
  args: string[],
  env: NodeJS.ProcessEnv,
  opts: MysqlOptions,
  timeoutMs: number,
): Promise<string> {
  const { onProgress, signal } = opts;
  // Why it failed is in the error: said once.
  const onLine = (line: string) => line.startsWith("mysql.sh: ") || onProgress?.(line);
  const result = await runCommand(SCRIPT, args, { timeoutMs, env, onLine, signal });
  signal?.throwIfAborted();
  if (result.code === 0) return result.stdout;
  throw new SetupError(lastLine(result.stderr) || `${SCRIPT} ${args[0]} did not end in time`);
}

function answers(url: string, opts: MysqlOptions): Promise<void> {
  return waitUntilMysqlAnswers(url, opts.onProgress ?? (() => {}), ANSWER_DEADLINE_MS, opts.signal);
}

/** Our scripts say what to do in their last line. */
function lastLine(text: string): string {
  return (text.trimEnd().split("\n").at(-1) ?? "").replace(/^mysql\.sh: /, "");
}
