import { isAlive } from "./process-identity.ts";
import { type Run, readRun } from "./run-file.ts";
import { readFlags, readSettings } from "./settings.ts";
import { runMain, say } from "./terminal.ts";

// npm run status [-- --json]: what runs in LOCAL_DIR. Exit code 1 when nothing does.

async function main(): Promise<void> {
  const flags = readFlags(process.argv.slice(2), ["json"]);
  const { localDir } = readSettings(process.env);
  const run = readRun(localDir);
  const processes = run ? listProcesses(run) : [];
  if (processes.length === 0) process.exitCode = 1;
  if (flags.has("json")) {
    const up = processes.length > 0 ? run : null;
    const mysql = up?.mysql?.url ?? null;
    say(
      JSON.stringify({
        api: up?.api ?? null,
        key: up?.key ?? null,
        mysql,
        cassandra: up?.cassandra?.contactPoints ?? null,
        processes,
      }),
    );
    return;
  }
  if (!run || processes.length === 0) return say(`nothing is running in ${localDir}`);
  const supervised = isAlive(run.supervisor);
  say(supervised ? run.state : "the supervisor was killed: 'npm stop' stops what it has left");
  say(`API      ${run.api}/v1   x-api-key: ${run.key}`);
  for (const { name, pid } of processes) say(`${name.padEnd(12)} ${pid}`);
}

function listProcesses(run: Run): { name: string; pid: number }[] {
  const listed = run.processes.filter(isAlive).map(({ name, pid }) => ({ name, pid }));
  if (isAlive(run.supervisor)) listed.unshift({ name: "supervisor", pid: run.supervisor.pid });
  for (const name of ["mysql", "cassandra"] as const) {
    const identity = run[name]?.process;
    if (identity && isAlive(identity)) listed.push({ name, pid: identity.pid });
  }
  return listed;
}

await runMain(main);
