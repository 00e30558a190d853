/** The servers that the peers need, as durable as ours: each commit is on the disk before it is answered. */

import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { APT } from "#local/apt.ts";
import { pickPort } from "#local/hold-directory.ts";
import { runCommand } from "#local/run-command.ts";
import { SetupError } from "#local/setup-error.ts";
import type { ScenarioContext } from "../scenario.ts";

const INSTALL_MS = 300_000;
const START_MS = 30_000;
const STOP_MS = 20_000;
const POSTGRES_ROOT = "/usr/lib/postgresql";

export interface PeerServer extends AsyncDisposable {
  readonly url: string;
  /** CPU ms of the server so far: all its processes. */
  cpuMs(): number;
  /** What holds of each commit. */
  readonly durability: string;
}

/** PostgreSQL on a folder of its own: synchronous commits, full page writes, fsync. */
export async function startPostgres(context: ScenarioContext): Promise<PeerServer> {
  await ensure(() => postgresBin() !== null, "postgresql", context);
  const bin = postgresBin() ?? "";
  const root = process.getuid?.() === 0;
  // It refuses to run as root; the package made an account for it.
  const asOwner = root ? ["runuser", "-u", "postgres", "--"] : [];
  const dir = mkdtempSync(join(tmpdir(), "peers-postgres-"));
  const data = join(dir, "data");
  if (root) await succeed("chown", ["postgres", dir], context.signal);
  else chmodSync(dir, 0o700);
  const [initdb = "", ...args] = [...asOwner, join(bin, "initdb")];
  await succeed(initdb, [...args, "-D", data, "-U", "peers", "-A", "trust"], context.signal);
  const port = await pickPort(0);
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: dir,
    shared_buffers: "512MB",
    max_wal_size: "4GB",
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
  const server = start([...asOwner, join(bin, "postgres"), "-D", data, ...options], port, dir);
  return {
    url: `postgres://peers@127.0.0.1:${port}/postgres`,
    durability: "fsync, synchronous_commit and full_page_writes on",
    ...(await server),
  };
}

/** Redis with its append-only file synced at each write. */
export async function startRedis(context: ScenarioContext): Promise<PeerServer> {
  await ensure(() => onPath("redis-server"), "redis-server", context);
  const dir = mkdtempSync(join(tmpdir(), "peers-redis-"));
  const port = await pickPort(0);
  const settings = `--port ${port} --bind 127.0.0.1 --dir ${dir} --appendonly yes --appendfsync always --save '' --maxmemory-policy noeviction`;
  const args = settings.split(" ").map((word) => word.replaceAll("'", ""));
  const server = await start(["redis-server", ...args], port, dir);
  return { url: `redis://127.0.0.1:${port}`, durability: "appendfsync always", ...server };
}

/** The package, through the system's package manager where that is allowed. */
async function ensure(
  isThere: () => boolean,
  name: string,
  { say, signal }: ScenarioContext,
): Promise<void> {
  if (isThere()) return;
  if (process.getuid?.() !== 0 || !onPath("apt-get"))
    throw new SetupError(`no ${name} on this machine: run 'sudo apt-get install -y ${name}'`);
  say(`installing ${name}`);
  await succeed(APT, ["install", name], signal);
  if (!isThere()) throw new SetupError(`${name} is installed, and cannot be found`);
}

async function succeed(file: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  const { code, stderr } = await runCommand(file, args, { timeoutMs: INSTALL_MS, signal });
  signal.throwIfAborted();
  if (code !== 0)
    throw new SetupError(`${file} ${args.join(" ")}: ${stderr.trimEnd().slice(-500)}`);
}

function onPath(name: string): boolean {
  return (process.env.PATH ?? "").split(":").some((folder) => existsSync(join(folder, name)));
}

/** Where the newest PostgreSQL that is installed keeps its programs. */
function postgresBin(): string | null {
  if (!existsSync(POSTGRES_ROOT)) return null;
  const newest = readdirSync(POSTGRES_ROOT).sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? null : join(POSTGRES_ROOT, newest, "bin");
}

type Started = Pick<PeerServer, "cpuMs"> & AsyncDisposable;

/** Runs a server until it is disposed of, then removes its folder. */
async function start(command: readonly string[], port: number, dir: string): Promise<Started> {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { stdio: "ignore" });
  let ended = false;
  const end = new Promise<void>((resolve) => {
    const note = () => {
      ended = true;
      resolve();
    };
    child.once("exit", note).once("error", note);
  });
  const stop = async () => {
    child.kill("SIGINT");
    await Promise.race([end, sleep(STOP_MS, undefined, { ref: false })]);
    child.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  };
  const until = performance.now() + START_MS;
  while (!(await answers(port))) {
    if (!ended && performance.now() < until) {
      await sleep(50);
      continue;
    }
    await stop();
    throw new SetupError(`${file} did not start on port ${port}`);
  }
  return { cpuMs: () => cpuMsOfTree(child.pid ?? 0), [Symbol.asyncDispose]: stop };
}

const TICK_MS = 10;

/** Of a process and all that came of it, those that have ended included. */
function cpuMsOfTree(root: number): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const fields = new Map(pids.map((pid) => [Number(pid), statOf(pid)]));
  const isOurs = (pid: number): boolean => {
    const parent = Number(fields.get(pid)?.[1] ?? 0);
    return pid === root || (parent > 1 && isOurs(parent));
  };
  let ticks = 0;
  for (const [pid, stat] of fields)
    if (isOurs(pid)) for (const at of [11, 12, 13, 14]) ticks += Number(stat[at] ?? 0);
  return ticks * TICK_MS;
}

/** /proc/PID/stat from the state on; empty when the process is gone. */
function statOf(pid: string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
