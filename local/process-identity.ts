import { readFileSync } from "node:fs";

/**
 * A process of ours, as recorded: its number alone is not enough, because the system gives a number out again. The start
 * time (clock ticks since boot, /proc/PID/stat) and a word of its command line together tell it from any other.
 */
export type ProcessIdentity = { pid: number; startTicks: string; commandHas: string };

/** Records a process that runs now. Null when it has ended already. */
export function identify(pid: number, commandHas: string): ProcessIdentity | null {
  const startTicks = readStartTicks(pid);
  return startTicks === null ? null : { pid, startTicks, commandHas };
}

/** Whether the recorded process still runs. One that ended and waits for its parent (a zombie) does not. */
export function isAlive(identity: ProcessIdentity): boolean {
  return (
    readStartTicks(identity.pid) === identity.startTicks &&
    readCommand(identity.pid).includes(identity.commandHas)
  );
}

/** Sends a signal to the process, and to nothing else: false when it no longer runs. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    return process.kill(identity.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

function readStartTicks(pid: number): string | null {
  return readStat(pid)?.startTicks ?? null;
}

/** What the system says of a process that runs: its parent, its group, its start. Null once it has ended. */
export function readStat(
  pid: number,
): { parentPid: number; groupId: number; startTicks: string } | null {
  const stat = readProc(pid, "stat");
  if (stat === null) return null;
  // The second field is the command's name in parentheses and may hold anything: count from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parentPid, groupId, startTicks] = [fields[0], fields[1], fields[2], fields[19]];
  if (state === "Z" || state === "X" || startTicks === undefined) return null;
  return { parentPid: Number(parentPid), groupId: Number(groupId), startTicks };
}

function readCommand(pid: number): string {
  return (readProc(pid, "cmdline") ?? "").replaceAll("\0", " ");
}

function readProc(pid: number, file: "stat" | "cmdline"): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return null;
  }
}
