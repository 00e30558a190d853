/**
 * A drain: fresh workers make a number of calls to warm up, then what is due is given to them by one commit, and measured until
 * the last result is written. What is due are jobs that are made already, or tasks whose jobs a scheduler makes.
 */
import { assert } from "#core/domain/assert.ts";
import { createBulkJobs } from "#test/support/bulk-jobs.ts";
import { readUsage, startWorkers, type Target, waitUntil } from "./fleet.ts";
import { someTasksSql } from "./insert-tasks.ts";
import { type LoadTask, seededTaskId, seededUnit, tenantNamed } from "./load-model.ts";
import type { ScenarioContext } from "./scenario.ts";
import type { BenchDatabases } from "./stack.ts";

const TENANTS = 100;
const DRAIN_MS = 120_000;
const DAY_MS = 86_400_000;
/** Of all calls that are drained, in the target's words: it is what tasks are to have at the end of their path. */
export const DRAIN_GROUP = 0;

/** Tasks that are due in a day. `urlOf` is what the task of a number calls. */
export function buildTasks(
  count: number,
  seed: number,
  urlOf: (index: number, priority: number) => string,
): LoadTask[] {
  const unit = seededUnit(seed);
  const atMs = Date.now() + DAY_MS;
  const anchor = new Date(atMs).toISOString();
  return Array.from({ length: count }, (_, i) => {
    const tenantId = tenantNamed(`p2-${i % TENANTS}`);
    const priority = i % 4;
    return {
      id: seededTaskId(tenantId, atMs, unit),
      tenantId,
      priority,
      schedule: { type: "every", seconds: 86_400, anchor },
      nextRunAtMs: atMs,
      url: urlOf(i, priority),
      timeoutMs: 30_000,
    };
  });
}

/** What a drain took; CPU in µs a job, each kind of process together. */
export interface Leg {
  readonly perSecond: number;
  /** From the commit of what is due to the first call, ms. */
  readonly firstCallMs: number;
  readonly executorCpuUs: number;
  readonly schedulerCpuUs: number;
  readonly mysqlCpuUs: number;
  readonly targetCpuUs: number;
  readonly executorsMib: number;
  /** A job. */
  readonly statements: number;
  readonly callsPerConnection: number;
  /** Connections that took up a TLS session. */
  readonly resumed: number;
  /** The greatest number of calls that were under way at once. */
  readonly mostAtOnce: number;
}

export interface DrainSize {
  readonly executors: number;
  readonly tasksCount: number;
  /** Jobs of each task: those before the measured ones for each executor, and the measured ones of all together. */
  readonly perTask: { readonly warmUps: number; readonly jobs: number };
  /** Which tasks they are of, as a condition of SQL; all when left out. */
  readonly where?: string;
}

/** Drains so many due jobs of each task. */
export function drain(
  databases: BenchDatabases,
  target: Target,
  { executors, tasksCount, perTask, where }: DrainSize,
  context: ScenarioContext,
): Promise<Leg> {
  const fromMs = Date.now() - 60_000;
  const make = async (perTask: number, firstMs: number) => {
    const pending = { status: "pending", stepMs: 1, dueInMs: 0, dueStepMs: 1, where } as const;
    await createBulkJobs({ ...pending, run: databases.run, perTask, fromMs: firstMs });
    return tasksCount * perTask;
  };
  const feed: Feed = {
    schedulers: 0,
    warmUp: () => make(perTask.warmUps * executors, fromMs - 10_000),
    jobs: () => make(perTask.jobs, fromMs),
  };
  return measure(databases, target, executors, feed, context);
}

export interface DueSize {
  readonly executors: number;
  /** Before the measured ones, for each executor: at most one a task altogether. */
  readonly warmUps: number;
}

/** Makes every task due now; one scheduler makes a job of each, and executors drain them. */
export function drainDueTasks(
  databases: BenchDatabases,
  target: Target,
  { executors, warmUps }: DueSize,
  context: ScenarioContext,
): Promise<Leg> {
  const { run } = databases;
  const makeDue = async (where: string) => {
    await run(`UPDATE tasks SET next_run_at = UTC_TIMESTAMP(3), made_until = NULL WHERE ${where}`);
    const [row] = await run(`SELECT COUNT(*) AS n FROM tasks WHERE ${where}`);
    return Number(row?.n);
  };
  const feed: Feed = {
    schedulers: 1,
    warmUp: () => makeDue(someTasksSql(warmUps * executors)),
    jobs: () => makeDue("TRUE"),
  };
  return measure(databases, target, executors, feed, context);
}

/** What makes work: each answers how many calls it is. */
interface Feed {
  readonly schedulers: number;
  warmUp(): Promise<number>;
  jobs(): Promise<number>;
}

async function measure(
  databases: BenchDatabases,
  target: Target,
  executors: number,
  feed: Feed,
  { signal, options }: ScenarioContext,
): Promise<Leg> {
  const { schedulers } = feed;
  const profileDir = options.profileDir ?? undefined;
  const { callersEnv: env } = target;
  await using workers = await startWorkers(databases, { schedulers, executors, env, profileDir });
  await target.reset();
  await drained(databases, target, await feed.warmUp(), signal);
  await target.reset();
  const jobs = await feed.jobs();
  // The commit is what workers see first.
  const [startMs, startAtMs] = [performance.now(), Date.now()];
  const before = await readUsage(databases, workers, target);
  await drained(databases, target, jobs, signal);
  const tookMs = performance.now() - startMs;
  const after = await readUsage(databases, workers, target);
  assert((await target.count()) === jobs, "every job was called once");
  const { arrivedAtMs } = await target.calls();
  const each = (ms: number) => (ms * 1_000) / jobs;
  return {
    perSecond: (jobs * 1_000) / tookMs,
    firstCallMs: Math.max(0, (arrivedAtMs[0] ?? Number.NaN) - startAtMs),
    executorCpuUs: each(after.executorsCpuMs - before.executorsCpuMs),
    schedulerCpuUs: each(after.schedulersCpuMs - before.schedulersCpuMs),
    mysqlCpuUs: each(after.mysqlCpuMs - before.mysqlCpuMs),
    targetCpuUs: each(after.targetCpuMs - before.targetCpuMs),
    executorsMib: after.executorsMib,
    statements: (after.statements - before.statements) / jobs,
    callsPerConnection: jobs / (await target.connections()),
    resumed: await target.resumed(),
    mostAtOnce: await target.most(),
  };
}

/** Until every call has come and every result is written. */
async function drained(
  { run }: BenchDatabases,
  target: Target,
  jobs: number,
  signal: AbortSignal,
): Promise<void> {
  const arrived = await target.arrived(DRAIN_GROUP, jobs, DRAIN_MS, signal);
  assert(arrived, `${jobs} calls within ${DRAIN_MS} ms`);
  const recorded = await waitUntil(
    async () => (await run("SELECT 1 FROM jobs WHERE status = 'running' LIMIT 1")).length === 0,
    DRAIN_MS,
    signal,
  );
  assert(recorded, "every result is written");
}
