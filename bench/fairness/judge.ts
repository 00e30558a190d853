/** What fairness's legs say: the burst's speed beside quiet tenants, how late those are, and how two heavy tenants share the calls. */
import { holdToBar } from "../bars.ts";
import { lagChart } from "../charts.ts";
import { median, quantile, rounded, sum } from "../figures.ts";
import { type HerdLags, herdFigures, joinLags } from "../neighbours.ts";
import type { Figure, ScenarioOutcome } from "../scenario.ts";
import type { TargetCalls } from "../target.ts";

/** Groups of calls, in the target's words. */
export const BURST = 0;
export const QUIET = 1;
export const STEADY = 2;

const QUIET_P99_MS_MAX = 1_000;
const SPEED_MIN = 0.95;
const SHARE_MIN = 0.35;

export interface Round {
  /** Calls a second until the burst is done: alone, before and after the leg beside quiet tenants. */
  readonly alone: readonly [number, number];
  readonly beside: number;
  /** Of the quiet tenants: before the burst, and while it lasts. */
  readonly quietBefore: HerdLags;
  readonly quiet: HerdLags;
  readonly heavy: BothWait;
}

/** Calls of all groups a second, from an instant to the last call of the burst. */
export function burstSpeed({ arrivedAtMs, group }: TargetCalls, fromMs: number) {
  const endMs = arrivedAtMs[group.lastIndexOf(BURST)] ?? Number.NaN;
  const calls = arrivedAtMs.filter((ms) => ms >= fromMs && ms <= endMs).length;
  return { endMs, perSecond: (calls * 1_000) / (endMs - fromMs) };
}

/** Calls that came while the burst and the steady tenant both had jobs that were due and not called yet. */
export interface BothWait {
  readonly calls: number;
  readonly seconds: number;
  readonly burstShare: number;
  /** The same of each whole second from the first of these calls on. */
  readonly burstShares: readonly number[];
}

export function whileBothWait(calls: TargetCalls): BothWait {
  const isOf = (i: number, group: number) => calls.attempt[i] === 1 && calls.group[i] === group;
  const herds = [BURST, STEADY].map((group) => ({
    group,
    dueAtMs: calls.scheduledAtMs.filter((_, i) => isOf(i, group)).sort((a, b) => a - b),
    called: 0,
  }));
  const counted: { readonly atMs: number; readonly group: number }[] = [];
  for (const [i, atMs] of calls.arrivedAtMs.entries()) {
    const own = herds.find(({ group }) => isOf(i, group));
    if (own === undefined) continue;
    // Only how many are due and how many are called counts, whichever they are.
    if (herds.every(({ dueAtMs, called }) => (dueAtMs[called] ?? Number.NaN) <= atMs))
      counted.push({ atMs, group: own.group });
    own.called++;
  }
  const firstMs = counted[0]?.atMs ?? 0;
  const seconds = ((counted.at(-1)?.atMs ?? firstMs) - firstMs) / 1_000;
  const burstShare = (some: typeof counted) =>
    some.filter(({ group }) => group === BURST).length / some.length;
  const burstShares = Array.from({ length: Math.floor(seconds) }, (_, second) =>
    burstShare(counted.filter(({ atMs }) => Math.floor((atMs - firstMs) / 1_000) === second)),
  );
  return { calls: counted.length, seconds, burstShare: burstShare(counted), burstShares };
}

export function judge(
  rounds: readonly Round[],
  said: Readonly<Record<string, Figure>>,
): ScenarioOutcome {
  const alone = rounds.map((round) => round.alone);
  const besides = rounds.map((round) => round.beside);
  const seconds = rounds.map(({ heavy }) => heavy.seconds);
  const burstShares = rounds.map(({ heavy }) => heavy.burstShare);
  const aloneToAlone = alone.map(([before, after]) => after / before);
  const ofAlone = rounds.map((round) => (2 * round.beside) / sum(round.alone));
  const smaller = burstShares.map((share) => Math.min(share, 1 - share));
  // Both share the same seconds: noise is what shares differ by from one round to the next.
  const shareToShare = smaller.slice(1).map((share, i) => share / (smaller[i] ?? Number.NaN));
  const bar = (what: string, value: number) => ({ what, bound: "at least", value }) as const;
  const bars = [
    holdToBar(bar("speed beside quiet ÷ alone", SPEED_MIN), ofAlone, aloneToAlone),
    holdToBar(bar("smaller share of two", SHARE_MIN), smaller, shareToShare),
  ];
  const before = joinLags(rounds.map(({ quietBefore }) => quietBefore));
  const beside = joinLags(rounds.map(({ quiet }) => quiet));
  const inTime = quantile(beside.lagsMs, 0.99) < QUIET_P99_MS_MAX && beside.missing === 0;
  const late = (what: string, { lagsMs }: HerdLags, bar: string) => {
    const at = [0.5, 0.99, 1].map((share) => quantile(lagsMs, share).toFixed(0));
    return [what, `${at.join(", ")} ms`, bar];
  };
  const row = (what: string, values: readonly number[], decimals = 0) => {
    return [what, median(values).toFixed(decimals), ""];
  };
  return {
    pass: inTime && bars.every(({ met }) => met),
    figures: {
      ...said,
      rounds: rounds.length,
      alonePerSecond: alone.map((both) => both.map((speed) => rounded(speed, 0))),
      besidePerSecond: besides.map((speed) => rounded(speed, 0)),
      quietBefore: herdFigures(before),
      quiet: herdFigures(beside),
      bothWait: rounds.map(({ heavy: { calls, seconds, burstShare, burstShares } }) => ({
        ...{ calls, seconds, burstShare: rounded(burstShare) },
        burstShares: burstShares.map((part) => rounded(part)),
      })),
    },
    bars,
    table: [
      ["medians of the rounds; lags of all of them", "", "bar"],
      row("the burst alone, calls/s", alone.flat()),
      row("beside quiet tenants, calls/s with theirs", besides),
      late("quiet tenants before it: p50, p99, max", before, ""),
      late("quiet tenants beside it", beside, `p99 < ${QUIET_P99_MS_MAX} ms`),
      row("it and a steady tenant both wait, s", seconds, 1),
      row("the burst's share of the calls meanwhile", burstShares, 2),
    ],
    chart: lagChart({
      title: "Quiet tenants beside one with 50,000 jobs due: share of calls sent by lag",
      lines: [
        { label: "while its burst lasts", lagsMs: beside.lagsMs },
        { label: "before it", lagsMs: before.lagsMs },
      ],
    }),
  };
}
