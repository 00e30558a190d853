/**
 * p3: 30,000 tasks of the load model due in one second, from the scheduler's tick to the last result written, while the steady
 * load goes on, with one, two and three executors in turn; beside raw undici making 30,000 of the same calls to the same target,
 * before and after each. One executor has its peak twice a round, to tell what the machine's noise looks like. Endpoints answer at once.
 *
 * Each executor and raw have made as many calls before (`warmUp` of the figures): executors those of old jobs of the peak's own
 * tasks. `--cold` leaves that out but for raw's connections. `--delay N`: endpoints take N ms, so that slots are what is scarce; raw
 * is left out. Each peak has tasks and workers of its own; medians of the rounds count.
 */
import { assert } from "#core/domain/assert.ts";
import { createBulkJobs } from "#test/support/bulk-jobs.ts";
import { rounded } from "./figures.ts";
import {
  callRaw,
  readUsage,
  sleepUntil,
  startTarget,
  startWorkers,
  type Target,
  waitUntil,
} from "./fleet.ts";
import { emptyTables, insertTasks, instantSql, someTasksSql } from "./insert-tasks.ts";
import { lagsByPriority } from "./lag.ts";
import { buildLoadModel, PEAK_GROUP } from "./load-model.ts";
import { judge, type Peak } from "./p3/judge.ts";
import type { BenchOptions, Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { giveSigningSecrets } from "./signing-secrets.ts";
import { type BenchDatabases, openBenchDatabases } from "./stack.ts";
import { warmUpCalls } from "./warm-up.ts";

const QUICK_SCALE = 0.02;
/** From the peak's tasks being set to the peak: the scheduler sees 30 s ahead, five minutes where it has more to make. */
const AHEAD_MS = 35_000;
const QUICK_AHEAD_MS = 4_000;
const DAY_MS = 86_400_000;
const DRAIN_MS = 600_000;
const EXECUTORS = [1, 2, 3];
const DELAYED_WARM_UPS = 5_000;

export const scenario: Scenario = {
  question: "how late 30,000 jobs are that are due in one second, and how long they take",
  takes: ["quick", "rounds", "seed", "executors", "tls", "delay", "cold", "profile"],
  run: runP3,
};

async function runP3(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, options } = context;
  await using databases = await openBenchDatabases("p3", context);
  await using target = await startTarget(options.tls);
  const rounds = options.rounds ?? 1;
  const counts = options.executors === null ? EXECUTORS : [options.executors];
  const peaks = new Map(counts.map((count): [number, Peak[]] => [count, []]));
  const again: Peak[] = [];
  for (let round = 1; round <= rounds; round++) {
    const runOf = async (executors: number) => {
      const peak = await runPeak(databases, target, executors, context);
      const after = `the last result was written ${peak.drainMs} ms after the second`;
      say(`round ${round} of ${rounds}, executors: ${executors}: ${after}`);
      return peak;
    };
    for (const [count, of] of peaks) of.push(await runOf(count));
    if (peaks.size > 1) again.push(await runOf(counts[0] ?? 1));
  }
  return judge({ peaks, again }, options.delayMs, {
    seed: options.seed,
    warmUp: warmUpsOf(options),
    origins: target.origins.length,
  });
}

async function runPeak(
  databases: BenchDatabases,
  target: Target,
  executors: number,
  context: ScenarioContext,
): Promise<Peak> {
  const { say, signal, options } = context;
  const laterMs = Date.now() + DAY_MS;
  const jobs = await insertModel(databases, target, laterMs, context);
  const raw = { calls: jobs, warmUps: Math.max(warmUpCalls(options), target.origins.length) };
  const rawMs = async () =>
    options.delayMs > 0 ? Number.NaN : (await callRaw(target, raw)).tookMs;
  const rawBeforeMs = await rawMs();
  const profileDir = options.profileDir ?? undefined;
  const { callersEnv: env } = target;
  const fleet = { schedulers: 1, executors, env, profileDir };
  await using workers = await startWorkers(databases, fleet);
  if (!options.cold) await warmUp(databases, target, { laterMs, jobs, executors }, context);
  const aheadMs = options.quick ? QUICK_AHEAD_MS : AHEAD_MS;
  const peakAtMs = Math.ceil((Date.now() + aheadMs) / 1_000) * 1_000;
  await setPeak(databases, laterMs, peakAtMs);
  await target.reset();
  await sleepUntil(peakAtMs - 500, signal);
  const [made] = await databases.run(
    `SELECT COUNT(*) AS n FROM jobs WHERE scheduled_at = ${instantSql(peakAtMs)}`,
  );
  const before = await readUsage(databases, workers, target);
  say(`${made?.n} of ${jobs} jobs are made; waiting for ${jobs} calls`);
  const arrived = await target.arrived(PEAK_GROUP, jobs, DRAIN_MS, signal);
  assert(arrived, `${jobs} calls within ${DRAIN_MS} ms`);
  const left = `SELECT 1 FROM jobs FORCE INDEX (queue) WHERE status IN ('pending', 'running') AND scheduled_at = ${instantSql(peakAtMs)} LIMIT 1`;
  const recorded = async () => (await databases.run(left)).length === 0;
  assert(await waitUntil(recorded, DRAIN_MS, signal), "every result is written");
  const drainMs = Date.now() - peakAtMs;
  const connections = await target.connections();
  const resumed = await target.resumed();
  const after = await readUsage(databases, workers, target);
  const window = { group: PEAK_GROUP, fromMs: peakAtMs, untilMs: peakAtMs + 1 };
  const lags = lagsByPriority(await target.calls(), window);
  const each = (ms: number) => (ms * 1_000) / jobs;
  return {
    jobs,
    lags,
    drainMs,
    rawMs: [rawBeforeMs, await rawMs()],
    madeBefore: Number(made?.n),
    executorCpuUs: each(after.executorsCpuMs - before.executorsCpuMs),
    mysqlCpuUs: each(after.mysqlCpuMs - before.mysqlCpuMs),
    statementsPerJob: (after.statements - before.statements) / jobs,
    executorsMib: after.executorsMib,
    callsPerConnection: rounded(jobs / connections, 1) ?? 0,
    resumed,
  };
}

/** Inserts the load model with its peak at `laterMs`; answers how many tasks the peak has. */
async function insertModel(
  databases: BenchDatabases,
  target: Target,
  laterMs: number,
  { say, options }: ScenarioContext,
): Promise<number> {
  await emptyTables(databases);
  const tasks = buildLoadModel({
    seed: options.seed,
    targets: target.origins,
    fromMs: Date.now(),
    peakAtMs: laterMs,
    scale: options.quick ? QUICK_SCALE : 1,
    endpoints: options.delayMs > 0 ? { delayMs: options.delayMs } : "instant",
  });
  const jobs = tasks.filter(({ url }) => url.endsWith(`/${PEAK_GROUP}`)).length;
  say(`inserting ${tasks.length} tasks, ${jobs} of them for the peak`);
  await insertTasks(databases, tasks);
  await giveSigningSecrets(databases, tasks);
  return jobs;
}

/** Lets each executor make its calls before the peak: of old jobs of the peak's tasks, which are not due themselves yet. */
async function warmUp(
  databases: BenchDatabases,
  target: Target,
  { laterMs, jobs, executors: perTask }: { laterMs: number; jobs: number; executors: number },
  { signal, options }: ScenarioContext,
): Promise<void> {
  const { run } = databases;
  const calls = Math.min(warmUpsOf(options), jobs);
  const where = someTasksSql(calls, `next_run_at = ${instantSql(laterMs)}`);
  const pending = { run, status: "pending", perTask, where, stepMs: 1, dueInMs: 0 } as const;
  await target.reset();
  const fromMs = Date.now() - DAY_MS;
  await createBulkJobs({ ...pending, fromMs });
  const old = `scheduled_at < ${instantSql(fromMs + perTask)}`;
  const [made] = await run(`SELECT COUNT(*) AS n FROM jobs WHERE ${old}`);
  const wanted = perTask * calls;
  assert(Number(made?.n) === wanted, `${made?.n} jobs of ${wanted} to warm up with`);
  const arrived = await target.arrived(PEAK_GROUP, Number(made?.n), DRAIN_MS, signal);
  assert(arrived, `the warm-up's ${made?.n} calls within ${DRAIN_MS} ms`);
  const left = `SELECT 1 FROM jobs FORCE INDEX (queue) WHERE status IN ('pending', 'running') AND ${old} LIMIT 1`;
  const recorded = async () => (await run(left)).length === 0;
  assert(await waitUntil(recorded, DRAIN_MS, signal), "every result of the warm-up is written");
}

/** Slow endpoints would make a warm-up of all calls longer than what is measured. */
function warmUpsOf(options: BenchOptions): number {
  if (options.cold) return 0;
  const calls = warmUpCalls(options);
  return options.delayMs > 0 ? Math.min(calls, DELAYED_WARM_UPS) : calls;
}

/** How long inserting takes depends on the machine: the peak is set when the tasks are there. */
async function setPeak({ run }: BenchDatabases, fromMs: number, toMs: number): Promise<void> {
  const anchor = new Date(toMs).toISOString();
  await run(
    `UPDATE tasks SET next_run_at = ${instantSql(toMs)}, schedule = JSON_SET(schedule, '$.anchor', '${anchor}') WHERE next_run_at = ${instantSql(fromMs)}`,
  );
}
