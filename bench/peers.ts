/**
 * peers: our drain beside BullMQ on Redis, pg-boss and graphile-worker on PostgreSQL, db-scheduler on the same MySQL, each in its
 * fastest documented mode, and raw undici as the limit. All call the same target with the same payload and as many calls at once;
 * all commit to the disk before they answer. Once with endpoints that answer at once, once with endpoints that take 1 to 500 ms.
 * All alternate in each round; raw runs twice, which tells the machine's noise.
 *
 * It installs what it needs beside the local system's files (`.local/bench/peers`), PostgreSQL and Redis through the system's
 * package manager.
 */
import { median, quantile, rounded } from "./figures.ts";
import { callRaw, startTarget, type Target } from "./fleet.ts";
import { emptyTables, insertTasks, PAYLOAD } from "./insert-tasks.ts";
import { seededUnit } from "./load-model.ts";
import { cpuMsOf } from "./machine.ts";
import { buildTasks, drain } from "./p2.ts";
import { type Calls, installPeers, type PeerLeg, runDbScheduler, runScript } from "./peers/legs.ts";
import { type PeerServer, startPostgres, startRedis } from "./peers/servers.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { type BenchDatabases, openBenchDatabases } from "./stack.ts";

const ROUNDS = 9;
const SLOTS = 64;
const TASKS = 1_000;
const TASKS_QUICK = 50;
const DB_SCHEDULER = "bench_db_scheduler";
const SIZES = { instant: 15, mixed: 3 } as const;
type Endpoints = keyof typeof SIZES;
const SLOWEST_MS = 500;
/** Ours against the fastest peer. */
const RATIO_MIN = { instant: 1, mixed: 2 } as const;
const OURS = "at-and-cron";
const RAW = "raw undici";
const RAW_AGAIN = "raw again";

export const scenario: Scenario = {
  question: "jobs a second beside other job queues, same target, same payload, all durable",
  run: runPeers,
};

interface Figures {
  readonly perSecond: number;
  /** Worker and server together, µs a job. */
  readonly cpuUs: number;
}

type Leg = () => Promise<Figures>;

interface Parts {
  readonly context: ScenarioContext;
  /** Where the peers' packages are. */
  readonly dir: string;
  readonly postgres: PeerServer;
  readonly redis: PeerServer;
  readonly databases: BenchDatabases;
  readonly target: Target;
}

async function runPeers(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { options, say, signal } = context;
  const dir = await installPeers(context);
  await using postgres = await startPostgres(context);
  await using redis = await startRedis(context);
  await using databases = await openBenchDatabases("peers", context);
  await using target = await startTarget();
  await databases.run(`CREATE DATABASE IF NOT EXISTS ${DB_SCHEDULER}`);
  const parts: Parts = { context, dir, postgres, redis, databases, target };
  const rounds = options.rounds ?? (options.quick ? 1 : ROUNDS);
  const measured = { instant: new Map<string, Figures[]>(), mixed: new Map<string, Figures[]>() };
  for (let round = 1; round <= rounds; round++)
    for (const endpoints of ["instant", "mixed"] as const)
      for (const [name, leg] of await buildLegs(parts, endpoints)) {
        signal.throwIfAborted();
        await target.reset();
        const figures = await leg();
        const { [endpoints]: of } = measured;
        of.set(name, [...(of.get(name) ?? []), figures]);
        say(`round ${round} of ${rounds}, ${endpoints}: ${name} ${figures.perSecond.toFixed(0)}/s`);
      }
  const durability = { redis: redis.durability, postgres: postgres.durability };
  return judge(measured, { rounds, ...durability, mysql: "innodb_flush_log_at_trx_commit = 1" });
}

/** The legs of a round, in the order in which they run. */
async function buildLegs(parts: Parts, endpoints: Endpoints): Promise<Map<string, Leg>> {
  const { context, dir, postgres, redis, databases, target } = parts;
  const tasksCount = context.options.quick ? TASKS_QUICK : TASKS;
  const pathOf = pathsOf(endpoints, tasksCount, context.options.seed);
  const perTask = SIZES[endpoints];
  const paths = Array.from({ length: tasksCount * perTask }, (_, i) =>
    pathOf(i % tasksCount, i % 4),
  );
  const calls: Calls = { target: target.url, paths, atOnce: SLOTS, payload: PAYLOAD };
  const mysqlPid = await databases.pid();
  const script = (name: string, server: PeerServer) =>
    peerLeg(paths.length, server.cpuMs, (onReady) =>
      runScript({ dir, calls, onReady }, name, server.url),
    );
  const queues = new Map<string, Leg>([
    [OURS, () => runOurs(parts, { tasksCount, perTask, pathOf })],
    ["BullMQ", script("bullmq", redis)],
    ["pg-boss", script("pg-boss", postgres)],
    ["graphile-worker", script("graphile-worker", postgres)],
    [
      "db-scheduler",
      peerLeg(
        paths.length,
        () => cpuMsOf(mysqlPid),
        (onReady) => runDbScheduler({ dir, calls, onReady }, databases.mysqlUrl, DB_SCHEDULER),
      ),
    ],
  ]);
  if (endpoints === "mixed") return queues;
  // Raw calls are the limit only where an endpoint answers at once.
  const raw = async () => {
    const { tookMs, cpuMs } = await callRaw(target, paths.length, SLOTS);
    return figuresOf(paths.length, tookMs, cpuMs);
  };
  return new Map([[RAW, raw], ...queues, [RAW_AGAIN, raw]]);
}

/** Filling the queue is not counted, neither its time nor the server's work for it. */
function peerLeg(
  jobs: number,
  serverCpuMs: () => number,
  run: (onReady: () => void) => Promise<PeerLeg>,
): Leg {
  return async () => {
    let before = 0;
    const { tookMs, cpuMs } = await run(() => {
      before = serverCpuMs();
    });
    return figuresOf(jobs, tookMs, cpuMs + serverCpuMs() - before);
  };
}

interface Load {
  readonly tasksCount: number;
  readonly perTask: number;
  readonly pathOf: (index: number, priority: number) => string;
}

async function runOurs(
  { context, databases, target }: Parts,
  { tasksCount, perTask, pathOf }: Load,
): Promise<Figures> {
  const urlOf = (index: number, priority: number) => `${target.url}${pathOf(index, priority)}`;
  await emptyTables(databases);
  await insertTasks(databases, buildTasks(tasksCount, context.options.seed, urlOf));
  const size = { executors: 1, tasksCount, perTask };
  const { perSecond, executorCpuUs, mysqlCpuUs } = await drain(databases, target, size, context);
  return { perSecond, cpuUs: executorCpuUs + mysqlCpuUs };
}

/** What a task calls: answered at once, or after a time from 1 to 500 ms that is evenly spread over its logarithm. */
function pathsOf(endpoints: Endpoints, tasks: number, seed: number) {
  const unit = seededUnit(seed);
  const delays = Array.from({ length: tasks }, () => Math.round(SLOWEST_MS ** unit()));
  return (index: number, priority: number) =>
    endpoints === "instant" ? `/ok/0/${priority}/0` : `/delay/${delays[index]}/${priority}/0`;
}

function figuresOf(jobs: number, tookMs: number, cpuMs: number): Figures {
  return { perSecond: (jobs * 1_000) / tookMs, cpuUs: (cpuMs * 1_000) / jobs };
}

type Measured = Readonly<Record<Endpoints, ReadonlyMap<string, readonly Figures[]>>>;

function judge(measured: Measured, said: ScenarioOutcome["figures"]): ScenarioOutcome {
  const rows = (["instant", "mixed"] as const).flatMap((endpoints) => {
    const ours = measured[endpoints].get(OURS) ?? [];
    return [...measured[endpoints]].map(([name, legs]) => {
      // Pairs of the same round: ours ÷ theirs.
      const ratios = legs.map(({ perSecond }, i) => (ours[i]?.perSecond ?? Number.NaN) / perSecond);
      return {
        endpoints,
        name,
        perSecond: rounded(median(legs.map((leg) => leg.perSecond)), 0),
        cpuUs: rounded(median(legs.map((leg) => leg.cpuUs)), 0),
        oursToIt: rounded(median(ratios)),
        spread: [rounded(quantile(ratios, 0)), rounded(quantile(ratios, 1))],
      };
    });
  });
  const queues = rows.filter(({ name }) => ![OURS, RAW, RAW_AGAIN].includes(name));
  return {
    pass: queues.every(({ endpoints, oursToIt }) => (oursToIt ?? 0) >= RATIO_MIN[endpoints]),
    figures: { ...said, atOnce: SLOTS, rows },
    table: [
      ["endpoints", "", "jobs/s", "CPU with its server", "ours ÷ it", "spread"],
      ...rows.map(({ endpoints, name, perSecond, cpuUs, oursToIt, spread }) => [
        endpoints,
        name,
        String(perSecond),
        `${cpuUs} µs`,
        String(oursToIt),
        spread.join("–"),
      ]),
    ],
  };
}
