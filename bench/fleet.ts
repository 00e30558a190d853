/** The processes of a load bench beside MySQL: target, executors, schedulers, and what they and MySQL use. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeCertificates } from "#test/egress/certificates.ts";
import { type OwnProcess, startProcess, startWorker } from "#test/support/worker-process.ts";
import { sum } from "./figures.ts";
import { PAYLOAD } from "./insert-tasks.ts";
import { cpuMsOf, memoryMibOf } from "./machine.ts";
import type { RawResult } from "./raw-client.ts";
import type { BenchDatabases } from "./stack.ts";
import type { TargetCalls } from "./target.ts";

const START_MS = 15_000;
const STOP_MS = 20_000;
const RAW_MS = 120_000;
const ASK_MS = 10_000;
/** How long one request waits for calls: shorter than ASK_MS, and Ctrl-C is heard in between. */
const WAIT_MS = 5_000;
const LOOK_EVERY_MS = 10;

export interface Target extends AsyncDisposable {
  readonly url: string;
  /** What callers call: `url`, or as many origins over TLS as were asked for. */
  readonly origins: readonly string[];
  /** What callers need in their environment to trust its certificate. */
  readonly callersEnv: Readonly<Record<string, string>>;
  readonly pid: number;
  /** Calls since the last reset, all or those of one group. */
  count(group?: number): Promise<number>;
  /** True as soon as so many calls of a group have come since the last reset, false when they have not after `deadlineMs`. */
  arrived(group: number, calls: number, deadlineMs: number, signal: AbortSignal): Promise<boolean>;
  /** The greatest number of calls that were under way at once since the last reset. */
  most(): Promise<number>;
  calls(): Promise<TargetCalls>;
  /** Connections that were opened to it since the last reset, one or two of the bench's own among them. */
  connections(): Promise<number>;
  /** How many of them took up a TLS session. */
  resumed(): Promise<number>;
  reset(): Promise<void>;
}

/** Starts the target; `tlsOrigins` above 0: over TLS, on so many ports. */
export async function startTarget(tlsOrigins: number = 0): Promise<Target> {
  await using started = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), "target-"));
  started.defer(() => rmSync(dir, { recursive: true, force: true }));
  if (tlsOrigins > 0) makeCertificates(dir, ["DNS:localhost"]);
  const child = started.use(startProcess("bench/target.ts", {}, [dir, String(tlsOrigins)]));
  const url = (await child.line("target on ", START_MS)).replace("target on ", "");
  const ask = async (what: string) => {
    const response = await fetch(`${url}/_target/${what}`, { signal: AbortSignal.timeout(ASK_MS) });
    return response.json();
  };
  const origins = tlsOrigins > 0 ? ((await ask("origins")) as string[]) : [url];
  const callersEnv: Record<string, string> =
    tlsOrigins > 0 ? { NODE_EXTRA_CA_CERTS: join(dir, "ca.pem") } : {};
  const parts = started.move();
  return {
    url,
    origins,
    callersEnv,
    pid: child.pid,
    count: async (group) => (await ask(group === undefined ? "count" : `count/${group}`)) as number,
    async arrived(group, calls, deadlineMs, signal) {
      const endMs = performance.now() + deadlineMs;
      for (;;) {
        signal.throwIfAborted();
        const waitMs = Math.max(0, Math.min(WAIT_MS, Math.ceil(endMs - performance.now())));
        if (await ask(`arrived/${group}/${calls}/${waitMs}`)) return true;
        if (performance.now() >= endMs) return false;
      }
    },
    most: async () => (await ask("most")) as number,
    connections: async () => (await ask("connections")) as number,
    resumed: async () => (await ask("resumed")) as number,
    calls: async () => (await ask("calls")) as TargetCalls,
    reset: async () => void (await ask("reset")),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

export interface WorkersOptions {
  readonly schedulers: number;
  readonly executors: number;
  readonly slots?: number;
  /** More of the executors' environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where executors leave CPU profiles; none when absent. */
  readonly profileDir?: string | undefined;
}

export interface Workers extends AsyncDisposable {
  readonly executors: readonly OwnProcess[];
  readonly schedulers: readonly OwnProcess[];
}

/** Starts workers and waits until they run. On leaving they drain, and are killed when they do not. */
export async function startWorkers(
  { mysqlUrl, databasePrefix }: BenchDatabases,
  { schedulers, executors, slots = 64, env = {}, profileDir }: WorkersOptions,
): Promise<Workers> {
  const settings = (env: Record<string, string>) => ({ mysqlUrl, databasePrefix, env });
  const profiling: Record<string, string> =
    profileDir === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profileDir}` };
  const executorEnv = { EXECUTOR_SLOTS: String(slots), ...env, ...profiling };
  const times = <T>(count: number, make: () => T) => Array.from({ length: count }, make);
  const started = {
    schedulers: times(schedulers, () => startWorker("scheduler", settings({}))),
    executors: times(executors, () => startWorker("executor", settings(executorEnv))),
  };
  const all = [...started.schedulers, ...started.executors];
  const stop = async () => {
    for (const one of all) one.signal("SIGTERM");
    await Promise.allSettled(all.map((one) => one.ended(STOP_MS)));
    for (const one of all) await one[Symbol.asyncDispose]();
  };
  try {
    await Promise.all(all.map((one) => one.line('"started"', START_MS)));
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...started, [Symbol.asyncDispose]: stop };
}

/** CPU ms so far and memory now, of each kind of process together, and the statements that MySQL has got. */
export interface Usage {
  readonly executorsCpuMs: number;
  readonly schedulersCpuMs: number;
  readonly mysqlCpuMs: number;
  readonly targetCpuMs: number;
  readonly executorsMib: number;
  readonly mysqlMib: number;
  readonly statements: number;
}

export async function readUsage(
  databases: BenchDatabases,
  workers: Workers,
  target: Target,
): Promise<Usage> {
  const [row] = await databases.run("SHOW GLOBAL STATUS LIKE 'Questions'");
  const mysqlPid = await databases.pid();
  const cpu = (processes: readonly OwnProcess[]) => sum(processes.map(({ pid }) => cpuMsOf(pid)));
  return {
    executorsCpuMs: cpu(workers.executors),
    schedulersCpuMs: cpu(workers.schedulers),
    mysqlCpuMs: cpuMsOf(mysqlPid),
    targetCpuMs: cpuMsOf(target.pid),
    executorsMib: sum(workers.executors.map(({ pid }) => memoryMibOf(pid))),
    mysqlMib: memoryMibOf(mysqlPid),
    statements: Number(row?.Value),
  };
}

/** Resolves at an instant of the system's clock, epoch ms; throws when the bench is stopped. */
export async function sleepUntil(atMs: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, atMs - Date.now()), undefined, { signal });
}

/** Waits until `met`, looking every few ms; false when it is not after `deadlineMs`. */
export async function waitUntil(
  met: () => Promise<boolean>,
  deadlineMs: number,
  signal: AbortSignal,
  everyMs: number = LOOK_EVERY_MS,
): Promise<boolean> {
  const endMs = performance.now() + deadlineMs;
  while (performance.now() < endMs) {
    signal.throwIfAborted();
    if (await met()) return true;
    await sleep(everyMs);
  }
  return false;
}

export interface RawCalls {
  readonly calls: number;
  /** How many it makes before they are measured. */
  readonly warmUps: number;
  readonly connections?: number;
}

/** One leg of raw undici against the target's origins in turn, in a process of its own. */
export async function callRaw(
  target: Target,
  { calls, warmUps, connections = 64 }: RawCalls,
): Promise<RawResult> {
  const { url, origins, callersEnv } = target;
  const args = [url, origins.length, calls, warmUps, connections, PAYLOAD].map(String);
  await using child = startProcess("bench/raw-client.ts", callersEnv, args);
  const line = await child.line("raw {", RAW_MS);
  return JSON.parse(line.slice("raw ".length)) as RawResult;
}
