import { findHolder } from "./hold-directory.ts";
import { isAlive, signal } from "./process-identity.ts";
import { isRunning, readRun, removeRun } from "./run-file.ts";
import { readFlags, readSettings } from "./settings.ts";
import { stopRun, waitUntilGone } from "./stop-run.ts";
import { listenForStop, runMain, say } from "./terminal.ts";

/** The longest a supervisor needs: an executor's drain, the rest, MySQL. */
const SUPERVISOR_STOP_MS = 180_000;

// npm stop: through the supervisor where it lives; what a killed one has left, here.
async function main(): Promise<void> {
  readFlags(process.argv.slice(2), []);
  const { localDir } = readSettings(process.env);
  // One that lives is found also where run.json was removed or damaged: it knows by itself what to stop.
  const supervisor = findHolder(localDir) ?? readRun(localDir)?.supervisor;
  if (!supervisor) return say(`nothing is running in ${localDir}`);
  const { stop: hurry } = listenForStop();
  if (signal(supervisor, "SIGTERM")) {
    const gone = await waitUntilGone(supervisor, SUPERVISOR_STOP_MS, hurry, (waitedMs) =>
      say(
        `waiting for calls in flight to end (${Math.round(waitedMs / 1000)} s); Ctrl-C: without waiting`,
      ),
    );
    if (!gone) signal(supervisor, "SIGKILL");
    await waitUntilGone(supervisor, SUPERVISOR_STOP_MS);
  }
  // Read again: the supervisor may have started something since.
  const left = readRun(localDir);
  if (left && !isAlive(left.supervisor)) {
    if (isRunning(left)) say("the supervisor was killed: stopping what it left");
    await stopRun(left, { say, env: process.env, hurry });
    removeRun(localDir);
  }
  say("stopped");
}

await runMain(main);
process.exit();
