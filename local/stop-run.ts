import { stopCassandra } from "./cassandra-server.ts";
import { stopMysql } from "./mysql-server.ts";
import { isAlive, signal } from "./process-identity.ts";
import type { Run, RunProcess } from "./run-file.ts";

const POLL_MS = 50;
const WORD_EVERY_MS = 5_000;
/** How long a killed process may take to be gone. */
const KILL_MS = 5_000;
const DATABASE_STOP_MS = 30_000;

/**
 * Stops what a run has started, in order of stages: workers end their calls before the endpoint and the databases go. Each
 * process gets SIGTERM and its `stopMs`, then SIGKILL; `hurry` aborted: SIGKILL at once. A database that was given stays.
 */
export async function stopRun(
  run: Run,
  opts: { say: (line: string) => void; env: NodeJS.ProcessEnv; hurry?: AbortSignal },
): Promise<void> {
  const stages = [...new Set(run.processes.map((each) => each.stage))].sort((a, b) => a - b);
  for (const stage of stages) {
    const group = run.processes.filter((each) => each.stage === stage);
    await Promise.all(group.map((each) => stopProcess(each, opts.say, opts.hurry)));
  }
  const { mysql, cassandra } = run;
  await Promise.all([
    mysql && stopDatabase("MySQL", mysql, stopMysql, opts),
    cassandra && stopDatabase("Cassandra", cassandra, stopCassandra, opts),
  ]);
}

/** By the files in its folder, then by its process: somebody may have removed the folder. */
async function stopDatabase(
  name: string,
  { dir, kind, process }: NonNullable<Run["mysql"] | Run["cassandra"]>,
  stop: typeof stopMysql,
  { say, env, hurry }: Parameters<typeof stopRun>[1],
): Promise<void> {
  try {
    await stop(dir, kind, env);
  } catch (error) {
    if (process === null) throw error;
  }
  if (process) await stopProcess({ ...process, name, stopMs: DATABASE_STOP_MS }, say, hurry);
}

async function stopProcess(
  target: Omit<RunProcess, "stage" | "metricsPort">,
  say: (line: string) => void,
  hurry?: AbortSignal,
): Promise<void> {
  signal(target, "SIGTERM");
  const ended = await waitUntilGone(target, target.stopMs, hurry, (waitedMs) =>
    say(
      `waiting for ${target.name} to end (${Math.round(waitedMs / 1000)} s); Ctrl-C: without waiting`,
    ),
  );
  if (ended) return;
  if (!hurry?.aborted) say(`${target.name} did not end in ${target.stopMs / 1000} s: killing it`);
  signal(target, "SIGKILL");
  await waitUntilGone(target, KILL_MS);
}

/** Waits for a process's end: false when it still runs after `deadlineMs` or when `hurry` is aborted. */
export async function waitUntilGone(
  target: Parameters<typeof isAlive>[0],
  deadlineMs: number,
  hurry?: AbortSignal,
  onWait: (waitedMs: number) => void = () => {},
): Promise<boolean> {
  const startedAt = performance.now();
  let nextWordMs = WORD_EVERY_MS;
  while (isAlive(target)) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > deadlineMs || hurry?.aborted) return false;
    if (waitedMs > nextWordMs) {
      onWait(waitedMs);
      nextWordMs += WORD_EVERY_MS;
    }
    await new Promise((wake) => setTimeout(wake, POLL_MS));
  }
  return true;
}
