/** What a result was measured on, and what its processes used: CPU and memory out of /proc, where there is one. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
  /** Of the work tree, with a `+` where it has changes, those of kept results left out. */
  readonly commit: string;
  readonly at: string;
  /** Average number of runnable processes in the last minute. */
  readonly load1m: number;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    node: process.version,
    commit: readCommit(),
    at: new Date().toISOString(),
    load1m: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}

const CODE = [":/", ":(top,exclude)bench/results"];

function readCommit(): string {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8", stdio: "pipe" }).trim();
  try {
    const changed = git("status", "--porcelain", "--untracked-files=no", "--", ...CODE) !== "";
    return `${git("rev-parse", "--short=12", "HEAD")}${changed ? "+" : ""}`;
  } catch {
    return "unknown";
  }
}

/** Clock ticks of /proc are hundredths of a second on every Linux we run on. */
const TICK_MS = 10;

/** CPU time of a process so far, user and system, ms; NaN where it cannot be read. */
export function cpuMsOf(pid: number | null): number {
  const stat = read(`/proc/${pid}/stat`);
  // The name of the program, in brackets, may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Memory of a process now, MiB; NaN where it cannot be read. */
export function memoryMibOf(pid: number | null): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return Math.round(Number(kib) / 1024);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
