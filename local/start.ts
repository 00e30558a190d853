import { findHolder, holdDirectory } from "./hold-directory.ts";
import { prepareDatabases } from "./prepare-databases.ts";
import { readFlags, readSettings, type Settings } from "./settings.ts";
import { SetupError } from "./setup-error.ts";
import { apiUrlOf, planStack } from "./stack.ts";
import { startDetached } from "./start-detached.ts";
import { supervise } from "./supervisor.ts";
import { listenForStop, runMain, say } from "./terminal.ts";

// npm start [-- --detach]: the whole system on one machine. --quiet shows the first call of the sample only.

async function main(): Promise<void> {
  const flags = readFlags(process.argv.slice(2), ["detach", "quiet"]);
  const settings = readSettings(process.env);
  // What a process would refuse is said before anything runs.
  const { MYSQL_URL, CASSANDRA_CONTACT_POINTS } = process.env;
  const databases = {
    mysqlUrl: MYSQL_URL || "mysql://root@127.0.0.1",
    contactPoints: CASSANDRA_CONTACT_POINTS || "127.0.0.1",
  };
  planStack(settings, databases, 0, process.env);
  if (flags.has("detach")) await startDetached(import.meta.filename, settings, alreadyRunning);
  else await startHere(settings, flags.has("quiet"));
}

async function startHere(settings: Settings, quiet: boolean): Promise<void> {
  const signals = listenForStop();
  if (!(await holdDirectory(settings.localDir))) throw new SetupError(alreadyRunning(settings));
  await supervise({
    settings,
    apiUrl: apiUrlOf(settings),
    env: process.env,
    say,
    quiet,
    ...signals,
    plan: planStack,
    prepare: (databases, onProgress) =>
      prepareDatabases(databases, settings, process.env, onProgress),
  });
}

function alreadyRunning(settings: Settings): string {
  const holder = findHolder(settings.localDir);
  const who = holder ? `supervisor ${holder.pid}` : "another user's supervisor";
  return `already running in ${settings.localDir}: ${who} ('npm run status' tells how it is, 'npm stop' ends it; another LOCAL_DIR, API_PORT, MYSQL_PORT and CASSANDRA_PORT make a second copy)`;
}

await runMain(main);
// A wait that was given up, such as a pooled connection, must not keep a stopped supervisor alive.
process.exit();
