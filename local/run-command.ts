import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** `code` is null when the command could not be started, was killed by a signal or ran into its deadline. */
export type CommandResult = { code: number | null; stdout: string; stderr: string };

const KEPT_BYTES = 64 * 1024;
const KILL_AFTER_MS = 2_000;

/**
 * Runs a command to its end, at most `timeoutMs` or until `signal` is aborted: then it is killed with all that it started.
 * Never throws: what went wrong is in the result. `onLine` gets each line of stderr as it comes, which is where our scripts
 * tell their progress.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  opts: {
    timeoutMs: number;
    env?: NodeJS.ProcessEnv | undefined;
    signal?: AbortSignal | undefined;
    onLine?: ((line: string) => void) | undefined;
  },
): Promise<CommandResult> {
  const result: CommandResult = { code: null, stdout: "", stderr: "" };
  if (opts.signal?.aborted) return result;
  // A group of its own, so that a Ctrl-C in the terminal reaches it through us, and its children with it.
  const child = spawn(file, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: opts.env ?? process.env,
    detached: true,
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    result.stdout = (result.stdout + text).slice(-KEPT_BYTES);
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    result.stderr = `${result.stderr}${line}\n`.slice(-KEPT_BYTES);
    opts.onLine?.(line);
  });
  let killTimer: NodeJS.Timeout | undefined;
  let ending = false;
  const end = () => {
    ending = true;
    killGroup(child.pid, "SIGTERM");
    killTimer = setTimeout(() => {
      killGroup(child.pid, "SIGKILL");
      // Whoever left the group may still hold the pipes: "close" would wait for it.
      child.stdout.destroy();
      child.stderr.destroy();
    }, KILL_AFTER_MS);
  };
  const timer = setTimeout(end, opts.timeoutMs);
  opts.signal?.addEventListener("abort", end, { once: true });
  await new Promise<void>((resolve) => {
    child.once("error", (error) => {
      result.stderr += `${error.message}\n`;
      resolve();
    });
    // "close", not "exit": the output is whole by then.
    child.once("close", (code) => {
      result.code = code;
      resolve();
    });
  });
  opts.signal?.removeEventListener("abort", end);
  clearTimeout(timer);
  clearTimeout(killTimer);
  // The command itself may have ended before what it had started.
  if (ending) killGroup(child.pid, "SIGKILL");
  return result;
}

function killGroup(leaderPid: number | undefined, name: NodeJS.Signals): void {
  if (leaderPid === undefined) return;
  try {
    process.kill(-leaderPid, name);
  } catch (error) {
    // The group is gone already.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
