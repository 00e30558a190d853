/**
 * Programs of ours as separate processes, as in production: their log is collected, a line of it can be waited for, and they
 * never outlive whoever started them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { makeKeyFile } from "#adapters/crypto/key-file.ts";

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface OwnProcess {
  readonly pid: number;
  /** Lines of stdout and stderr as they came, the newest LINES_KEPT. */
  readonly lines: readonly string[];
  /** The first line, old or new, that contains `text`; rejects after `deadlineMs`, or when the process ends without it. */
  line(text: string, deadlineMs: number): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** Resolves when it has ended; rejects after `deadlineMs`, with its last words. */
  ended(deadlineMs: number): Promise<ProcessEnd>;
  /** Kills it if it still runs. */
  [Symbol.asyncDispose](): Promise<void>;
}

const REPOSITORY = resolve(import.meta.dirname, "..", "..");
const LINES_KEPT = 5_000;
const KILLED_MS = 5_000;
const PASSED_ON = ["PATH", "HOME", "TMPDIR", "LANG"];
const living = new Set<ChildProcess>();
// A test file that fails half way leaves nothing behind.
process.once("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

let keyFile: string | null = null;

/** The master key of all processes that one test file starts: what one has sealed the other opens. */
export function testKeyFile(): string {
  if (keyFile !== null) return keyFile;
  const folder = mkdtempSync(join(tmpdir(), "secrets-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  keyFile = join(folder, "master.key");
  makeKeyFile(keyFile);
  return keyFile;
}

export interface StartOptions {
  /** Where its output goes: to `lines`, to a disk that is full, or into a pipe that nobody reads any more. */
  readonly output?: "collected" | "full-disk" | "closed" | undefined;
}

/** Starts `script` (a path in the repository) under this Node with `env` and nothing of ours besides PATH and the like. */
export function startProcess(
  script: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  { output = "collected" }: StartOptions = {},
): OwnProcess {
  const passedOn = Object.fromEntries(
    PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  );
  const full = output === "full-disk" ? openSync("/dev/full", "w") : null;
  const child: ChildProcess = spawn(process.execPath, [resolve(REPOSITORY, script), ...args], {
    cwd: REPOSITORY,
    // A zone of its own, so that a mistake with zones cannot hide.
    env: { TZ: "America/St_Johns", SECRETS_KEY_FILE: testKeyFile(), ...passedOn, ...env },
    // The pipe to its standard input tells it, if it listens, that we are gone.
    stdio: ["pipe", full ?? "pipe", full ?? "pipe"],
  });
  if (full !== null) closeSync(full);
  living.add(child);
  const lines: string[] = [];
  const listeners = new Set<() => void>();
  let end: ProcessEnd | null = null;
  const changed = () => {
    for (const look of listeners) look();
  };
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    if (output === "closed") {
      stream.destroy();
      continue;
    }
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      if (lines.length > LINES_KEPT) lines.shift();
      changed();
    });
  }
  // "close", not "exit": its output is whole by then.
  child.once("close", (code, signal) => {
    living.delete(child);
    end = { code, signal };
    changed();
  });
  child.once("error", () => {});
  const lastWords = () => `${script} (pid ${child.pid}):\n${lines.slice(-15).join("\n")}`;
  const wait = <T>(what: string, deadlineMs: number, look: () => T | null): Promise<T> => {
    const { promise, resolve: done, reject } = Promise.withResolvers<T>();
    const check = () => {
      const found = look();
      if (found !== null) done(found);
      else if (end !== null) reject(new Error(`ended without ${what}; ${lastWords()}`));
    };
    const timer = setTimeout(
      () => reject(new Error(`no ${what} within ${deadlineMs} ms; ${lastWords()}`)),
      deadlineMs,
    );
    listeners.add(check);
    check();
    return promise.finally(() => {
      clearTimeout(timer);
      listeners.delete(check);
    });
  };
  const ended = (deadlineMs: number) => wait("end", deadlineMs, () => end);
  return {
    pid: child.pid ?? 0,
    lines,
    line: (text, deadlineMs) =>
      wait(`"${text}"`, deadlineMs, () => lines.find((line) => line.includes(text)) ?? null),
    signal: (name) => void child.kill(name),
    ended,
    async [Symbol.asyncDispose]() {
      if (end !== null) return;
      child.kill("SIGKILL");
      await ended(KILLED_MS);
    },
  };
}

export interface WorkerSettings {
  readonly mysqlUrl: string;
  readonly databasePrefix: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly output?: StartOptions["output"] | undefined;
}

/** Starts a scheduler or an executor. */
export function startWorker(kind: "scheduler" | "executor", settings: WorkerSettings): OwnProcess {
  const env = {
    MYSQL_URL: settings.mysqlUrl,
    DATABASE_PREFIX: settings.databasePrefix,
    ...(kind === "executor" ? { EGRESS_ALLOW: "127.0.0.0/8:*" } : {}),
    ...settings.env,
  };
  return startProcess(`workers/${kind}/main.ts`, env, [], settings);
}

/** Starts a function on its schedule: a run at once, then one every minute. The archiver's `env` says where Cassandra is. */
export function startTick(kind: "reconciler" | "archiver", settings: WorkerSettings): OwnProcess {
  const { mysqlUrl, databasePrefix, env = {} } = settings;
  return startProcess(
    "local/tick.ts",
    { MYSQL_URL: mysqlUrl, DATABASE_PREFIX: databasePrefix, ...env },
    [kind],
    settings,
  );
}
