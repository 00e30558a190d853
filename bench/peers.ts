/**
 * peers: our drain beside BullMQ on Redis, pg-boss and graphile-worker on PostgreSQL, db-scheduler on the same MySQL, each in its
 * fastest documented mode, and raw undici as the limit. All call the same target with the same payload and as many calls at once;
 * all commit to the disk before they answer. Once with endpoints that answer at once, once with endpoints that take 1 to 500 ms;
 * there the greatest number of calls at once is counted too, because who has more slots is faster. All alternate in each round; raw,
 * and where endpoints take their time ours, runs twice, which tells the machine's noise. Every process has made as many calls
 * before (`warmUp` of the figures; `--cold`: 1,000), a peer's by draining its queue once.
 *
 * It installs what it needs beside the local system's files (`.local/bench/peers`), PostgreSQL and Redis through the system's
 * package manager.
 */
import { assert } from "#core/domain/assert.ts";
import { buildTasks, DRAIN_GROUP, type DrainSize, drain } from "./drain.ts";
import { callRaw, startTarget, type Target } from "./fleet.ts";
import { emptyTables, insertTasks, PAYLOAD } from "./insert-tasks.ts";
import { seededUnit } from "./load-model.ts";
import { cpuMsOf } from "./machine.ts";
import {
  type Endpoints,
  type Figures,
  judge,
  OURS,
  OURS_AGAIN,
  RAW,
  RAW_AGAIN,
} from "./peers/judge.ts";
import { type Calls, installPeers, type PeerLeg, runDbScheduler, runScript } from "./peers/legs.ts";
import { type PeerServer, startPostgres, startRedis } from "./peers/servers.ts";
import type { BenchOptions, Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { type BenchDatabases, openBenchDatabases } from "./stack.ts";
import { warmUpCalls } from "./warm-up.ts";

const ROUNDS = 9;
const SLOTS = 64;
const TASKS = 1_000;
const TASKS_QUICK = 50;
const DB_SCHEDULER = "bench_db_scheduler";
const JOBS_PER_TASK = { instant: 30, mixed: 5 } as const;
/** Where endpoints take their time, a warm-up of all calls would take longer than what is measured. */
const WARM_UPS_PER_TASK_MAX = { instant: 20, mixed: 2 } as const;
const SLOWEST_MS = 500;

export const scenario: Scenario = {
  question: "jobs a second beside other job queues, same target, same payload, all durable",
  takes: ["quick", "rounds", "seed", "cold"],
  run: runPeers,
};

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
        const figures = await leg();
        const { [endpoints]: of } = measured;
        of.set(name, [...(of.get(name) ?? []), figures]);
        say(`round ${round} of ${rounds}, ${endpoints}: ${name} ${figures.perSecond.toFixed(0)}/s`);
      }
  return judge(measured, {
    rounds,
    warmUp: {
      instant: sizeOf("instant", options).warmUps,
      mixed: sizeOf("mixed", options).warmUps,
    },
    redis: redis.durability,
    postgres: postgres.durability,
    mysql: await durabilityOf(databases),
    atOnce: SLOTS,
  });
}

/** As the server says it: it may be one that was there. */
async function durabilityOf({ run }: BenchDatabases): Promise<string> {
  const names = ["innodb_flush_log_at_trx_commit", "innodb_doublewrite"];
  const [row] = await run(`SELECT ${names.map((name) => `@@${name} AS ${name}`).join(", ")}`);
  return names.map((name) => `${name} = ${row?.[name]}`).join(", ");
}

/** Tasks, jobs of each of them before and measured, and altogether how many calls a process makes before. */
function sizeOf(endpoints: Endpoints, options: BenchOptions) {
  const tasksCount = options.quick ? TASKS_QUICK : TASKS;
  const wanted = Math.ceil(warmUpCalls(options) / tasksCount);
  const warmUps = Math.min(WARM_UPS_PER_TASK_MAX[endpoints], wanted);
  const perTask = { warmUps, jobs: JOBS_PER_TASK[endpoints] };
  return { tasksCount, perTask, warmUps: tasksCount * warmUps };
}

/** The legs of a round, in the order in which they run. */
async function buildLegs(parts: Parts, endpoints: Endpoints): Promise<Map<string, Leg>> {
  const { context, dir, postgres, redis, databases, target } = parts;
  const { tasksCount, perTask, warmUps } = sizeOf(endpoints, context.options);
  const pathOf = pathsOf(endpoints, tasksCount, context.options.seed);
  const pathsOfEach = (times: number) =>
    Array.from({ length: tasksCount * times }, (_, i) => pathOf(i % tasksCount, i % 4));
  const paths = pathsOfEach(perTask.jobs);
  const before = pathsOfEach(perTask.warmUps);
  const calls: Calls = { target: target.url, before, paths, atOnce: SLOTS, payload: PAYLOAD };
  const mysqlPid = await databases.pid();
  const peer = (serverCpuMs: () => number, run: RunPeer) =>
    peerLeg(target, paths.length, serverCpuMs, run);
  const script = (name: string, server: PeerServer) =>
    peer(server.cpuMs, (onReady) => runScript({ dir, calls, onReady }, name, server.url));
  const ours = () => runOurs(parts, { tasksCount, perTask, pathOf });
  const queues = new Map<string, Leg>([
    [OURS, ours],
    ["BullMQ", script("bullmq", redis)],
    ["pg-boss", script("pg-boss", postgres)],
    ["graphile-worker", script("graphile-worker", postgres)],
    [
      "db-scheduler",
      peer(
        () => cpuMsOf(mysqlPid),
        (onReady) => runDbScheduler({ dir, calls, onReady }, databases.mysqlUrl, DB_SCHEDULER),
      ),
    ],
  ]);
  if (endpoints === "mixed") return queues.set(OURS_AGAIN, ours);
  // Raw calls are the limit only where an endpoint answers at once.
  const raw = async () => {
    await target.reset();
    const given = { calls: paths.length, warmUps, connections: SLOTS };
    const { tookMs, cpuMs } = await callRaw(target, given);
    return figuresOf(paths.length, tookMs, cpuMs, await target.most());
  };
  return new Map([[RAW, raw], ...queues, [RAW_AGAIN, raw]]);
}

type RunPeer = (onReady: () => Promise<void>) => Promise<PeerLeg>;

/** Neither filling the queue nor its warm-up is counted, neither their time nor the server's work for them. */
function peerLeg(target: Target, jobs: number, serverCpuMs: () => number, run: RunPeer): Leg {
  return async () => {
    let before = 0;
    const { tookMs, cpuMs } = await run(async () => {
      await target.reset();
      before = serverCpuMs();
    });
    const serverMs = serverCpuMs() - before;
    assert((await target.count()) === jobs, "every job was called once");
    return figuresOf(jobs, tookMs, cpuMs + serverMs, await target.most());
  };
}

interface Load {
  readonly tasksCount: number;
  readonly perTask: DrainSize["perTask"];
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
  const leg = await drain(databases, target, size, context);
  const { perSecond, executorCpuUs, mysqlCpuUs, mostAtOnce } = leg;
  return { perSecond, cpuUs: executorCpuUs + mysqlCpuUs, mostAtOnce };
}

/** What a task calls: answered at once, or after a time from 1 to 500 ms that is evenly spread over its logarithm. */
function pathsOf(endpoints: Endpoints, tasks: number, seed: number) {
  const unit = seededUnit(seed);
  const delays = Array.from({ length: tasks }, () => Math.round(SLOWEST_MS ** unit()));
  return (index: number, priority: number) =>
    `${endpoints === "instant" ? "/ok/0" : `/delay/${delays[index]}`}/${priority}/${DRAIN_GROUP}`;
}

function figuresOf(jobs: number, tookMs: number, cpuMs: number, mostAtOnce: number): Figures {
  return { perSecond: (jobs * 1_000) / tookMs, cpuUs: (cpuMs * 1_000) / jobs, mostAtOnce };
}
