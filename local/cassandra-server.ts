import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseContactPoints } from "#adapters/cassandra/client.ts";
import { waitUntilCassandraAnswers } from "./cassandra-answers.ts";
import { composeArgs, dockerAnswers } from "./docker-compose.ts";
import { runCommand } from "./run-command.ts";
import { SetupError } from "./setup-error.ts";

/** A node that answers. `pid` is null when it is not a process of ours (CASSANDRA_CONTACT_POINTS, Docker). */
export type CassandraServer = {
  /** `127.0.0.1:9042` */
  contactPoints: string;
  pid: number | null;
  kind: CassandraKind;
  /** Ends it; data is kept. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL; what was not yet on the disk is lost. */
  kill(): Promise<void>;
};
export type CassandraKind = "given" | "docker" | "native";
export type CassandraOptions = {
  /** Its data: `dir` itself, made when missing. */
  dir: string;
  port?: number;
  env?: NodeJS.ProcessEnv;
  /** `group`: an acknowledged write survives a kill (native only). Default `periodic`, as Cassandra comes: 0.1 s may be lost. */
  sync?: "periodic" | "group";
  onProgress?: (line: string) => void;
  /** Gives the start up: what it has started so far is left to `stopCassandra`. */
  signal?: AbortSignal;
};

export const CASSANDRA_PORT_DEFAULT = 9042;
const SCRIPT = join(import.meta.dirname, "native", "cassandra.sh");
const ANSWER_DEADLINE_MS = 60_000;
const FETCH_MS = 10 * 60_000;
const START_MS = 4 * 60_000;
const STOP_MS = 3 * 60_000;

/** Which Cassandra a start with this environment uses. */
export async function chooseCassandra(env: NodeJS.ProcessEnv): Promise<CassandraKind> {
  if (env.CASSANDRA_CONTACT_POINTS) return "given";
  return (await dockerAnswers(env)) ? "docker" : "native";
}

/**
 * Brings up Cassandra 5: the one that CASSANDRA_CONTACT_POINTS names (waits until it answers; stop() leaves it alone), else Docker
 * Compose where a Docker engine answers, else a native node on `dir`. Returns once it answers. Calling it again for a `dir` whose
 * node runs finds that one. `env` (default: the process's) is read for CASSANDRA_CONTACT_POINTS, CASSANDRA_HEAP, CASSANDRA_JIT,
 * LOCAL_CACHE. Throws SetupError with a line that says what to do.
 */
export async function startCassandra(opts: CassandraOptions): Promise<CassandraServer> {
  const env = opts.env ?? process.env;
  const kind = await chooseCassandra(env);
  switch (kind) {
    case "given": {
      const points = parseContactPoints(env.CASSANDRA_CONTACT_POINTS ?? "");
      await answers(points, opts);
      const leave = async () => {};
      return { contactPoints: points.join(","), pid: null, kind, stop: leave, kill: leave };
    }
    case "docker":
      return startInDocker(opts, env);
    case "native":
      return startNative(opts, env);
  }
}

/** Stops the node of `dir` that an earlier startCassandra left running, in Docker (`docker`) or natively. Data is kept. */
export async function stopCassandra(
  dir: string,
  kind: CassandraKind,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  if (kind !== "given") await end(dir, kind, env, "stop");
}

async function end(
  dir: string,
  kind: "docker" | "native",
  env: NodeJS.ProcessEnv,
  how: "stop" | "kill",
): Promise<void> {
  const compose = [...composeArgs(dir), ...(how === "stop" ? ["down"] : ["kill", "cassandra"])];
  const result =
    kind === "docker"
      ? await runCommand("docker", compose, { timeoutMs: STOP_MS, env })
      : await runCommand(SCRIPT, [how, resolve(dir)], { timeoutMs: STOP_MS, env });
  if (result.code !== 0)
    throw new SetupError(`Cassandra in ${dir} did not stop: ${lastLine(result.stderr)}`);
}

async function startInDocker(
  opts: CassandraOptions,
  env: NodeJS.ProcessEnv,
): Promise<CassandraServer> {
  const port = opts.port ?? CASSANDRA_PORT_DEFAULT;
  opts.onProgress?.("starting Cassandra in Docker");
  const args = [...composeArgs(opts.dir), "up", "--detach", "--wait", "cassandra"];
  const result = await runCommand("docker", args, {
    timeoutMs: FETCH_MS,
    env: { ...env, CASSANDRA_PORT: String(port) },
    onLine: opts.onProgress,
    signal: opts.signal,
  });
  if (result.code !== 0) {
    const taken = /port is already allocated|address already in use/i.test(result.stderr);
    throw new SetupError(
      taken
        ? `port ${port} is taken: choose another with CASSANDRA_PORT`
        : `Cassandra did not start in Docker: ${lastLine(result.stderr)}`,
    );
  }
  return server(`127.0.0.1:${port}`, null, "docker", opts, env);
}

async function startNative(
  opts: CassandraOptions,
  env: NodeJS.ProcessEnv,
): Promise<CassandraServer> {
  const cache = env.LOCAL_CACHE
    ? resolve(env.LOCAL_CACHE)
    : join(homedir(), ".cache", "at-and-cron");
  const base = join(cache, "cassandra-5.0.9");
  await script(["fetch", base], env, opts, FETCH_MS);
  const dir = resolve(opts.dir);
  const port = String(opts.port ?? CASSANDRA_PORT_DEFAULT);
  const startEnv = { ...env, CASSANDRA_SYNC: opts.sync ?? "periodic" };
  opts.onProgress?.("starting Cassandra");
  const ready = await script(["start", base, dir, port], startEnv, opts, START_MS);
  const match = /ready on (127\.0\.0\.1:\d+) pid (\d+)/.exec(ready);
  if (!match?.[1]) throw new SetupError(`Cassandra did not start in ${dir}: see ${dir}/log`);
  return server(match[1], Number(match[2]), "native", { ...opts, dir }, env);
}

async function server(
  contactPoints: string,
  pid: number | null,
  kind: "docker" | "native",
  opts: CassandraOptions,
  env: NodeJS.ProcessEnv,
): Promise<CassandraServer> {
  await answers([contactPoints], opts);
  return {
    contactPoints,
    pid,
    kind,
    stop: () => end(opts.dir, kind, env, "stop"),
    kill: () => end(opts.dir, kind, env, "kill"),
  };
}

async function script(
  args: string[],
  env: NodeJS.ProcessEnv,
  opts: CassandraOptions,
  timeoutMs: number,
): Promise<string> {
  const { onProgress, signal } = opts;
  // Why it failed is in the error: said once.
  const onLine = (line: string) => line.startsWith("cassandra.sh: ") || onProgress?.(line);
  const result = await runCommand(SCRIPT, args, { timeoutMs, env, onLine, signal });
  signal?.throwIfAborted();
  if (result.code === 0) return result.stdout;
  throw new SetupError(lastLine(result.stderr) || `${SCRIPT} ${args[0]} did not end in time`);
}

function answers(points: readonly string[], opts: CassandraOptions): Promise<void> {
  const progress = opts.onProgress ?? (() => {});
  return waitUntilCassandraAnswers(points, progress, ANSWER_DEADLINE_MS, opts.signal);
}

/** Our scripts say what to do in their last line. */
function lastLine(text: string): string {
  return (text.trimEnd().split("\n").at(-1) ?? "").replace(/^cassandra\.sh: /, "");
}
