import { OperatingError } from "#core/domain/errors.ts";

// Nobody reads any more (`npm start | head`): not a reason to die and leave everything behind.
process.stdout.on("error", () => {});

/** A line for the human at the terminal. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Runs a command's main function: what a human has to act on is one line on stderr, a fault of ours a stack; exit code 1. */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    const text =
      error instanceof OperatingError ? error.message : ((error as Error).stack ?? error);
    process.stderr.write(`${text}\n`);
    process.exitCode = 1;
  }
}

/** One Ctrl-C may arrive twice: from the terminal, and passed on by npm. */
const SAME_KEY_MS = 1_000;

/** `stop` is aborted by the first SIGINT, SIGTERM or SIGHUP, `hurry` by the next one. */
export function listenForStop(): { stop: AbortSignal; hurry: AbortSignal } {
  const [stop, hurry] = [new AbortController(), new AbortController()];
  let firstAt = Number.POSITIVE_INFINITY;
  const onSignal = () => {
    if (!stop.signal.aborted) {
      firstAt = performance.now();
      stop.abort();
    } else if (performance.now() - firstAt > SAME_KEY_MS) {
      hurry.abort();
    }
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  return { stop: stop.signal, hurry: hurry.signal };
}
