import { readdirSync } from "node:fs";
import { readStat } from "#local/process-identity.ts";

const POLL_MS = 50;
/** How long a killed process may take to be gone. */
const KILLED_MS = 5_000;

/** `startTicks` tells it from a later process with the same number. */
type Known = { readonly startTicks: string; readonly parentPid: number; readonly groupId: number };

/**
 * A command's process and all that descend from it, those in groups of their own too. Who has lost its parent no longer tells whose
 * it was: so whoever wants to know at the end has looked before it.
 */
export class Kin {
  readonly #leaderPid: number;
  readonly #known = new Map<number, Known>();

  constructor(leaderPid: number) {
    this.#leaderPid = leaderPid;
    this.look();
  }

  /** Who of them lives now: pids. */
  look(): readonly number[] {
    const living = new Map(listProcesses());
    for (const [pid, { startTicks }] of this.#known)
      if (living.get(pid)?.startTicks !== startTicks) this.#known.delete(pid);
    let before: number;
    do {
      before = this.#known.size;
      for (const [pid, each] of living) if (this.#isOurs(pid, each)) this.#known.set(pid, each);
    } while (this.#known.size > before);
    return [...this.#known.keys()];
  }

  /**
   * Asks them to end (SIGTERM), waits until the last has gone, and kills who is left after `graceMs`. One in a group of its own whose
   * parent lives is asked by that parent, in the order that the parent knows.
   */
  async end(graceMs: number): Promise<void> {
    this.look();
    for (const [pid, { parentPid, groupId }] of this.#known)
      if (groupId === this.#leaderPid || !this.#known.has(parentPid)) send(pid, "SIGTERM");
    if (await this.#gone(graceMs)) return;
    await this.#gone(KILLED_MS, (pid) => send(pid, "SIGKILL"));
  }

  #isOurs(pid: number, { parentPid, groupId }: Known): boolean {
    return pid === this.#leaderPid || groupId === this.#leaderPid || this.#known.has(parentPid);
  }

  async #gone(deadlineMs: number, eachLeft: (pid: number) => void = () => {}): Promise<boolean> {
    const endsAt = performance.now() + deadlineMs;
    for (;;) {
      const left = this.look();
      if (left.length === 0) return true;
      if (performance.now() > endsAt) return false;
      left.forEach(eachLeft);
      await new Promise((wake) => setTimeout(wake, POLL_MS));
    }
  }
}

function listProcesses(): [number, Known][] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).flatMap((pid): [number, Known][] => {
    const stat = readStat(pid);
    return stat === null ? [] : [[pid, stat]];
  });
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It has gone: what we wanted.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
