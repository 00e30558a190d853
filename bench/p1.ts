/** p1: the load model at its average, 38 executions a second, endpoints fast, slow, flaky and down: how late, and what it costs. */
import { assert } from "#core/domain/assert.ts";
import { lagChart } from "./charts.ts";
import { quantile, rounded } from "./figures.ts";
import { readUsage, sleepUntil, startTarget, startWorkers, type Usage } from "./fleet.ts";
import { emptyTables, insertTasks, instantSql } from "./insert-tasks.ts";
import { LAG_HEADS, lagFigures, lagLines, lagRows } from "./lag.ts";
import { buildLoadModel } from "./load-model.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { giveSigningSecrets } from "./signing-secrets.ts";
import { runSoak } from "./soak.ts";
import { openBenchDatabases } from "./stack.ts";
import { readSteadyLags } from "./steady-lags.ts";

const SECONDS = 120;
const QUICK_SECONDS = 3;
const QUICK_SCALE = 0.1;
/** The first jobs are made and the connections warm before anything counts. */
const AHEAD_MS = 3_000;
const GRACE_MS = 2_000;
const DAY_MS = 86_400_000;
/** What is promised, most urgent first. */
const P99_MAX_MS = [1_000, 20_000, 180_000, 1_200_000];

export const scenario: Scenario = {
  question: "how late jobs are at the average load of 38 a second, and what they cost",
  takes: ["quick", "seed", "seconds", "executors", "soak"],
  run: runP1,
};

async function runP1(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, signal, options } = context;
  if (options.soak) return runSoak(context);
  const { quick, seed } = options;
  const seconds = options.seconds ?? (quick ? QUICK_SECONDS : SECONDS);
  await using databases = await openBenchDatabases("p1", context);
  await using target = await startTarget();
  await emptyTables(databases);
  const nowMs = Date.now();
  const tasks = buildLoadModel({
    seed,
    targets: target.origins,
    fromMs: nowMs,
    peakAtMs: nowMs + DAY_MS / 2,
    scale: quick ? QUICK_SCALE : 1,
    endpoints: "mixed",
  });
  say(`inserting ${tasks.length} tasks`);
  await insertTasks(databases, tasks);
  await giveSigningSecrets(databases, tasks);
  const executors = options.executors ?? 1;
  await using workers = await startWorkers(databases, { schedulers: 1, executors });
  const fromMs = Date.now() + AHEAD_MS;
  const untilMs = fromMs + seconds * 1_000;
  await sleepUntil(fromMs, signal);
  say(`measuring for ${seconds} s`);
  const before = await readUsage(databases, workers, target);
  await sleepUntil(untilMs, signal);
  const after = await readUsage(databases, workers, target);
  await sleepUntil(untilMs + GRACE_MS, signal);
  const { lags, missing } = await readSteadyLags(target, tasks, { fromMs, untilMs }, signal);
  const [attempts] = await databases.run(
    `SELECT SUM(attempt) AS sent FROM jobs WHERE scheduled_at >= ${instantSql(fromMs)} AND scheduled_at < ${instantSql(untilMs)}`,
  );
  const sent = Number(attempts?.sent);
  return judge({ seconds, seed, executors, lags, missing, before, after, sent });
}

interface Run {
  readonly seconds: number;
  readonly seed: number;
  readonly executors: number;
  readonly lags: readonly (readonly number[])[];
  readonly missing: number;
  readonly before: Usage;
  readonly after: Usage;
  /** Calls that were made of the jobs of the window, those to endpoints that are down too. */
  readonly sent: number;
}

function judge(run: Run): ScenarioOutcome {
  const { seconds, seed, executors, lags, missing, before, after, sent } = run;
  assert(sent > 0, "something was sent");
  const used = (of: (usage: Usage) => number) => of(after) - of(before);
  const cpu: readonly (readonly [string, number])[] = [
    ["executors", used((usage) => usage.executorsCpuMs) / 1_000],
    ["scheduler", used((usage) => usage.schedulersCpuMs) / 1_000],
    ["MySQL", used((usage) => usage.mysqlCpuMs) / 1_000],
    ["target", used((usage) => usage.targetCpuMs) / 1_000],
  ];
  const statements = used((usage) => usage.statements);
  const inTime = lags.map(
    (of, rank) => of.length === 0 || quantile(of, 0.99) < (P99_MAX_MS[rank] ?? 0),
  );
  return {
    pass: inTime.every(Boolean) && missing === 0,
    figures: {
      seed,
      seconds,
      executors,
      perSecond: rounded(sent / seconds, 1),
      lag: lagFigures(lags),
      missing,
      cpuSeconds: Object.fromEntries(cpu.map(([name, value]) => [name, rounded(value)])),
      statementsPerSecond: rounded(statements / seconds, 1),
      statementsPerJob: rounded(statements / sent),
      executorsMib: rounded(after.executorsMib, 0),
      mysqlMib: rounded(after.mysqlMib, 0),
    },
    table: [
      [...LAG_HEADS],
      ...lagRows(lags),
      ["missing", String(missing), "", "", ""],
      ["jobs", String(sent), `${(sent / seconds).toFixed(1)}/s`, "", ""],
      ...cpu.map(([name, value]) => [
        `CPU, ${name}`,
        `${value.toFixed(2)} s`,
        `${((value * 100) / seconds).toFixed(1)} %`,
        "",
        "",
      ]),
      ["statements", String(statements), `${(statements / sent).toFixed(2)}/job`, "", ""],
      ["memory", `${after.executorsMib} MiB`, "executors", `${after.mysqlMib} MiB`, "MySQL"],
    ],
    chart: lagChart({
      title: `Average load: ${(sent / seconds).toFixed(0)} jobs/s, share of calls sent by lag`,
      lines: lagLines(lags),
    }),
  };
}
