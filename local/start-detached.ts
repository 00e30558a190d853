import { spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { findHolder, makeDirectory } from "./hold-directory.ts";
import { readRun } from "./run-file.ts";
import type { Settings } from "./settings.ts";
import { SetupError } from "./setup-error.ts";
import { listenForStop, say } from "./terminal.ts";

type Ended = { code: number | null; name: NodeJS.Signals | null };

const POLL_MS = 100;
/** A cold start fetches a database server first. */
const READY_DEADLINE_MS = 10 * 60_000;

/**
 * Starts `script` (start.ts itself) as a supervisor without a terminal, shows what it says until the first call has
 * arrived, and returns: all stays up. A Ctrl-C before that stops it again. Throws SetupError when it cannot come up.
 */
export async function startDetached(
  script: string,
  settings: Settings,
  alreadyRunning: (settings: Settings) => string,
): Promise<void> {
  if (findHolder(settings.localDir)) throw new SetupError(alreadyRunning(settings));
  const logDir = join(settings.localDir, "log");
  makeDirectory(logDir);
  using said = new Followed(join(logDir, "supervisor.log"), process.stdout);
  using refused = new Followed(join(logDir, "supervisor.err"), process.stderr);
  const { stop } = listenForStop();
  const child = spawn(process.execPath, [script, "--quiet"], {
    detached: true,
    stdio: ["ignore", said.file, refused.file],
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once("exit", (code, name) => resolve({ code, name }));
  });
  stop.addEventListener("abort", () => child.kill("SIGTERM"));
  const endsAt = performance.now() + READY_DEADLINE_MS;
  for (;;) {
    const over = await Promise.race([ended, pause(POLL_MS)]);
    said.showNew();
    refused.showNew();
    if (over?.name) throw new SetupError(`the supervisor was killed by ${over.name}`);
    if (over) {
      process.exitCode = over.code ?? 1;
      return;
    }
    if (isReady(settings, child.pid) && !stop.aborted) break;
    if (performance.now() > endsAt) {
      throw new SetupError("no call has arrived: 'npm run status' tells more, 'npm stop' ends it");
    }
  }
  say("all of it stays up: 'npm run status' tells how it is, 'npm stop' ends it");
}

function isReady(settings: Settings, pid: number | undefined): boolean {
  const run = readRun(settings.localDir);
  return run?.supervisor.pid === pid && run?.state === "ready";
}

function pause(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, ms, null));
}

/** A file that the supervisor writes and its starter shows. */
class Followed implements Disposable {
  readonly file: number;
  readonly #terminal: NodeJS.WriteStream;
  #shown = 0;

  constructor(path: string, terminal: NodeJS.WriteStream) {
    this.file = openSync(path, "w+");
    this.#terminal = terminal;
  }

  showNew(): void {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(this.file).size - this.#shown));
    const read = readSync(this.file, bytes, 0, bytes.length, this.#shown);
    this.#shown += read;
    this.#terminal.write(bytes.subarray(0, read));
  }

  [Symbol.dispose](): void {
    closeSync(this.file);
  }
}
