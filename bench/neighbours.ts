/**
 * Tenants that share executors with one that is no good neighbour: a leg with it and a leg without it, in turn. Tasks go the whole
 * way, scheduler and all, because who is in front of whom is decided when jobs are made.
 */
import { assert } from "#core/domain/assert.ts";
import type { Priority } from "#core/domain/queue.ts";
import { priorityRank } from "#core/domain/queue.ts";
import { holdToBar } from "./bars.ts";
import { median, quantile, rounded, sum } from "./figures.ts";
import { sleepUntil, startWorkers, type Target, waitUntil } from "./fleet.ts";
import { emptyTables, insertTasks } from "./insert-tasks.ts";
import { lagsByPriority } from "./lag.ts";
import { type LoadTask, seededTaskId, seededUnit, tenantNamed } from "./load-model.ts";
import type { ScenarioContext } from "./scenario.ts";
import { giveSigningSecrets } from "./signing-secrets.ts";
import type { BenchDatabases } from "./stack.ts";

/** Tasks of `tenants` tenants, each with `tasks` of them that run every `seconds`, all in the same second. */
export interface Herd {
  readonly name: string;
  readonly group: number;
  readonly tenants: number;
  readonly tasks: number;
  readonly seconds: number;
  readonly priority: Priority;
  /** What is called: a kind and a value of the target. */
  readonly endpoint: string;
  readonly timeoutMs: number;
  /** How long after each other its tasks run; 0 when left out. */
  readonly stepMs?: number;
}

export interface LegOptions {
  /** Whose lags are asked for: runs every second. */
  readonly watched: Herd;
  readonly beside: readonly Herd[];
  readonly seconds: number;
  readonly executors: number;
  readonly slots: number;
}

/** Lags in ms of one herd; a call that has not come when the leg is given up counts as late as that. */
export interface HerdLags {
  readonly lagsMs: readonly number[];
  readonly missing: number;
}

export interface LegLags extends HerdLags {
  /** Those of the herds beside it: of what has come by then. */
  readonly besideMs: readonly number[];
}

/** From the start of the workers to the first runs, and from there to the first that count: connections are warm by then. */
const AHEAD_MS = 3_000;
const WARM_UP_MS = 3_000;
/** How long after the last scheduled instant calls are waited for. */
const GRACE_MS = 20_000;
const LOOK_EVERY_MS = 250;
const QUICK = { aheadMs: 1_500, warmUpMs: 0, graceMs: 3_000 };

/** Runs one leg and returns the lags of the watched herd, and those beside it. */
export async function runLeg(
  databases: BenchDatabases,
  target: Target,
  { watched, beside, seconds, executors, slots }: LegOptions,
  { signal, options }: ScenarioContext,
): Promise<LegLags> {
  assert(watched.seconds === 1, "the watched herd runs every second");
  await emptyTables(databases);
  await target.reset();
  const usual = { aheadMs: AHEAD_MS, warmUpMs: WARM_UP_MS, graceMs: GRACE_MS };
  const { aheadMs, warmUpMs, graceMs } = options.quick ? QUICK : usual;
  const firstMs = Math.ceil((Date.now() + aheadMs) / 1_000) * 1_000;
  const fromMs = firstMs + warmUpMs;
  const untilMs = fromMs + seconds * 1_000;
  const unit = seededUnit(options.seed);
  const tasks = [watched, ...beside].flatMap((herd) => tasksOf(herd, target.url, firstMs, unit));
  await insertTasks(databases, tasks);
  await giveSigningSecrets(databases, tasks);
  await using workers = await startWorkers(databases, { schedulers: 1, executors, slots });
  await sleepUntil(untilMs, signal);
  const expected = watched.tenants * watched.tasks * seconds;
  const lagsOf = async (...herds: readonly Herd[]) => {
    const calls = await target.calls();
    return herds.flatMap(({ group }) => lagsByPriority(calls, { group, fromMs, untilMs }).flat());
  };
  const cameAll = async () =>
    (await target.count(watched.group)) >= expected && (await lagsOf(watched)).length >= expected;
  await waitUntil(cameAll, graceMs, signal, LOOK_EVERY_MS);
  const endMs = Date.now();
  const came = await lagsOf(watched);
  const besideMs = await lagsOf(...beside);
  const missing = Math.max(0, expected - came.length);
  // A call that hangs would hold the drain up until its deadline.
  for (const executor of workers.executors) executor.signal("SIGKILL");
  const lagsMs = [...came, ...Array<number>(missing).fill(endMs - fromMs)];
  return { lagsMs, missing, besideMs };
}

export function tasksOf(
  herd: Herd,
  targetUrl: string,
  firstRunAtMs: number,
  unit: () => number,
): LoadTask[] {
  const count = herd.tenants * herd.tasks;
  return Array.from({ length: count }, (_, i) => {
    const nextRunAtMs = firstRunAtMs + i * (herd.stepMs ?? 0);
    const tenantId = tenantNamed(`${herd.name}-${i % herd.tenants}`);
    const priority = priorityRank(herd.priority);
    return {
      id: seededTaskId(tenantId, nextRunAtMs, unit),
      tenantId,
      priority,
      schedule: {
        type: "every",
        seconds: herd.seconds,
        anchor: new Date(nextRunAtMs).toISOString(),
      },
      nextRunAtMs,
      url: `${targetUrl}/${herd.endpoint}/${priority}/${herd.group}`,
      timeoutMs: herd.timeoutMs,
    };
  });
}

/** p50, p99, the largest and what never came. */
export function herdFigures({ lagsMs, missing }: HerdLags) {
  return {
    calls: lagsMs.length,
    p50Ms: rounded(quantile(lagsMs, 0.5), 0),
    p99Ms: rounded(quantile(lagsMs, 0.99), 0),
    maxMs: rounded(quantile(lagsMs, 1), 0),
    missing,
  };
}

/** One row of a table. */
export function herdRow(name: string, { lagsMs, missing }: HerdLags): string[] {
  const at = (share: number) => `${quantile(lagsMs, share).toFixed(0)} ms`;
  return [name, String(lagsMs.length), at(0.5), at(0.99), at(1), String(missing)];
}

export const HERD_HEADS = ["", "calls", "p50", "p99", "max", "missing"] as const;

/** Two legs' lags of one herd put together over the rounds. */
export function joinLags(legs: readonly HerdLags[]): HerdLags {
  return {
    lagsMs: legs.flatMap(({ lagsMs }) => lagsMs),
    missing: sum(legs.map(({ missing }) => missing)),
  };
}

/** Legs of one round; `again`: without the neighbour once more, which tells the machine's noise. */
export interface NeighbourRound {
  readonly without: HerdLags;
  readonly beside: HerdLags;
  readonly again: HerdLags;
}

/** One of the two is enough: what is added to a p99 of a few ms may be many times as much and matter to nobody. */
export interface AllowedLag {
  readonly ratioMax: number;
  readonly addedMsMax: number;
}

/** What a neighbour does to the p99 of those beside it: medians of the rounds' pairs. */
export function judgeNeighbour(
  rounds: readonly NeighbourRound[],
  { ratioMax, addedMsMax }: AllowedLag,
) {
  const p99 = ({ lagsMs }: HerdLags) => quantile(lagsMs, 0.99);
  const ratio = holdToBar(
    { what: "p99 beside ÷ without", bound: "at most", value: ratioMax },
    rounds.map(({ without, beside }) => p99(beside) / p99(without)),
    rounds.map(({ without, again }) => p99(again) / p99(without)),
  );
  const addedMs = median(rounds.map(({ without, beside }) => p99(beside) - p99(without)));
  const noise = rounds.map(({ without, again }) => p99(again) - p99(without));
  const noiseMs = [quantile(noise, 0), quantile(noise, 1)];
  const isAddedMet = addedMs <= addedMsMax;
  const isAddedOutside = Math.abs(addedMs - addedMsMax) > Math.max(...noise.map(Math.abs));
  const met = ratio.met || isAddedMet;
  const outside = {
    ratio: ratio.met === met && ratio.outsideAA,
    added: isAddedMet === met && isAddedOutside,
  };
  const bar = {
    ...ratio,
    bar: `${ratio.bar} or + ${addedMsMax} ms`,
    met,
    outsideAA: met ? outside.ratio || outside.added : outside.ratio && outside.added,
  };
  const spread = noiseMs.map((ms) => ms.toFixed(0)).join(" to ");
  return {
    alone: joinLags(rounds.map(({ without }) => without)),
    beside: joinLags(rounds.map(({ beside }) => beside)),
    isFair: met && rounds.every(({ beside }) => beside.missing === 0),
    figures: {
      rounds: rounds.length,
      p99AddedMs: rounded(addedMs, 0),
      p99AddedMsAA: noiseMs.map((ms) => rounded(ms, 0)),
    },
    bars: [bar],
    addedRow: [
      "p99 beside − without",
      "",
      "",
      `${addedMs.toFixed(0)} ms`,
      `A − A ${spread} ms`,
      "",
    ],
  };
}
