/**
 * growth: whether what lies in `jobs` and `tasks` slows what is done. Three shards on one server: 50 thousand, 500 thousand and 5
 * million jobs that have ended beside as many tasks, a million at most. Each is drained of the same due jobs and ticked with the
 * same due tasks, in turn, and compared with the smallest in the same round, which is measured twice.
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
import { holdToBar } from "./bars.ts";
import { buildTasks, drain } from "./drain.ts";
import { median, rounded } from "./figures.ts";
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
const NO_LEG: Leg = { perSecond: Number.NaN, tickMs: Number.NaN };
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
}

interface Leg {
  readonly perSecond: number;
  readonly tickMs: number;
}

/** A leg of each size, the smallest first; `again`: the smallest once more, which tells the machine's noise. */
interface Round {
  readonly legs: readonly Leg[];
  readonly again: Leg;
}

async function runGrowth(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, options } = context;
  await using base = await openBenchDatabases("growth", context);
  await using target = await startTarget();
  await using stack = new AsyncDisposableStack();
  const all: Filled[] = [];
  for (const rows of options.quick ? QUICK_SIZES : SIZES) {
    say(`filling a shard with ${rows} jobs`);
    all.push(stack.use(await fill(base, rows, target, context)));
  }
  const [smallest] = all;
  assert(smallest !== undefined, "there is something to measure");
  const rounds = options.rounds ?? (options.quick ? 1 : ROUNDS);
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const legs: Leg[] = [];
    for (const one of all) legs.push(await measure(one, target, context));
    measured.push({ legs, again: await measure(smallest, target, context) });
    say(`round ${round} of ${rounds}: ${legs.map((leg) => leg.perSecond.toFixed(0))}/s`);
  }
  return judge(
    all.map(({ rows }) => rows),
    measured,
  );
}

async function measure(one: Filled, target: Target, context: ScenarioContext): Promise<Leg> {
  context.signal.throwIfAborted();
  const where = "tasks.tenant_id LIKE 'p2-%'";
  const tasksCount = one.tasks.length;
  const perTask = { warmUps: WARM_UPS_PER_TASK, jobs: JOBS_PER_TASK };
  const size = { executors: 1, tasksCount, perTask, where };
  const { perSecond } = await drain(one.databases, target, size, context);
  const ticks: number[] = [];
  for (let i = 0; i < TICKS_PER_ROUND; i++) ticks.push(await measureTick(one));
  return { perSecond, tickMs: median(ticks) };
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

function judge(sizes: readonly number[], rounds: readonly Round[]): ScenarioOutcome {
  const legsOf = (i: number) => rounds.map(({ legs }) => legs[i] ?? NO_LEG);
  const smallest = legsOf(0);
  /** Speed as a share of the smallest's in the same round. */
  const drainsOf = (legs: readonly Leg[]) =>
    legs.map((leg, i) => leg.perSecond / (smallest[i]?.perSecond ?? Number.NaN));
  const ticksOf = (legs: readonly Leg[]) =>
    legs.map((leg, i) => (smallest[i]?.tickMs ?? Number.NaN) / leg.tickMs);
  const again = rounds.map((round) => round.again);
  const bars = sizes.slice(1).flatMap((rows, i) => {
    const bar = (what: string) =>
      ({
        what: `${what} beside ${rows} rows ÷ ${sizes[0]}`,
        bound: "at least",
        value: RATIO_MIN,
      }) as const;
    const legs = legsOf(i + 1);
    return [
      holdToBar(bar("drain"), drainsOf(legs), drainsOf(again)),
      holdToBar(bar("speed of a tick"), ticksOf(legs), ticksOf(again)),
    ];
  });
  const middle = (i: number, of: keyof Leg) => median(legsOf(i).map((leg) => leg[of]));
  return {
    pass: bars.every(({ met }) => met),
    figures: {
      rounds: rounds.length,
      rows: [...sizes],
      perSecond: sizes.map((_, i) => rounded(middle(i, "perSecond"), 0)),
      tickMs: sizes.map((_, i) => rounded(middle(i, "tickMs"), 1)),
    },
    bars,
    table: [
      ["rows in jobs", "jobs/s", "tick of 1,000"],
      ...sizes.map((rows, i) => [
        String(rows),
        middle(i, "perSecond").toFixed(0),
        `${middle(i, "tickMs").toFixed(1)} ms`,
      ]),
    ],
  };
}
