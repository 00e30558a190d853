import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** `code` is null when the command could not be started, was killed by a signal or ran into its deadline. */
export type CommandResult = { code: number | null; stdout: string; stderr: string };

const KEPT_BYTES = 64 * 1024;
const KILL_AFTER_MS = 2_000;

/**
 * Runs a command to its end, at most `timeoutMs`. Never throws: what went wrong is in the result.
 * `onLine` gets each line of stderr as it comes, which is where our scripts tell their progress.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  opts: { timeoutMs: number; env?: NodeJS.ProcessEnv; onLine?: (line: string) => void },
): Promise<CommandResult> {
  const child = spawn(file, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: opts.env ?? process.env,
  });
  const result: CommandResult = { code: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    result.stdout = (result.stdout + text).slice(-KEPT_BYTES);
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    result.stderr = `${result.stderr}${line}\n`.slice(-KEPT_BYTES);
    opts.onLine?.(line);
  });
  let killTimer: NodeJS.Timeout | undefined;
  const timer = setTimeout(() => {
    child.kill("SIGTERM");
    killTimer = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
  }, opts.timeoutMs);
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
  clearTimeout(timer);
  clearTimeout(killTimer);
  return result;
}
