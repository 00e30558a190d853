/**
 * p2: capacity, end to end. Jobs that are due at once are drained — claimed, called, recorded, each commit on the disk — by one,
 * two and three executors, beside raw undici making as many of the same calls to the same target. All alternate in each round, so
 * that they meet the same machine; raw runs twice a round, to tell what the machine's noise looks like.
 */

import { assert } from "#core/domain/assert.ts";
import { createBulkJobs } from "#test/support/bulk-jobs.ts";
import { barChart } from "./charts.ts";
import { median, quantile, rounded } from "./figures.ts";
import { callRaw, readUsage, startTarget, startWorkers, type Target, waitUntil } from "./fleet.ts";
import { emptyTables, insertTasks } from "./insert-tasks.ts";
import { type LoadTask, seededTaskId, seededUnit, tenantNamed } from "./load-model.ts";
import { cpuMsOf } from "./machine.ts";
import { RAW_WARM_UP_CALLS } from "./raw-client.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { type BenchDatabases, openBenchDatabases } from "./stack.ts";

const EXECUTORS = [1, 2, 3] as const;
const TASKS = 1_000;
const TENANTS = 100;
const JOBS_PER_TASK = 15;
const WARM_UP_PER_TASK = 2;
const ROUNDS = 5;
const RATIO_MIN = 0.5;
const DRAIN_MS = 120_000;
const DAY_MS = 86_400_000;

export const scenario: Scenario = {
  question:
    "jobs a second end to end with 1, 2 and 3 executors, beside raw undici on the same target",
  run: runP2,
};

export interface Leg {
  readonly perSecond: number;
  readonly executorCpuUs: number;
  readonly mysqlCpuUs: number;
  readonly targetCpuUs: number;
  readonly statements: number;
  readonly callsPerConnection: number;
}

interface Measured {
  readonly raw: { perSecond: number; again: number; cpuUs: number; targetCpuUs: number }[];
  readonly drains: Map<number, Leg[]>;
}

async function runP2(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, options } = context;
  await using databases = await openBenchDatabases("p2", context);
  await using target = await startTarget(options.tls);
  const tasksCount = Math.max(options.quick ? 100 : TASKS, options.tls);
  const perTask = options.quick ? 5 : Math.ceil((TASKS * JOBS_PER_TASK) / tasksCount);
  const jobs = tasksCount * perTask;
  const rounds = options.rounds ?? (options.quick ? 1 : ROUNDS);
  const counts = options.executors === null ? EXECUTORS : [options.executors];
  const measured: Measured = { raw: [], drains: new Map(counts.map((count) => [count, []])) };
  const tasks = buildTasks(tasksCount, options.seed, (i, priority) => {
    return `${target.origins[i % target.origins.length]}/ok/0/${priority}/0`;
  });
  for (let round = 1; round <= rounds; round++) {
    const targetMs = cpuMsOf(target.pid);
    const first = await callRaw(target, jobs);
    const targetCpuUs = ((cpuMsOf(target.pid) - targetMs) * 1_000) / (jobs + RAW_WARM_UP_CALLS);
    for (const [executors, legs] of measured.drains) {
      await emptyTables(databases);
      await insertTasks(databases, tasks);
      legs.push(await drain(databases, target, { executors, tasksCount, perTask }, context));
    }
    const second = await callRaw(target, jobs);
    measured.raw.push({
      perSecond: (jobs * 1_000) / first.tookMs,
      again: (jobs * 1_000) / second.tookMs,
      cpuUs: (first.cpuMs * 1_000) / jobs,
      targetCpuUs,
    });
    const speeds = [...measured.drains.values()].map((legs) => legs.at(-1)?.perSecond ?? 0);
    const raw = measured.raw.at(-1)?.perSecond ?? 0;
    say(`round ${round} of ${rounds}: raw ${raw.toFixed(0)}/s, ${speeds.map(Math.round)}/s`);
  }
  return judge(measured, jobs);
}

/** Tasks that are not due themselves: their jobs are made beforehand. `urlOf` is what the task of a number calls. */
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

export interface DrainSize {
  readonly executors: number;
  readonly tasksCount: number;
  readonly perTask: number;
  /** Which tasks they are of, as a condition of SQL; all when left out. */
  readonly where?: string;
}

/** Drains so many due jobs of each task by fresh executors, after some to warm up. */
export async function drain(
  databases: BenchDatabases,
  target: Target,
  { executors, tasksCount, perTask, where }: DrainSize,
  { signal, options }: ScenarioContext,
): Promise<Leg> {
  const profileDir = options.profileDir ?? undefined;
  await using workers = await startWorkers(databases, {
    schedulers: 0,
    executors,
    env: target.callersEnv,
    profileDir,
  });
  const { run } = databases;
  const pending = { run, status: "pending", stepMs: 1, dueInMs: 0, where } as const;
  const fromMs = Date.now() - 60_000;
  await target.reset();
  const warmUps = Math.min(perTask, WARM_UP_PER_TASK);
  await createBulkJobs({ ...pending, perTask: warmUps, fromMs: fromMs - 1_000 });
  await drained(databases, target, tasksCount * warmUps, signal);
  await target.reset();
  const jobs = tasksCount * perTask;
  await createBulkJobs({ ...pending, perTask, fromMs });
  // Their commit is what executors see first.
  const startMs = performance.now();
  const before = await readUsage(databases, workers, target);
  await drained(databases, target, jobs, signal);
  const tookMs = performance.now() - startMs;
  const after = await readUsage(databases, workers, target);
  assert((await target.count()) === jobs, "every job was called once");
  const each = (ms: number) => (ms * 1_000) / jobs;
  return {
    perSecond: (jobs * 1_000) / tookMs,
    executorCpuUs: each(after.executorsCpuMs - before.executorsCpuMs),
    mysqlCpuUs: each(after.mysqlCpuMs - before.mysqlCpuMs),
    targetCpuUs: each(after.targetCpuMs - before.targetCpuMs),
    statements: (after.statements - before.statements) / jobs,
    callsPerConnection: jobs / (await target.connections()),
  };
}

/** Until every call has come and every result is written. */
async function drained(
  { run }: BenchDatabases,
  target: Target,
  jobs: number,
  signal: AbortSignal,
): Promise<void> {
  const arrived = await waitUntil(async () => (await target.count()) >= jobs, DRAIN_MS, signal);
  assert(arrived, `${jobs} calls within ${DRAIN_MS} ms`);
  const recorded = await waitUntil(
    async () => (await run("SELECT 1 FROM jobs WHERE status = 'running' LIMIT 1")).length === 0,
    DRAIN_MS,
    signal,
  );
  assert(recorded, "every result is written");
}

/** Medians of each number of executors; ratios are those of the same round. */
function summarize({ raw, drains }: Measured, rawCpuUs: number) {
  return [...drains].map(([executors, legs]) => {
    const ratios = legs.map(({ perSecond }, i) => {
      const { perSecond: first = Number.NaN, again = Number.NaN } = raw[i] ?? {};
      return perSecond / ((first + again) / 2);
    });
    const middle = (of: (leg: Leg) => number) => median(legs.map(of));
    return {
      executors,
      ratios,
      perSecond: middle((leg) => leg.perSecond),
      ratio: median(ratios),
      executorCpuUs: middle((leg) => leg.executorCpuUs),
      mysqlCpuUs: middle((leg) => leg.mysqlCpuUs),
      targetCpuUs: middle((leg) => leg.targetCpuUs),
      // What a machine whose cores are all busy has to do for a job, in raw calls: steadier than the time it took.
      cpuToRaw: middle((leg) => leg.executorCpuUs + leg.mysqlCpuUs + leg.targetCpuUs) / rawCpuUs,
      statements: middle((leg) => leg.statements),
      callsPerConnection: middle((leg) => leg.callsPerConnection),
    };
  });
}

function judge(measured: Measured, jobs: number): ScenarioOutcome {
  const { raw } = measured;
  const noise = raw.map(({ perSecond, again }) => again / perSecond);
  const rawCpuUs = median(raw.map(({ cpuUs }) => cpuUs));
  const rawTargetCpuUs = median(raw.map(({ targetCpuUs }) => targetCpuUs));
  const rawPerSecond = median(raw.map(({ perSecond }) => perSecond));
  const rows = summarize(measured, rawCpuUs + rawTargetCpuUs);
  const best = Math.max(...rows.map(({ ratio }) => ratio));
  const whole = (value: number) => value.toFixed(0);
  return {
    pass: best >= RATIO_MIN,
    figures: {
      jobs,
      rounds: raw.length,
      rawPerSecond: rounded(rawPerSecond, 0),
      rawCpuUs: rounded(rawCpuUs, 0),
      rawTargetCpuUs: rounded(rawTargetCpuUs, 0),
      rawToRawMin: rounded(quantile(noise, 0)),
      rawToRawMax: rounded(quantile(noise, 1)),
      executors: rows.map((row) => row.executors),
      perSecond: rows.map((row) => rounded(row.perSecond, 0)),
      ratio: rows.map((row) => rounded(row.ratio)),
      ratios: rows.map((row) => row.ratios.map((value) => rounded(value))),
      executorCpuUs: rows.map((row) => rounded(row.executorCpuUs, 0)),
      mysqlCpuUs: rows.map((row) => rounded(row.mysqlCpuUs, 0)),
      targetCpuUs: rows.map((row) => rounded(row.targetCpuUs, 0)),
      cpuToRaw: rows.map((row) => rounded(row.cpuToRaw)),
      statementsPerJob: rows.map((row) => rounded(row.statements, 4)),
      callsPerConnection: rows.map((row) => rounded(row.callsPerConnection, 1)),
    },
    table: [
      [
        "",
        "jobs/s",
        "÷ raw",
        "client CPU",
        "MySQL CPU",
        "target CPU",
        "CPU ÷ raw",
        "statements/job",
        "calls/connection",
      ],
      [
        "raw undici",
        whole(rawPerSecond),
        "1.00",
        `${whole(rawCpuUs)} µs`,
        "",
        `${whole(rawTargetCpuUs)} µs`,
        "1.00",
        "",
        "",
      ],
      ...rows.map((row) => [
        nameOf(row.executors),
        whole(row.perSecond),
        row.ratio.toFixed(2),
        `${whole(row.executorCpuUs)} µs`,
        `${whole(row.mysqlCpuUs)} µs`,
        `${whole(row.targetCpuUs)} µs`,
        row.cpuToRaw.toFixed(2),
        row.statements.toFixed(4),
        row.callsPerConnection.toFixed(1),
      ]),
    ],
    chart: barChart({
      title: `Drain of ${jobs} due jobs: claimed, called, recorded (median of ${raw.length})`,
      unit: "jobs/s",
      bars: [
        { label: "raw undici", value: rawPerSecond },
        ...rows.map((row) => ({ label: nameOf(row.executors), value: row.perSecond })),
      ],
    }),
  };
}

function nameOf(executors: number): string {
  return `${executors} executor${executors > 1 ? "s" : ""}`;
}
