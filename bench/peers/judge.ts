/** What the peers' legs say: medians, our ratio to each, and the bars that it is held to. */
import { type BarFigures, holdToBar } from "../bars.ts";
import { median, quantile, rounded } from "../figures.ts";
import type { ScenarioOutcome } from "../scenario.ts";

/** Ours against each of the other queues. */
const RATIO_MIN = { instant: 1, mixed: 2 } as const;
export const OURS = "at-and-cron";
export const OURS_AGAIN = "at-and-cron again";
export const RAW = "raw undici";
export const RAW_AGAIN = "raw again";
/** What is run twice in a round: A against A. */
const TWICE = { instant: [RAW, RAW_AGAIN], mixed: [OURS, OURS_AGAIN] } as const;

export type Endpoints = keyof typeof RATIO_MIN;

export interface Figures {
  readonly perSecond: number;
  /** Worker and server together, µs a job. */
  readonly cpuUs: number;
  /** The greatest number of calls that were under way at once. */
  readonly mostAtOnce: number;
}

/** By the leg's name; one entry a round in each. */
export type Measured = Readonly<Record<Endpoints, ReadonlyMap<string, readonly Figures[]>>>;

export function judge(measured: Measured, said: ScenarioOutcome["figures"]): ScenarioOutcome {
  const bars: BarFigures[] = [];
  const rows = (["instant", "mixed"] as const).flatMap((endpoints) => {
    const speedsOf = (name: string) =>
      (measured[endpoints].get(name) ?? []).map(({ perSecond }) => perSecond);
    const over = (some: readonly number[], others: readonly number[]) =>
      some.map((value, i) => value / (others[i] ?? Number.NaN));
    const [first, again] = TWICE[endpoints].map(speedsOf);
    const aToA = over(again ?? [], first ?? []);
    return [...measured[endpoints]].map(([name, legs]) => {
      // Pairs of the same round: ours ÷ theirs.
      const ratios = over(speedsOf(OURS), speedsOf(name));
      if (![OURS, OURS_AGAIN, RAW, RAW_AGAIN].includes(name)) {
        const what = `ours ÷ ${name}, ${endpoints}`;
        bars.push(
          holdToBar({ what, bound: "at least", value: RATIO_MIN[endpoints] }, ratios, aToA),
        );
      }
      const middle = (of: (leg: Figures) => number) => rounded(median(legs.map(of)), 0);
      return {
        endpoints,
        name,
        perSecond: middle((leg) => leg.perSecond),
        cpuUs: middle((leg) => leg.cpuUs),
        mostAtOnce: middle((leg) => leg.mostAtOnce),
        oursToIt: rounded(median(ratios)),
        spread: [rounded(quantile(ratios, 0)), rounded(quantile(ratios, 1))],
      };
    });
  });
  return {
    pass: bars.every(({ met }) => met),
    figures: { ...said, rows },
    bars,
    table: [
      ["endpoints", "", "jobs/s", "CPU with its server", "ours ÷ it", "spread", "most at once"],
      ...rows.map(({ endpoints, name, perSecond, cpuUs, oursToIt, spread, mostAtOnce }) => [
        endpoints,
        name,
        String(perSecond),
        `${cpuUs} µs`,
        String(oursToIt),
        spread.join("–"),
        // Where an endpoint answers at once, none waits at the target for another.
        endpoints === "mixed" ? String(mostAtOnce) : "",
      ]),
    ],
  };
}
