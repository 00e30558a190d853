import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { makeDirectory } from "./hold-directory.ts";
import { identify } from "./process-identity.ts";
import type { RunProcess } from "./run-file.ts";

/** One of the stack's processes. `script` is relative to the repository; `stopMs`, `stage`: see RunProcess. */
export type ChildSpec = {
  name: string;
  script: string;
  args?: string[];
  env: NodeJS.ProcessEnv;
  stopMs: number;
  stage: number;
  /** It serves `/health` and `/metrics` on the port that METRICS_PORT names. */
  watched?: boolean;
};
export type KeptChild = {
  readonly name: string;
  /** What runs now; null between two lives. */
  current(): RunProcess | null;
  /** How often it has ended by itself. */
  ends(): number;
  /** From now on an end is an end. */
  letEnd(): void;
};

const REPOSITORY = resolve(import.meta.dirname, "..");
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 30_000;
/** A life this long was a good one: the backoff begins anew. */
const GOOD_LIFE_MS = 60_000;
const LOG_BYTES_MAX = 10 * 1024 * 1024;

/**
 * Runs a script with this very Node in a process group of its own, its output in `${logDir}/${name}.log`, and runs it again
 * when it ends, after 0.5 s, doubling up to 30 s. `onChange` is called, synchronously, whenever `current()` has changed.
 */
export function keepChild(
  spec: ChildSpec,
  opts: { logDir: string; say: (line: string) => void; onChange: () => void },
): KeptChild {
  const logPath = join(opts.logDir, `${spec.name}.log`);
  const path = resolve(REPOSITORY, spec.script);
  let current: RunProcess | null = null;
  let keeping = true;
  let ends = 0;
  let backoffMs = BACKOFF_FIRST_MS;
  let timer: NodeJS.Timeout | undefined;

  const start = () => {
    const startedAt = performance.now();
    const log = openLog(logPath);
    const child = spawnLogged([path, ...(spec.args ?? [])], log.file, spec.env);
    const identity = child.pid === undefined ? null : identify(child.pid, path);
    const { name, stopMs, stage, env } = spec;
    const metricsPort = spec.watched ? Number(env.METRICS_PORT) : null;
    current = identity && { ...identity, name, stopMs, stage, metricsPort };
    opts.onChange();
    onceEnded(child, (how) => {
      current = null;
      opts.onChange();
      if (!keeping) return;
      ends += 1;
      if (performance.now() - startedAt >= GOOD_LIFE_MS) backoffMs = BACKOFF_FIRST_MS;
      opts.say(`${spec.name} ended (${how}): starting it again in ${backoffMs / 1000} s`);
      for (const line of lastWords(logPath, log.from)) opts.say(`  ${spec.name}: ${line}`);
      timer = setTimeout(start, backoffMs);
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS);
    });
  };
  start();
  return {
    name: spec.name,
    current: () => current,
    ends: () => ends,
    letEnd: () => {
      keeping = false;
      clearTimeout(timer);
    },
  };
}

/**
 * A log with the bytes that it has from earlier lives; one that is too long begins anew. Where it cannot be opened (a full disk, a
 * folder that somebody made read-only), the child runs without.
 */
function openLog(logPath: string): { file: number; from: number } {
  try {
    makeDirectory(dirname(logPath));
    const bytes = statSync(logPath, { throwIfNoEntry: false })?.size ?? 0;
    const isLong = bytes > LOG_BYTES_MAX;
    if (isLong) renameSync(logPath, `${logPath}.1`);
    return { file: openSync(logPath, "a"), from: isLong ? 0 : bytes };
  } catch {
    return { file: openSync("/dev/null", "a"), from: 0 };
  }
}

/** Its output goes to a file, not to a pipe: writing to the pipe of a killed supervisor would end the child. */
function spawnLogged(
  command: readonly string[],
  log: number,
  env: NodeJS.ProcessEnv,
): ChildProcess {
  try {
    const stdio: ["ignore", number, number] = ["ignore", log, log];
    return spawn(process.execPath, command, { cwd: REPOSITORY, env, detached: true, stdio });
  } finally {
    closeSync(log);
  }
}

function onceEnded(child: ChildProcess, ended: (how: string) => void): void {
  child.once("error", (error) => ended(error.message));
  child.once("exit", (code, name) => ended(name ?? `exit ${code}`));
}

/** The last lines of a log that say something to a human; of those from byte `from` on. */
export function lastWords(logPath: string, from = 0): string[] {
  let text = "";
  try {
    text = readFileSync(logPath).subarray(from).toString("utf8").slice(-8_192);
  } catch {
    // It ended before it wrote anything.
  }
  return text
    .split("\n")
    .filter((line) => /\S/.test(line) && !/^\s+at |^Node\.js v/.test(line))
    .slice(-4)
    .map((line) => line.slice(0, 300));
}
