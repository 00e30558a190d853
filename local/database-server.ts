/** The two ways in which a database server of ours comes up when none is given: in Docker, or out of a script of `native/`. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { composeArgs, dockerAnswers } from "./docker-compose.ts";
import { runCommand } from "./run-command.ts";
import { SetupError } from "./setup-error.ts";

/** `given`: somebody else's, which the environment names. */
export type ServerKind = "given" | "docker" | "native";

export type ServerSoftware = {
  /** For humans. */
  readonly name: string;
  /** In docker-compose.yml; its script is `native/${service}.sh`. */
  readonly service: string;
  /** Where the script puts it, below the cache. */
  readonly folder: string;
  readonly portVariable: string;
  readonly portDefault: number;
  /** Below its data: where it says why it did not start. */
  readonly log: string;
};

export type ServerOptions = {
  /** Its data: `dir` itself, made when missing. */
  dir: string;
  port?: number;
  env?: NodeJS.ProcessEnv;
  onProgress?: (line: string) => void;
  /** Gives the start up: what it has started so far is left to whoever stops the server of `dir`. */
  signal?: AbortSignal;
};

/** A server that was started. `pid` is null when it is not a process of ours. */
export type StartedServer = { readonly port: number; readonly pid: number | null };

const FETCH_MS = 10 * 60_000;
const START_MS = 4 * 60_000;
const STOP_MS = 3 * 60_000;

/** `given`: what the environment names; empty or undefined where it names none. */
export async function chooseServer(
  given: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<ServerKind> {
  if (given) return "given";
  return (await dockerAnswers(env)) ? "docker" : "native";
}

/** Starts it, or finds the one of `dir` that runs; `env` is its settings. Throws SetupError with a line that says what to do. */
export async function startServer(
  software: ServerSoftware,
  kind: "docker" | "native",
  opts: ServerOptions,
  env: NodeJS.ProcessEnv,
): Promise<StartedServer> {
  const port = opts.port ?? software.portDefault;
  return kind === "docker"
    ? startInDocker(software, { ...opts, port }, env)
    : startNative(software, { ...opts, port }, env);
}

/** Ends the server of `dir`: `stop` keeps its data, `kill` (SIGKILL) what was on the disk. */
export async function endServer(
  { name, service }: ServerSoftware,
  kind: "docker" | "native",
  dir: string,
  env: NodeJS.ProcessEnv,
  how: "stop" | "kill" = "stop",
): Promise<void> {
  const compose = [...composeArgs(dir), ...(how === "stop" ? ["down"] : ["kill", service])];
  const result =
    kind === "docker"
      ? await runCommand("docker", compose, { timeoutMs: STOP_MS, env })
      : await runCommand(scriptOf(service), [how, resolve(dir)], { timeoutMs: STOP_MS, env });
  if (result.code !== 0)
    throw new SetupError(`${name} in ${dir} did not stop: ${lastLine(service, result.stderr)}`);
}

async function startInDocker(
  { name, service, portVariable }: ServerSoftware,
  opts: ServerOptions & { port: number },
  env: NodeJS.ProcessEnv,
): Promise<StartedServer> {
  const { dir, port, onProgress, signal } = opts;
  onProgress?.(`starting ${name} in Docker`);
  const args = [...composeArgs(dir), "up", "--detach", "--wait", service];
  const result = await runCommand("docker", args, {
    timeoutMs: FETCH_MS,
    env: { ...env, [portVariable]: String(port) },
    onLine: onProgress,
    signal,
  });
  if (result.code === 0) return { port, pid: null };
  const taken = /port is already allocated|address already in use/i.test(result.stderr);
  throw new SetupError(
    taken
      ? `port ${port} is taken: choose another with ${portVariable}`
      : `${name} did not start in Docker: ${lastLine(service, result.stderr)}`,
  );
}

async function startNative(
  { name, service, folder, log }: ServerSoftware,
  opts: ServerOptions & { port: number },
  env: NodeJS.ProcessEnv,
): Promise<StartedServer> {
  const cache = env.LOCAL_CACHE
    ? resolve(env.LOCAL_CACHE)
    : join(homedir(), ".cache", "at-and-cron");
  const base = join(cache, folder);
  await runScript(service, ["fetch", base], env, opts, FETCH_MS);
  opts.onProgress?.(`starting ${name}`);
  const dir = resolve(opts.dir);
  const start = ["start", base, dir, String(opts.port)];
  const ready = await runScript(service, start, env, opts, START_MS);
  const match = /ready on 127\.0\.0\.1:(\d+) pid (\d+)/.exec(ready);
  if (!match) throw new SetupError(`${name} did not start in ${dir}: see ${join(dir, log)}`);
  return { port: Number(match[1]), pid: Number(match[2]) };
}

async function runScript(
  service: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  { onProgress, signal }: ServerOptions,
  timeoutMs: number,
): Promise<string> {
  // Why it failed is in the error: said once.
  const onLine = (line: string) => line.startsWith(`${service}.sh: `) || onProgress?.(line);
  const script = scriptOf(service);
  const result = await runCommand(script, args, { timeoutMs, env, onLine, signal });
  signal?.throwIfAborted();
  if (result.code === 0) return result.stdout;
  const last = lastLine(service, result.stderr);
  throw new SetupError(
    result.code === null
      ? `${script} ${args[0]} did not come to its end (it has ${timeoutMs / 1000} s): ${last}`
      : last,
  );
}

function scriptOf(service: string): string {
  return join(import.meta.dirname, "native", `${service}.sh`);
}

/** Our scripts say what to do in their last line. */
function lastLine(service: string, text: string): string {
  const line = text.trimEnd().split("\n").at(-1) ?? "";
  return line.startsWith(`${service}.sh: `) ? line.slice(`${service}.sh: `.length) : line;
}
