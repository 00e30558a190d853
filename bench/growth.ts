/**
 * growth: whether what lies in `jobs` and `tasks` slows what is done. Three shards on one server: 50 thousand, 500 thousand and 5
 * million jobs that have ended beside as many tasks, a million at most. Each is drained of the same due jobs and ticked with the
 * same due tasks, in turn, and compared with the smallest in the same round.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { openMetrics } from "#adapters/system/metrics.ts";
import { assert } from "#core/domain/assert.ts";
import { partitionOfTask, taskIdToBytes } from "#core/domain/ids.ts";
import type { TaskStore } from "#core/ports/task-store.ts";
import { materializeDueTasks } from "#core/services/scheduler/materialize-due-tasks.ts";
import { migrate } from "#migrations/migrate.ts";
import { createBulkJobs } from "#test/support/bulk-jobs.ts";
import { createBulkTasks } from "#test/support/bulk-tasks.ts";
import { buildTasks, drain } from "./drain.ts";
import { median, quantile, rounded } from "./figures.ts";
import { startTarget, type Target } from "./fleet.ts";
import { insertTasks } from "./insert-tasks.ts";
import type { LoadTask } from "./load-model.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { type BenchDatabases, openBenchDatabases } from "./stack.ts";

const SIZES = [50_000, 500_000, 5_000_000] as const;
const QUICK_SIZES = [1_000, 2_000] as const;
const TASKS_MAX = 1_000_000;
const BATCH = 100_000;
const DRAINED_TASKS = 1_000;
const JOBS_PER_TASK = 10;
const WARM_UPS_PER_TASK = 10;
const ROUNDS = 5;
const TICKS_PER_ROUND = 5;
const RATIO_MIN = 0.85;
const DAY_MS = 86_400_000;
const SETTLE_MS = 60;
const RETENTION = { succeededMs: 3_600_000, endedMs: 14 * DAY_MS };

export const scenario: Scenario = {
  question: "jobs a second and a tick's time with 50 thousand, 500 thousand and 5 million rows",
  takes: ["quick", "rounds", "seed"],
  run: runGrowth,
};

interface Filled extends AsyncDisposable {
  readonly rows: number;
  readonly databases: BenchDatabases;
  readonly store: TaskStore;
  /** Those that are drained and ticked. */
  readonly tasks: readonly LoadTask[];
  readonly perSecond: number[];
  readonly tickMs: number[];
}

async function runGrowth(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, signal, options } = context;
  await using base = await openBenchDatabases("growth", context);
  await using target = await startTarget();
  await using stack = new AsyncDisposableStack();
  const all: Filled[] = [];
  for (const rows of options.quick ? QUICK_SIZES : SIZES) {
    say(`filling a shard with ${rows} jobs`);
    all.push(stack.use(await fill(base, rows, target, context)));
  }
  const rounds = options.rounds ?? (options.quick ? 1 : ROUNDS);
  for (let round = 1; round <= rounds; round++) {
    for (const one of all) {
      signal.throwIfAborted();
      const where = "tasks.tenant_id LIKE 'p2-%'";
      const tasksCount = one.tasks.length;
      const perTask = { warmUps: WARM_UPS_PER_TASK, jobs: JOBS_PER_TASK };
      const size = { executors: 1, tasksCount, perTask, where };
      const leg = await drain(one.databases, target, size, context);
      one.perSecond.push(leg.perSecond);
      const ticks: number[] = [];
      for (let i = 0; i < TICKS_PER_ROUND; i++) ticks.push(await measureTick(one));
      one.tickMs.push(median(ticks));
    }
    say(`round ${round} of ${rounds}: ${all.map((one) => one.perSecond.at(-1)?.toFixed(0))}/s`);
  }
  return judge(all);
}

/** A shard of its own with so many ended jobs, not to be archived during the bench. */
async function fill(
  base: BenchDatabases,
  rows: number,
  target: Target,
  { options, say }: ScenarioContext,
): Promise<Filled> {
  const databasePrefix = `bench_growth_${rows}_`;
  const { mysqlUrl } = base;
  await base.run(`DROP DATABASE IF EXISTS ${shardDatabase("0", databasePrefix)}`);
  await base.run(`DROP DATABASE IF EXISTS ${databasePrefix}control`);
  await migrate({ mysqlUrl, databasePrefix });
  const database = shardDatabase("0", databasePrefix);
  const connection = await createConnection({ uri: mysqlUrl, database, timezone: "Z" });
  const run = async (sql: string) => (await connection.query<RowDataPacket[]>(sql))[0];
  await run("SET SESSION wait_timeout = 3600, unique_checks = 0");
  const tasksCount = Math.min(rows, TASKS_MAX);
  for (let batch = 0; batch * BATCH < tasksCount; batch++) {
    const count = Math.min(BATCH, tasksCount - batch * BATCH);
    const dueMs = Date.now() + DAY_MS;
    const schedule = { type: "every", seconds: 86_400, anchor: new Date(dueMs).toISOString() };
    await createBulkTasks({
      run,
      count,
      batch,
      url: target.url,
      schedule,
      dueMs,
      spreadMs: DAY_MS,
    });
    const perTask = rows / tasksCount;
    // Each batch by the digit of it that is in its ids' sixth byte, so that no statement is longer than seconds.
    const where = `SUBSTR(tasks.id, 6, 1) = CHAR(${batch * 16})`;
    const ended = { run, status: "succeeded", perTask, where, dueInMs: DAY_MS } as const;
    await createBulkJobs({ ...ended, fromMs: Date.now() - 2 * DAY_MS, stepMs: 60_000 });
    if (batch > 0) say(`${(batch + 1) * BATCH * perTask} jobs`);
  }
  const tasks = buildTasks(
    options.quick ? 50 : DRAINED_TASKS,
    options.seed,
    (_, priority) => `${target.url}/ok/0/${priority}/0`,
  );
  await insertTasks({ run }, tasks);
  const shards = openShards({ mysqlUrl, databasePrefix });
  const [shard] = shards.all();
  assert(shard !== undefined, "there is a shard");
  const databases: BenchDatabases = { ...base, databasePrefix, run };
  const [count] = await run("SELECT COUNT(*) AS n FROM jobs");
  assert(count?.n === rows, `${rows} jobs are there, not ${count?.n}`);
  return {
    rows,
    databases,
    store: shard.tasks,
    tasks,
    perSecond: [],
    tickMs: [],
    async [Symbol.asyncDispose]() {
      await shards.close();
      connection.destroy();
      await base.run(`DROP DATABASE ${database}`);
    },
  };
}

/** One tick with all of the drained tasks due; their jobs are taken away afterwards. */
async function measureTick({ databases: { run }, store, tasks }: Filled): Promise<number> {
  const keys = tasks.map(
    ({ id }) => `(${partitionOfTask(id)},x'${Buffer.from(taskIdToBytes(id)).toString("hex")}')`,
  );
  const these = `(part, id) IN (${keys.join(",")})`;
  const [before] = await run("SELECT UTC_TIMESTAMP(3) AS at");
  await run(`UPDATE tasks SET next_run_at = UTC_TIMESTAMP(3), made_until = NULL WHERE ${these}`);
  await sleep(SETTLE_MS);
  const startMs = performance.now();
  const done = await materializeDueTasks({
    tasks: store,
    metrics: openMetrics("scheduler"),
    retention: RETENTION,
  });
  const tookMs = performance.now() - startMs;
  assert(done?.made === tasks.length, `a tick makes ${tasks.length} jobs, not ${done?.made}`);
  assert(before?.at instanceof Date, "the database tells the time");
  await run("DELETE FROM jobs WHERE status = 'pending'");
  return tookMs;
}

function judge(all: readonly Filled[]): ScenarioOutcome {
  const [smallest] = all;
  assert(smallest !== undefined, "something was measured");
  const rows = all.map(({ rows, perSecond, tickMs }) => {
    const drains = perSecond.map((value, i) => value / (smallest.perSecond[i] ?? Number.NaN));
    const ticks = tickMs.map((value, i) => (smallest.tickMs[i] ?? Number.NaN) / value);
    return { rows, perSecond, tickMs, drains, ticks };
  });
  const spreadOf = (of: readonly number[]) =>
    `${quantile(of, 0).toFixed(2)}–${quantile(of, 1).toFixed(2)}`;
  return {
    pass: rows.every(({ drains, ticks }) => Math.min(median(drains), median(ticks)) >= RATIO_MIN),
    figures: {
      rounds: smallest.perSecond.length,
      rows: rows.map((row) => row.rows),
      perSecond: rows.map((row) => rounded(median(row.perSecond), 0)),
      drainRatio: rows.map((row) => rounded(median(row.drains))),
      tickMs: rows.map((row) => rounded(median(row.tickMs), 1)),
      tickRatio: rows.map((row) => rounded(median(row.ticks))),
    },
    table: [
      [
        "rows in jobs",
        "jobs/s",
        "÷ smallest",
        "spread",
        "tick of 1,000",
        "speed ÷ smallest",
        "spread",
      ],
      ...rows.map((row) => [
        String(row.rows),
        median(row.perSecond).toFixed(0),
        median(row.drains).toFixed(2),
        spreadOf(row.drains),
        `${median(row.tickMs).toFixed(1)} ms`,
        median(row.ticks).toFixed(2),
        spreadOf(row.ticks),
      ]),
    ],
  };
}
