import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { composeArgs } from "../docker-compose.ts";
import { runCommand } from "../run-command.ts";
import { SetupError } from "../setup-error.ts";

/** LocalStack itself: a process of Python, or a container where a Docker engine answers. Neither keeps anything when it ends. */

const PYTHON_ROOM = join(import.meta.dirname, "python");
const HEALTHY_MS = 90_000;
const ANSWER_MS = 2_000;
const POLL_MS = 200;
const PULL_MS = 10 * 60_000;
const DOWN_MS = 40_000;
/** In the middle of a deployment it does not end by itself; it keeps nothing, so nothing is lost. */
const KILL_AFTER_MS = 5_000;
/** What the stacks are made of, and what the CDK's bootstrap asks for. */
const SERVICES =
  "apigateway,cloudformation,cloudwatch,ecr,events,iam,kms,lambda,logs,s3,sqs,ssm,sts";

export interface LocalstackOptions {
  readonly port: number;
  /** For its files; made when missing. */
  readonly dir: string;
  /** A Python that has LocalStack; null: in Docker. */
  readonly python: string | null;
  readonly env: NodeJS.ProcessEnv;
  /** Gives the start up: what it has started so far is ended, and it throws. */
  readonly signal: AbortSignal;
}

export interface LocalstackServer {
  readonly endpoint: string;
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Returns once it answers. What it writes goes to our own stdout and stderr. Throws SetupError. */
export async function startLocalstack(options: LocalstackOptions): Promise<LocalstackServer> {
  const dir = resolve(options.dir);
  mkdirSync(join(dir, "tmp"), { recursive: true });
  return options.python === null
    ? startInDocker({ ...options, dir })
    : startHere(options.python, { ...options, dir });
}

/** Of LocalStack and its executor, in a process and in a container alike. */
function settingsOf({ port, dir }: LocalstackOptions): Record<string, string> {
  return {
    GATEWAY_LISTEN: `127.0.0.1:${port}`,
    LAMBDA_RUNTIME_EXECUTOR: "node",
    LAMBDA_NODE: process.execPath,
    PYTHONPATH: PYTHON_ROOM,
    PYTHONPYCACHEPREFIX: join(dir, "pycache"),
    SERVICES,
    // Nothing is sent, asked or fetched: it runs without a network.
    DISABLE_EVENTS: "1",
    SKIP_SSL_CERT_DOWNLOAD: "1",
    DNS_ADDRESS: "0",
  };
}

async function startHere(python: string, options: LocalstackOptions): Promise<LocalstackServer> {
  const { dir, env } = options;
  const child = spawn(python, [join(PYTHON_ROOM, "start.py")], {
    cwd: dir,
    env: {
      PATH: env.PATH,
      HOME: dir,
      ...settingsOf(options),
      FILESYSTEM_ROOT: join(dir, "files"),
      TMPDIR: join(dir, "tmp"),
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const endpoint = `http://127.0.0.1:${options.port}`;
  const stop = () => end(child, ended);
  try {
    await untilHealthy(endpoint, ended, options.signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoint, ended, stop };
}

async function end(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
  await ended;
  clearTimeout(timer);
}

async function startInDocker(options: LocalstackOptions): Promise<LocalstackServer> {
  const args = composeArgs(options.dir);
  const env = {
    ...options.env,
    LOCALSTACK_PORT: String(options.port),
    LOCALSTACK_KEY_DIR: dirname(options.env.SECRETS_KEY_FILE || options.dir),
    LOCALSTACK_NODE: process.execPath,
    LOCALSTACK_SERVICES: SERVICES,
  };
  const up = await runCommand("docker", [...args, "up", "--detach", "--wait", "localstack"], {
    timeoutMs: PULL_MS,
    env,
    signal: options.signal,
  });
  const stop = async () => {
    await runCommand("docker", [...args, "down", "--volumes"], { timeoutMs: DOWN_MS, env });
  };
  if (options.signal.aborted) await stop();
  options.signal.throwIfAborted();
  if (up.code !== 0)
    throw new SetupError(
      `LocalStack did not start in Docker: ${up.stderr.trimEnd().split("\n").at(-1)} (LOCALSTACK_DOCKER=off starts it without)`,
    );
  return {
    endpoint: `http://127.0.0.1:${options.port}`,
    ended: new Promise(() => {}),
    stop,
  };
}

async function untilHealthy(
  endpoint: string,
  ended: Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  const endsAt = performance.now() + HEALTHY_MS;
  let over = false;
  void ended.then(() => {
    over = true;
  });
  while (performance.now() < endsAt) {
    try {
      const signal = AbortSignal.timeout(ANSWER_MS);
      if ((await fetch(`${endpoint}/_localstack/health`, { signal })).ok) return;
    } catch {
      // Not yet.
    }
    stop.throwIfAborted();
    if (over) throw new SetupError("LocalStack ended before it answered");
    await new Promise((wake) => setTimeout(wake, POLL_MS));
  }
  throw new SetupError(`LocalStack did not answer in ${HEALTHY_MS / 1_000} s`);
}
