/**
 * limits: a limit of five calls at once to an endpoint, three executors, jobs of 10 to 40 ms, executors killed at random: how many calls
 * the endpoint sees at once, and how much of what five callers can do gets done. Then the same undisturbed with another tenant beside
 * it, and a rate of 20 a second.
 */
import { openShards } from "#adapters/mysql/shards.ts";
import { endpointKey, type LimitValues } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { TaskServiceDeps } from "#core/services/tasks/task-settings.ts";
import { eventually } from "#test/support/eventually.ts";
import {
  callRaw,
  type GaugeSink,
  mostStartsIn,
  openGaugeSink,
  steadyPerSecond,
} from "#test/support/gauge-sink.ts";
import { addLoad, depsOf, Executors } from "#test/support/limited-load.ts";
import { startTick, startWorker } from "#test/support/worker-process.ts";
import { quantile, rounded } from "./figures.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { openBenchDatabases } from "./stack.ts";

const JOBS = 10_000;
const QUICK_JOBS = 500;
const AT_ONCE = 5;
const EXECUTORS = 3;
const KILL_EVERY_MS = 15_000;
const PART_MIN = 0.8;
const RATE = 20;
const RATE_SECONDS = 10;
const OTHERS = 600;
const OTHERS_MS = 12_000;
const DONE_MS = 900_000;
const SILENT = { info() {}, warn() {}, error() {} };

export const scenario: Scenario = {
  question: "what an endpoint with a limit sees, and what is lost to the limit",
  takes: ["quick", "executors"],
  run: runLimits,
};

interface Bench {
  readonly deps: TaskServiceDeps;
  readonly executors: Executors;
  readonly jobs: number;
  readonly context: ScenarioContext;
}

async function runLimits(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { options } = context;
  await using databases = await openBenchDatabases("limits", context);
  const shards = openShards({ ...databases, logger: SILENT });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => shards.close());
  await stack.use(startWorker("scheduler", databases)).line('"started"', 20_000);
  stack.use(startTick("reconciler", databases));
  const executors = stack.use(new Executors(databases));
  await executors.start(options.executors ?? EXECUTORS);
  const jobs = options.quick ? QUICK_JOBS : JOBS;
  const bench = { deps: depsOf(shards), executors, jobs, context };
  const killed = await runKilled(bench);
  const beside = await runBeside(bench);
  const rate = await runRate(bench);
  return judge(jobs, killed, beside, rate);
}

async function limit(bench: Bench, tenant: string, sink: GaugeSink, values: Partial<LimitValues>) {
  const tenantId = tenant as TenantId;
  const key = endpointKey(tenantId, sink.url);
  if (key !== null) await bench.deps.shards.forTenant(tenantId).limits.put(key, values);
  return tenantId;
}

/** Calls a second of five callers without us, before and after `work`: the mean. */
async function besideRaw(callMs: () => number, calls: number, work: () => Promise<void>) {
  await using sink = await openGaugeSink(callMs);
  const before = await callRaw(sink.url, calls, AT_ONCE);
  await work();
  return (before + (await callRaw(sink.url, calls, AT_ONCE))) / 2;
}

interface Killed {
  readonly most: number;
  readonly kills: number;
  readonly perSecond: number;
  readonly rawPerSecond: number;
  readonly twice: number;
}

async function runKilled(bench: Bench): Promise<Killed> {
  const { jobs, executors, context } = bench;
  const callMs = () => 10 + Math.random() * 30;
  await using sink = await openGaugeSink(callMs);
  const rawPerSecond = await besideRaw(callMs, jobs / 10, async () => {
    const tenantId = await limit(bench, "killed", sink, { concurrency: AT_ONCE });
    await addLoad(bench.deps, { tenantId, url: sink.url, count: jobs, atMs: Date.now() });
    const stop = new AbortController();
    const killing = executors.killAtRandom(
      context.options.quick ? 2_000 : KILL_EVERY_MS,
      stop.signal,
    );
    await sink.until(() => sink.answered.size >= jobs, DONE_MS).finally(() => stop.abort());
    await killing;
    context.say(`${jobs} jobs, ${executors.kills} kills: at most ${sink.most} at once`);
  });
  const tookMs = (sink.endsMs.at(-1) ?? 0) - (sink.startsMs[0] ?? 0);
  const { most, twice } = sink;
  return { most, twice, kills: executors.kills, perSecond: (jobs * 1_000) / tookMs, rawPerSecond };
}

interface Beside {
  readonly most: number;
  readonly perSecond: number;
  readonly rawPerSecond: number;
  readonly aloneMs: number;
  readonly besideMs: number;
}

async function runBeside(bench: Bench): Promise<Beside> {
  const { deps, jobs, context } = bench;
  const callMs = () => 10;
  await using sink = await openGaugeSink(callMs);
  await using others = await openGaugeSink(() => 1);
  const addOthers = (atMs: number) =>
    addLoad(deps, {
      ...{ tenantId: "others" as TenantId, url: others.url, atMs },
      ...{ count: OTHERS, spreadMs: OTHERS_MS },
    });
  await addOthers(Date.now() + 3_000);
  await others.until(() => others.answered.size >= OTHERS, DONE_MS);
  const rawPerSecond = await besideRaw(callMs, jobs / 10, async () => {
    const tenantId = await limit(bench, "beside", sink, { concurrency: AT_ONCE });
    const atMs = Date.now() + 8_000;
    await addLoad(deps, { tenantId, url: sink.url, count: jobs, atMs });
    await addOthers(atMs + 1_000);
    await sink.until(() => sink.answered.size >= jobs, DONE_MS);
    await others.until(() => others.answered.size >= 2 * OTHERS, DONE_MS);
  });
  const p99 = (from: number) => quantile(others.lagsMs.slice(from, from + OTHERS), 0.99);
  context.say(`undisturbed: ${steadyPerSecond(sink).toFixed(0)} a second`);
  return {
    ...{ most: sink.most, perSecond: steadyPerSecond(sink), rawPerSecond },
    ...{ aloneMs: p99(0), besideMs: p99(OTHERS) },
  };
}

interface Rated {
  /** In any one second, by the executors' records and as the endpoint sees it. */
  readonly mostStarted: number;
  readonly mostArrived: number;
  readonly tookSeconds: number;
}

async function runRate(bench: Bench): Promise<Rated> {
  await using sink = await openGaugeSink(() => 5);
  const tenantId = await limit(bench, "rated", sink, { perSecond: RATE });
  const count = RATE * RATE_SECONDS;
  const tasks = await addLoad(bench.deps, { tenantId, url: sink.url, count, atMs: Date.now() });
  await sink.until(() => sink.answered.size >= count, DONE_MS);
  const { jobs } = bench.deps.shards.forTenant(tenantId);
  const startsMs: number[] = [];
  const filter = { statuses: null, fromMs: null, toMs: null };
  await eventually(async () => {
    startsMs.length = 0;
    for (const id of tasks)
      for (const { attempts } of await jobs.listByTask(tenantId, id, filter, null, 1))
        startsMs.push(...Object.values(attempts).map(({ startedAtMs }) => startedAtMs));
    if (startsMs.length < count) throw new Error("results are still to be written");
  });
  return {
    mostStarted: mostStartsIn(startsMs, 1_000),
    mostArrived: mostStartsIn(sink.startsMs, 1_000),
    tookSeconds: (Math.max(...startsMs) - Math.min(...startsMs)) / 1_000,
  };
}

function judge(jobs: number, killed: Killed, beside: Beside, rate: Rated): ScenarioOutcome {
  const part = ({ perSecond, rawPerSecond }: Killed | Beside) => perSecond / rawPerSecond;
  const allowedMs = Math.max(beside.aloneMs * 1.1, beside.aloneMs + 50);
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
  const number = (value: number) => value.toFixed(0);
  const row = (name: string, { most, perSecond, rawPerSecond }: Killed | Beside, share: number) => [
    ...[name, String(most), `≤ ${AT_ONCE}`, number(perSecond), number(rawPerSecond)],
    ...[percent(share), `≥ ${percent(PART_MIN)}`],
  ];
  return {
    pass:
      Math.max(killed.most, beside.most) <= AT_ONCE &&
      Math.min(part(killed), part(beside)) >= PART_MIN &&
      beside.besideMs <= allowedMs &&
      rate.mostStarted <= RATE + 1,
    figures: {
      ...{ jobs, atOnce: AT_ONCE },
      killed: { ...killed, part: rounded(part(killed)) },
      beside: { ...beside, part: rounded(part(beside)) },
      rate: { perSecond: RATE, ...rate },
    },
    table: [
      ["", "most at once", "allowed", "calls/s", "five callers", "part", "allowed"],
      row(`${jobs} jobs, ${killed.kills} executors killed`, killed, part(killed)),
      row(`${jobs} jobs undisturbed`, beside, part(beside)),
      [
        ...["others' p99 alone, beside (ms)", "", "", number(beside.aloneMs)],
        ...[number(beside.besideMs), "", `≤ ${number(allowedMs)}`],
      ],
      [
        ...[`${RATE} a second: most in any`, String(rate.mostStarted), `≤ ${RATE + 1}`],
        ...[(RATE * RATE_SECONDS) / rate.tookSeconds].map((perSecond) => perSecond.toFixed(1)),
        ...["", "", ""],
      ],
    ],
  };
}
