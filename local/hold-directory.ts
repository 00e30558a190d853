import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { identify, type ProcessIdentity } from "./process-identity.ts";
import { SetupError } from "./setup-error.ts";

const POLL_MS = 200;

/**
 * Makes this process the only supervisor of `localDir` for as long as it lives: a listening socket in Linux's abstract
 * namespace, which no kill can leave behind, unlike a lock file. False when another process holds it.
 */
export async function holdDirectory(localDir: string): Promise<boolean> {
  makeDirectory(localDir);
  return (await listen(createServer(), { path: `\0${socketOf(localDir)}` })) === "listening";
}

/**
 * Does `work` as the only process that holds `path` in this way; whoever comes second waits, at most `timeoutMs` (then it throws
 * SetupError) or until `signal` is aborted.
 */
export async function whileHolding(
  path: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: () => Promise<void>,
): Promise<void> {
  const endsAt = performance.now() + timeoutMs;
  let server = createServer();
  while ((await listen(server, { path: `\0${socketOf(path)}` })) === "taken") {
    if (performance.now() > endsAt)
      throw new SetupError(`another process is at work on ${path} for ${timeoutMs / 1000} s`);
    await new Promise((wake) => setTimeout(wake, POLL_MS));
    signal?.throwIfAborted();
    server = createServer();
  }
  try {
    await work();
  } finally {
    server.close();
  }
}

/** The supervisor of `localDir`, by what the kernel knows; null when there is none, or it is another user's. */
export function findHolder(localDir: string): ProcessIdentity | null {
  const socket = readFileSync("/proc/net/unix", "utf8")
    .split("\n")
    .find((line) => line.endsWith(` @${socketOf(localDir)}`));
  if (socket === undefined) return null;
  const held = `socket:[${socket.split(" ").at(-2)}]`;
  const holds = (pid: string) => {
    const files = `/proc/${pid}/fd`;
    try {
      return readdirSync(files).some((file) => readlinkSync(join(files, file)) === held);
    } catch {
      // Another user's, or it has ended.
      return false;
    }
  };
  const pid = readdirSync("/proc").find((name) => /^\d+$/.test(name) && holds(name));
  return pid === undefined ? null : identify(Number(pid), "");
}

/** Its name in the abstract namespace. A folder that was removed is still held by its path. */
function socketOf(localDir: string): string {
  const path = existsSync(localDir) ? realpathSync(localDir) : localDir;
  return `at-and-cron-${createHash("sha256").update(path).digest("hex").slice(0, 32)}`;
}

/**
 * For what `setting` names and what is in it. Throws SetupError, also where one that is there cannot be written. One folder after
 * the other: Node's own recursive call tries for ever where nothing can be made although its parent is there (/proc).
 */
export function makeDirectory(path: string, setting = "LOCAL_DIR"): void {
  try {
    if (existsSync(path)) {
      accessSync(path, constants.W_OK);
      return;
    }
    const parent = dirname(path);
    if (parent !== path) makeDirectory(parent, setting);
    mkdirSync(path);
  } catch (error) {
    if (error instanceof SetupError) throw error;
    // Another process was first.
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    const { code } = error as NodeJS.ErrnoException;
    const what = existsSync(path) ? "written" : "made";
    throw new SetupError(`${path} cannot be ${what} (${code}): choose another ${setting}`, {
      cause: error,
    });
  }
}

/** Whether somebody could listen on 127.0.0.1:port now. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  if ((await listen(server, { host: "127.0.0.1", port, exclusive: true })) === "taken")
    return false;
  await new Promise((closed) => server.close(closed));
  return true;
}

/** `preferred` when it is free, else one that the system picks. */
export async function pickPort(preferred: number): Promise<number> {
  if (preferred !== 0 && (await isPortFree(preferred))) return preferred;
  const server = createServer();
  await listen(server, { host: "127.0.0.1", port: 0 });
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  return typeof address === "object" && address !== null ? address.port : 0;
}

function listen(
  server: Server,
  where: { path: string } | { host: string; port: number; exclusive?: boolean },
): Promise<"listening" | "taken"> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      // EACCES: a port below 1024 that is not ours to take.
      if (error.code === "EADDRINUSE" || error.code === "EACCES") resolve("taken");
      else reject(error);
    });
    // It holds the place, it does not keep the process alive.
    server.listen(where, () => resolve("listening"));
    server.unref();
  });
}
