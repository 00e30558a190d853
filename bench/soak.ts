/** p1 as a soak: the average load for half an hour, with lag, memory and handles over time. What leaks grows. */
import { readdirSync } from "node:fs";
import { PRIORITIES } from "#core/domain/queue.ts";
import type { OwnProcess } from "#test/support/worker-process.ts";
import { median, quantile, rounded } from "./figures.ts";
import { sleepUntil, startTarget, startWorkers } from "./fleet.ts";
import { emptyTables, insertTasks } from "./insert-tasks.ts";
import { LAG_HEADS, lagFigures, lagRows, lagsByPriority } from "./lag.ts";
import { buildLoadModel, STEADY_GROUP } from "./load-model.ts";
import { memoryMibOf } from "./machine.ts";
import type { ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { giveSigningSecrets } from "./signing-secrets.ts";
import { openBenchDatabases } from "./stack.ts";
import { readSteadyLags, type SteadyLags } from "./steady-lags.ts";
import { type TimeLine, timeChart } from "./time-chart.ts";

const SECONDS = 1_800;
const AHEAD_MS = 3_000;
const DAY_MS = 86_400_000;
/** A chart has so many points, and no two of them closer than a second. */
const SAMPLES = 180;
/** The first part fills caches and pools; of what follows, the last part is held against the first. */
const WARM_SHARE = 1 / 3;
const GROWTH_MAX = 1.25;
/** In less a heap has not found its size: its growth is told, and decides nothing. */
const GROWTH_JUDGED_SECONDS = 900;
const P99_MAX_MS = [1_000, 20_000, 180_000, 1_200_000];

interface Sample {
  readonly atSeconds: number;
  /** By process. */
  readonly memoryMib: readonly number[];
  readonly handles: readonly number[];
}

export async function runSoak(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, signal, options } = context;
  const seconds = options.seconds ?? SECONDS;
  await using databases = await openBenchDatabases("soak", context);
  await using target = await startTarget();
  await emptyTables(databases);
  const nowMs = Date.now();
  const tasks = buildLoadModel({
    seed: options.seed,
    targets: target.origins,
    fromMs: nowMs,
    peakAtMs: nowMs + DAY_MS / 2,
    scale: 1,
    endpoints: "mixed",
  });
  say(`inserting ${tasks.length} tasks`);
  await insertTasks(databases, tasks);
  await giveSigningSecrets(databases, tasks);
  await using workers = await startWorkers(databases, {
    schedulers: 1,
    executors: options.executors ?? 1,
  });
  const processes = [...workers.executors, ...workers.schedulers];
  const names = [
    ...workers.executors.map((_, i) => `executor ${i + 1}`),
    ...workers.schedulers.map((_, i) => `scheduler ${i + 1}`),
  ];
  const fromMs = Date.now() + AHEAD_MS;
  const untilMs = fromMs + seconds * 1_000;
  await sleepUntil(fromMs, signal);
  say(`measuring for ${seconds} s`);
  const stepMs = Math.max(1_000, (seconds * 1_000) / SAMPLES);
  const samples: Sample[] = [];
  for (let atMs = fromMs; atMs <= untilMs; atMs += stepMs) {
    await sleepUntil(atMs, signal);
    samples.push(take((atMs - fromMs) / 1_000, processes));
  }
  const steady = await readSteadyLags(target, tasks, { fromMs, untilMs }, signal);
  return judge({ ...steady, seconds, names, samples, fromMs, stepMs });
}

function take(atSeconds: number, processes: readonly OwnProcess[]): Sample {
  return {
    atSeconds,
    memoryMib: processes.map(({ pid }) => memoryMibOf(pid)),
    handles: processes.map(({ pid }) => countHandles(pid)),
  };
}

/** Open files and sockets of a process; NaN where they cannot be read. */
function countHandles(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return Number.NaN;
  }
}

interface Soak extends SteadyLags {
  readonly seconds: number;
  readonly names: readonly string[];
  readonly samples: readonly Sample[];
  readonly fromMs: number;
  readonly stepMs: number;
}

function judge(soak: Soak): ScenarioOutcome {
  const { seconds, names, samples, lags, missing } = soak;
  const growths = names.map((name, i) => ({
    name,
    memory: growth(samples.map(({ memoryMib }) => memoryMib[i] ?? Number.NaN)),
    handles: growth(samples.map(({ handles }) => handles[i] ?? Number.NaN)),
  }));
  const inTime = lags.every(
    (of, rank) => of.length === 0 || quantile(of, 0.99) < (P99_MAX_MS[rank] ?? 0),
  );
  const isJudged = seconds >= GROWTH_JUDGED_SECONDS;
  const steady = growths.every((one) => one.memory <= GROWTH_MAX && one.handles <= GROWTH_MAX);
  const last = samples.at(-1);
  const sayGrowth = (value: number) => `× ${value.toFixed(2)}`;
  return {
    pass: inTime && missing === 0 && (steady || !isJudged),
    figures: {
      seconds,
      growthJudged: isJudged,
      lag: lagFigures(lags),
      missing,
      growth: growths.map(({ name, memory, handles }) => ({
        name,
        memory: rounded(memory),
        handles: rounded(handles),
      })),
      memoryMib: last?.memoryMib ?? [],
      handles: last?.handles ?? [],
    },
    table: [
      [...LAG_HEADS],
      ...lagRows(lags),
      ["missing", String(missing), "", "", ""],
      ...growths.map(({ name, memory, handles }, i) => [
        name,
        `${last?.memoryMib[i]} MiB`,
        sayGrowth(memory),
        `${last?.handles[i]} handles`,
        sayGrowth(handles),
      ]),
    ],
    chart: timeChart(`Average load for ${Math.round(seconds / 60)} minutes`, [
      { name: "lag p99, ms", lines: lagsOverTime(soak) },
      { name: "memory, MiB", lines: linesOf(names, samples, ({ memoryMib }) => memoryMib) },
      { name: "open handles", lines: linesOf(names, samples, ({ handles }) => handles) },
    ]),
  };
}

/** Of the time after the first third: its last third against its first. */
function growth(values: readonly number[]): number {
  const warm = values.slice(Math.floor(values.length * WARM_SHARE));
  const part = Math.max(1, Math.floor(warm.length / 3));
  return median(warm.slice(-part)) / median(warm.slice(0, part));
}

function linesOf(
  names: readonly string[],
  samples: readonly Sample[],
  of: (sample: Sample) => readonly number[],
): TimeLine[] {
  return names.map((label, i) => ({
    label,
    points: samples.map((sample) => [sample.atSeconds, of(sample)[i] ?? Number.NaN] as const),
  }));
}

function lagsOverTime({ samples, calls, fromMs, stepMs }: Soak): TimeLine[] {
  const steps = samples.map(({ atSeconds }) => {
    const begin = fromMs + atSeconds * 1_000;
    const window = { group: STEADY_GROUP, fromMs: begin, untilMs: begin + stepMs };
    return { atSeconds, lags: lagsByPriority(calls, window) };
  });
  return PRIORITIES.map((label, rank) => ({
    label,
    points: steps.map(
      ({ atSeconds, lags }) => [atSeconds, quantile(lags[rank] ?? [], 0.99)] as const,
    ),
  }));
}
