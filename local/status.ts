import { cassandraAnswers } from "./cassandra-answers.ts";
import { findHolder } from "./hold-directory.ts";
import { isAlive } from "./process-identity.ts";
import { type Run, readRun } from "./run-file.ts";
import { readFlags, readSettings } from "./settings.ts";
import { SetupError } from "./setup-error.ts";
import { runMain, say } from "./terminal.ts";

// npm run status [-- --json]: what runs in LOCAL_DIR, and what its API says of its databases. Exit code 1 when nothing runs.

const HEALTH_ANSWER_MS = 5_000;

async function main(): Promise<void> {
  const flags = readFlags(process.argv.slice(2), ["json"]);
  const { localDir } = readSettings(process.env);
  const run = readRun(localDir);
  const holder = run ? null : findHolder(localDir);
  if (holder)
    throw new SetupError(
      `supervisor ${holder.pid} runs, but its ${localDir}/run.json was removed: 'npm stop' ends it`,
    );
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
        health: up && (await askHealth(up.api)),
        history: up && (await askHistory(up)),
        processes: await Promise.all(processes.map(withHealth)),
        missing: up ? listMissing(up) : [],
      }),
    );
    return;
  }
  if (!run || processes.length === 0) return say(`nothing is running in ${localDir}`);
  const supervised = isAlive(run.supervisor);
  say(supervised ? run.state : "the supervisor was killed: 'npm stop' stops what it has left");
  say(`API      ${run.api}/v1   x-api-key: ${run.key}   ${await askHealth(run.api)}`);
  if (run.cassandra) say(`history  ${run.cassandra.contactPoints}   ${await askHistory(run)}`);
  for (const { name, pid, health, metrics } of await Promise.all(processes.map(withHealth)))
    say(`${name.padEnd(12)} ${pid}${metrics === null ? "" : `   ${metrics}   ${health}`}`);
  for (const name of listMissing(run)) say(`${name.padEnd(12)} not running`);
}

/** `ok`, or what is wrong. */
async function askHealth(api: string): Promise<string> {
  try {
    const signal = AbortSignal.timeout(HEALTH_ANSWER_MS);
    const response = await fetch(`${api}/v1/health`, { signal });
    const body = (await response.json()) as { detail?: unknown };
    return response.ok ? "ok" : String(body.detail);
  } catch {
    return "does not answer";
  }
}

/** The API does not ask Cassandra how it is: without it it serves all but history. */
async function askHistory({ cassandra }: Run): Promise<string | null> {
  if (cassandra === null) return null;
  const points = cassandra.contactPoints.split(",").map((point) => point.trim());
  const answers = await Promise.all(points.map(cassandraAnswers));
  return answers.includes(true)
    ? "ok"
    : "does not answer: jobs are called all the same, finished ones stay in MySQL, and what is in history cannot be read";
}

type Listed = { name: string; pid: number; metricsPort: number | null };

/** A process with where its metrics are and what it says of itself: `ok`, `draining`, or what is wrong; null where it tells nothing. */
async function withHealth({ name, pid, metricsPort }: Listed) {
  if (metricsPort === null) return { name, pid, metrics: null, health: null };
  const base = `http://127.0.0.1:${metricsPort}`;
  return { name, pid, metrics: `${base}/metrics`, health: await askProcess(`${base}/health`) };
}

async function askProcess(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(HEALTH_ANSWER_MS) });
    const { status, wrong } = (await response.json()) as { status: string; wrong: string[] };
    return wrong.length === 0 ? status : `${status}: ${wrong.join("; ")}`;
  } catch {
    return "does not answer";
  }
}

/** What should run and does not now; a supervisor that lives starts it again. */
function listMissing(run: Run): string[] {
  if (run.state === "stopping") return [];
  const ended = run.processes.filter((each) => !isAlive(each)).map(({ name }) => name);
  const databases = (["mysql", "cassandra"] as const).filter((name) => {
    const database = run[name];
    return database?.kind === "native" && !(database.process && isAlive(database.process));
  });
  return [...run.restarting, ...ended, ...databases];
}

function listProcesses(run: Run): Listed[] {
  const none = { metricsPort: null };
  const listed: Listed[] = run.processes.filter(isAlive);
  if (isAlive(run.supervisor))
    listed.unshift({ name: "supervisor", pid: run.supervisor.pid, ...none });
  for (const name of ["mysql", "cassandra"] as const) {
    const identity = run[name]?.process;
    if (identity && isAlive(identity)) listed.push({ name, pid: identity.pid, ...none });
  }
  return listed;
}

await runMain(main);
