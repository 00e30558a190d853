import { type ChildProcess, spawn } from "node:child_process";

const GRACE_MS = 5_000;

export type GroupOptions = {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly deadlineMs: number;
  /** Where the command's stdout and stderr go. */
  readonly output: "inherit" | "ignore";
  /** Ends the command early, as its deadline would. */
  readonly signal?: AbortSignal;
};

export type GroupEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "deadline" }
  | { readonly kind: "stopped" };

/**
 * Runs a command as the leader of a process group of its own. At the deadline, or when `signal`
 * fires, the whole group is asked to end and killed 5 s later. What the command leaves running in its group is killed.
 */
export async function runGroup(
  command: string,
  args: readonly string[],
  options: GroupOptions,
): Promise<GroupEnd> {
  if (options.signal?.aborted) return { kind: "stopped" };
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ["ignore", options.output, options.output],
  });
  let cut: GroupEnd | undefined;
  let killTimer: NodeJS.Timeout | undefined;
  const end = (reason: GroupEnd) => {
    cut ??= reason;
    signalGroup(child, "SIGTERM");
    killTimer ??= setTimeout(() => signalGroup(child, "SIGKILL"), GRACE_MS);
  };
  const deadline = setTimeout(() => end({ kind: "deadline" }), options.deadlineMs);
  const onAbort = () => end({ kind: "stopped" });
  options.signal?.addEventListener("abort", onAbort, { once: true });
  try {
    const code = await exitCode(child);
    return cut ?? { kind: "exited", code };
  } finally {
    clearTimeout(deadline);
    clearTimeout(killTimer);
    options.signal?.removeEventListener("abort", onAbort);
    signalGroup(child, "SIGKILL");
  }
}

/** The exit code; 1 when a signal ended it or it could not be started. */
function exitCode(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("exit", (code) => resolve(code ?? 1));
    child.once("error", (error) => {
      console.error(error.message);
      resolve(1);
    });
  });
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // Nobody is left in the group: what we wanted.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
