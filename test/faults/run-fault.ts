/** One fault from beginning to end: processes up, load on, break, mend, let it settle, stop everything, look at what is left. */
import { setTimeout as sleep } from "node:timers/promises";
import { emptyTables } from "#bench/insert-tasks.ts";
import { openSink, type Sink } from "#test/support/sink.ts";
import { openTcpProxy } from "#test/support/tcp-proxy.ts";
import type { FaultDatabase } from "./database.ts";
import { callsByJob, readAsTenant, readJobs } from "./evidence.ts";
import type { Fault, Injected, Prepared, World } from "./fault.ts";
import { Fleet, type FleetSettings } from "./fleet.ts";
import type { CassandraOfRun, FaultHistory } from "./history.ts";
import { type Evidence, judge, type Verdict } from "./judge.ts";
import { Load } from "./load.ts";

export interface FaultRun {
  readonly database: FaultDatabase;
  readonly cassandra: CassandraOfRun;
  readonly seed: number;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
  /** In place of the faults' own. */
  readonly perSecond?: number | undefined;
}

export interface Outcome extends Verdict {
  readonly id: string;
  readonly title: string;
  readonly uncommitted: number;
  readonly notes: string;
  /** Warnings and errors of processes that lived to the end, with how often each was said. */
  readonly complaints: Readonly<Record<string, number>>;
  /** What did not hold; empty when it passes. */
  readonly failures: readonly string[];
  readonly tookMs: number;
}

const PER_SECOND = 40;
const PROCESSES = { scheduler: 1, executor: 2, reconciler: 1 } as const;
const PEAK_AFTER_MS = 20_000;
/** Under load before anything breaks, and after it was mended. */
const WARM_MS = 6_000;
const SETTLE_MS = 8_000;
const FIRST_CALLS_MS = 60_000;
const ENDED_MS = 120_000;
const LOOK_EVERY_MS = 250;
/** What the archiver takes, in worlds with history: a second after it succeeded. */
const SHORT_RETENTION = { ARCHIVE_SUCCEEDED_AFTER_SECONDS: "1" };

export async function runFault(fault: Fault, run: FaultRun): Promise<Outcome> {
  const startedAt = performance.now();
  await using use = new AsyncDisposableStack();
  const world = await openWorld(fault, run, use);
  await world.sink.until(() => world.sink.totals().calls > 0, FIRST_CALLS_MS);
  await world.sleep(WARM_MS);
  const injected = await fault.inject(world);
  await world.sleep(SETTLE_MS);
  const untilMs = Date.now();
  await untilEnded(world, untilMs);
  world.sink.letGo();
  const complaints = Object.fromEntries(world.fleet.complaints());
  await world.fleet.stopAll();
  const { brokenAtMs, mendedAtMs, uncommitted = 0, notes = "" } = injected;
  const expected = world.load.expected(untilMs);
  const evidence: Evidence = {
    expected,
    jobs: await readJobs(world, expected),
    calls: callsByJob(world.sink.calls()),
    brokenAtMs,
    mendedAtMs,
  };
  const verdict = judge(evidence, fault.isOwn?.bind(fault));
  const failures = [
    ...breaches(fault, verdict, injected),
    ...world.fleet.badEnds,
    ...(world.history === null
      ? []
      : await readAsTenant(world.database, world.history.store, expected)),
    ...((await fault.check?.(world, evidence, verdict)) ?? []),
  ];
  const { id, title } = fault;
  const tookMs = performance.now() - startedAt;
  return { id, title, ...verdict, uncommitted, notes, complaints, failures, tookMs };
}

async function openWorld(fault: Fault, run: FaultRun, use: AsyncDisposableStack): Promise<World> {
  const { database, cassandra, say, signal } = run;
  await emptyTables(database);
  const sink: Sink = use.adopt(await openSink(), (one) => one.close());
  const proxy = use.adopt(await openTcpProxy({ targetPort: database.port }), (one) => one.close());
  const history: FaultHistory | null =
    fault.withHistory === true ? use.use(await cassandra.keyspace()) : null;
  const prepared = (await fault.prepare?.(database, use)) ?? {};
  const fleet = use.use(new Fleet(fleetSettings(fault, prepared, { database, history, proxy })));
  await fleet.startAll(fault.processes ?? PROCESSES);
  const { peakTasks } = fault;
  const peakAtMs = Math.ceil((Date.now() + PEAK_AFTER_MS) / 1_000) * 1_000;
  const peak = peakTasks === undefined ? null : { tasks: peakTasks, atMs: peakAtMs };
  const load = await Load.begin({
    database,
    sinkUrl: sink.url,
    seed: run.seed,
    perSecond: run.perSecond ?? fault.perSecond ?? PER_SECOND,
    peak,
  });
  const wait = (ms: number) => sleep(ms, undefined, { signal });
  return {
    database,
    proxy,
    history,
    sink,
    fleet,
    load,
    say,
    sleep: wait,
    peakAtMs: peak?.atMs ?? null,
  };
}

function fleetSettings(
  fault: Fault,
  { mysqlUrl, env }: Prepared,
  { database, history, proxy }: Pick<World, "database" | "history" | "proxy">,
): FleetSettings {
  const direct = mysqlUrl ?? database.mysqlUrl;
  const proxied = new URL(direct);
  proxied.port = String(proxy.port);
  return {
    databasePrefix: database.databasePrefix,
    output: fault.output ?? "collected",
    mysqlUrl: (kind, name) => (fault.proxied?.(kind, name) ? proxied.href : direct),
    env: (kind, name) => ({
      ...(history === null || kind === "archiver" ? {} : SHORT_RETENTION),
      ...(kind === "archiver" ? history?.env : {}),
      ...env,
      ...fault.env?.(kind, name),
    }),
  };
}

/** Until every occurrence before `untilMs` has its job and every such job has ended; gives up at its deadline, for the judge to see. */
async function untilEnded({ database, sleep: wait, say }: World, untilMs: number): Promise<void> {
  const until = `TIMESTAMP'${new Date(untilMs).toISOString().replace("T", " ").replace("Z", "")}'`;
  const endMs = performance.now() + ENDED_MS;
  for (;;) {
    const [row] = await database.run(
      `SELECT (SELECT COUNT(*) FROM tasks WHERE next_run_at < ${until}) AS unmade,
        (SELECT COUNT(*) FROM jobs WHERE status IN ('pending', 'waiting', 'running') AND scheduled_at < ${until}) AS open`,
    );
    if (Number(row?.unmade) === 0 && Number(row?.open) === 0) return;
    if (performance.now() > endMs) {
      say(`not ended: ${JSON.stringify(row)}`);
      return;
    }
    await wait(LOOK_EVERY_MS);
  }
}

function breaches(fault: Fault, verdict: Verdict, { uncommitted = 0 }: Injected): string[] {
  const { lost, duplicates, early, wrong, repeated, cut, examples } = verdict;
  const { limits } = fault;
  const failures: string[] = [];
  const atMost = (what: string, value: number, max: number) => {
    if (!(value <= max)) failures.push(`${what}: ${Math.round(value)}, at most ${max}`);
  };
  atMost("lost", lost, 0);
  atMost("duplicates", duplicates, 0);
  atMost("called early", early, 0);
  atMost("wrong ends", wrong, 0);
  atMost("extra calls", repeated + cut, uncommitted);
  if (limits.recoveryMs !== undefined)
    atMost("recovery, ms", verdict.recoveryMs, limits.recoveryMs);
  if (limits.criticalP99Ms !== undefined)
    atMost("critical p99, ms", verdict.criticalP99Ms, limits.criticalP99Ms);
  return failures.length === 0 ? failures : [...failures, ...examples];
}
