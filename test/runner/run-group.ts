import { type ChildProcess, spawn } from "node:child_process";
import { Kin } from "./kin.ts";

/** The local stack on LocalStack stops its processes one after another. */
const GRACE_MS = 20_000;
const LOOK_EVERY_MS = 1_000;

export type GroupOptions = {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly deadlineMs: number;
  /** From the wish that it ends to SIGKILL. */
  readonly graceMs?: number;
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
 * Runs a command as the leader of a process group of its own. When it ends, at the deadline, or when `signal` fires, it is ended with
 * all that descend from it (kin.ts): SIGTERM, and after `graceMs` (20 s) SIGKILL. Nothing of it runs any more when this returns.
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
  const exited = exitCode(child);
  if (child.pid === undefined) return { kind: "exited", code: await exited };
  const kin = new Kin(child.pid);
  const looking = setInterval(() => kin.look(), LOOK_EVERY_MS);
  const { promise: cut, resolve: cutBy } = Promise.withResolvers<GroupEnd>();
  const deadline = setTimeout(() => cutBy({ kind: "deadline" }), options.deadlineMs);
  const onAbort = () => cutBy({ kind: "stopped" });
  options.signal?.addEventListener("abort", onAbort, { once: true });
  try {
    const end = await Promise.race([
      exited.then((code) => ({ kind: "exited", code }) as const),
      cut,
    ]);
    clearInterval(looking);
    await kin.end(options.graceMs ?? GRACE_MS);
    await exited;
    return end;
  } finally {
    clearInterval(looking);
    clearTimeout(deadline);
    options.signal?.removeEventListener("abort", onAbort);
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
