/**
 * idle: ten executors and two schedulers with nothing to do: what they ask of MySQL and what CPU they use; and how soon a critical
 * run-now, and a new critical task that is due, is sent all the same, counted from the service's answer to the call's arrival.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openShards } from "#adapters/mysql/shards.ts";
import { assert } from "#core/domain/assert.ts";
import { runTask } from "#core/services/tasks/run-task.ts";
import { addLoad, depsOf } from "#test/support/limited-load.ts";
import { buildTasks } from "./drain.ts";
import { quantile, rounded } from "./figures.ts";
import { readUsage, startTarget, startWorkers } from "./fleet.ts";
import { emptyTables, insertTasks } from "./insert-tasks.ts";
import { cpuMsOf } from "./machine.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { giveSigningSecrets } from "./signing-secrets.ts";
import { openBenchDatabases } from "./stack.ts";

const EXECUTORS = 10;
const SCHEDULERS = 2;
const SECONDS = 30;
const RUNS = 100;
/** Runs come at odd times, so that they meet every place in the executors' common period. */
const APART_MS = 137;
const SETTLE_MS = 5_000;
const ARRIVAL_MS = 5_000;
const QUERIES_MAX = 20;
const CPU_SHARE_MAX = 0.02;
const P99_MAX_MS = 300;

export const scenario: Scenario = {
  question: "what ten executors and two schedulers cost that have nothing to do, and run-now then",
  takes: ["quick", "executors", "seconds", "seed"],
  run: runIdle,
};

async function runIdle(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, signal, options } = context;
  const seconds = options.seconds ?? (options.quick ? 2 : SECONDS);
  await using databases = await openBenchDatabases("idle", context);
  await using target = await startTarget();
  await emptyTables(databases);
  // Every fourth is critical.
  const tasks = buildTasks(4, options.seed, (_, priority) => `${target.url}/ok/0/${priority}/0`);
  await insertTasks(databases, tasks);
  await giveSigningSecrets(databases, tasks);
  const fleet = { schedulers: SCHEDULERS, executors: options.executors ?? EXECUTORS };
  await using workers = await startWorkers(databases, fleet);
  await sleep(SETTLE_MS, undefined, { signal });
  const pids = [...workers.executors, ...workers.schedulers].map(({ pid }) => pid);
  say(`${pids.length} workers are idle for ${seconds} s`);
  const cpuBefore = pids.map(cpuMsOf);
  const before = await readUsage(databases, workers, target);
  await sleep(seconds * 1_000, undefined, { signal });
  const after = await readUsage(databases, workers, target);
  const cpuShares = pids.map((pid, i) => (cpuMsOf(pid) - (cpuBefore[i] ?? 0)) / (seconds * 1_000));

  const [critical] = tasks;
  assert(critical !== undefined, "a critical task is there");
  const runs = options.quick ? 10 : RUNS;
  const shards = openShards(databases);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => shards.close());
  const deps = depsOf(shards);
  let calls = 0;
  /** From `make`'s answer to its call, ms, of each run. */
  const sentAfter = async (make: () => Promise<unknown>) => {
    const sentMs: number[] = [];
    for (let run = 0; run < runs; run++) {
      await sleep(APART_MS, undefined, { signal });
      await make();
      const answeredMs = Date.now();
      assert(await target.arrived(0, ++calls, ARRIVAL_MS, signal), "what is critical is called");
      const { arrivedAtMs } = await target.calls();
      sentMs.push((arrivedAtMs.at(-1) ?? Number.NaN) - answeredMs);
    }
    return sentMs;
  };
  const { tenantId, id } = critical;
  say(`running a critical task ${runs} times`);
  const runNowMs = await sentAfter(async () => {
    const made = await runTask(deps, tenantId, id, null);
    assert(made.kind === "made", "a task that is there can be run");
  });
  say(`making ${runs} critical tasks that are due`);
  const due = { tenantId, url: `${target.url}/ok/0/0`, count: 1, priority: "critical" } as const;
  const newTaskMs = await sentAfter(() => addLoad(deps, { ...due, atMs: Date.now() }));
  return judge({
    // The bench's own look at the counter is one.
    queriesPerSecond: (after.statements - before.statements - 1) / seconds,
    cpuShares,
    mysqlShare: (after.mysqlCpuMs - before.mysqlCpuMs) / (seconds * 1_000),
    runNowMs,
    newTaskMs,
  });
}

interface Run {
  readonly queriesPerSecond: number;
  readonly cpuShares: readonly number[];
  readonly mysqlShare: number;
  readonly runNowMs: readonly number[];
  readonly newTaskMs: readonly number[];
}

function judge({
  queriesPerSecond,
  cpuShares,
  mysqlShare,
  runNowMs,
  newTaskMs,
}: Run): ScenarioOutcome {
  const busiest = Math.max(...cpuShares);
  const [runNow50, runNow99] = [quantile(runNowMs, 0.5), quantile(runNowMs, 0.99)];
  const [new50, new99] = [quantile(newTaskMs, 0.5), quantile(newTaskMs, 0.99)];
  const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
  return {
    pass:
      queriesPerSecond < QUERIES_MAX &&
      busiest < CPU_SHARE_MAX &&
      Math.max(runNow99, new99) <= P99_MAX_MS,
    figures: {
      workers: cpuShares.length,
      queriesPerSecond: rounded(queriesPerSecond, 1),
      busiestCpuShare: rounded(busiest, 4),
      mysqlCpuShare: rounded(mysqlShare, 4),
      runs: runNowMs.length,
      runNowP50Ms: rounded(runNow50, 0),
      runNowP99Ms: rounded(runNow99, 0),
      newTaskP50Ms: rounded(new50, 0),
      newTaskP99Ms: rounded(new99, 0),
    },
    table: [
      ["", "measured", "bar"],
      ["queries a second, all workers", queriesPerSecond.toFixed(1), `< ${QUERIES_MAX}`],
      ["CPU of the busiest worker", percent(busiest), `< ${percent(CPU_SHARE_MAX)}`],
      ["CPU of MySQL", percent(mysqlShare), ""],
      ["critical run-now, p50", `${runNow50} ms`, ""],
      ["critical run-now, p99", `${runNow99} ms`, `≤ ${P99_MAX_MS} ms`],
      ["new critical task that is due, p50", `${new50} ms`, ""],
      ["new critical task that is due, p99", `${new99} ms`, `≤ ${P99_MAX_MS} ms`],
    ],
  };
}
