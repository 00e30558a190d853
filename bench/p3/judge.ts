/** What p3's peaks say: lag by priority, the drain beside raw, and the bars that they are held to. */
import { PRIORITIES } from "#core/domain/queue.ts";
import { type Bar, holdToBar } from "../bars.ts";
import { lagChart } from "../charts.ts";
import { median, quantile, rounded, sum } from "../figures.ts";
import { LAG_HEADS, lagFigures, lagLines, lagRows } from "../lag.ts";
import type { Figure, ScenarioOutcome } from "../scenario.ts";

/** Our own aim for one machine of two cores, most urgent first. */
const P99_MAX_MS = [250, 1_000, 5_000, 5_000];
const RAW_BAR: Bar = { what: "drain ÷ raw", bound: "at most", value: 1.5 };

export interface Peak {
  readonly jobs: number;
  /** Lags in ms by priority, most urgent first. */
  readonly lags: readonly (readonly number[])[];
  readonly drainMs: number;
  /** Raw undici's time for as many calls, before and after. */
  readonly rawMs: readonly [number, number];
  /** Jobs that were there before the second. */
  readonly madeBefore: number;
  /** µs a job. */
  readonly executorCpuUs: number;
  readonly mysqlCpuUs: number;
  readonly statementsPerJob: number;
  readonly executorsMib: number;
  readonly callsPerConnection: number;
}

/** Medians of the peaks' p99s count; `lag` and the chart are of all their calls together. */
export function judge(
  peaks: readonly Peak[],
  said: Readonly<Record<string, Figure>>,
): ScenarioOutcome {
  const lags = PRIORITIES.map((_, rank) => peaks.flatMap((peak) => peak.lags[rank] ?? []));
  const p99s = PRIORITIES.map((_, rank) =>
    peaks.map((peak) => quantile(peak.lags[rank] ?? [], 0.99)),
  );
  const p99 = p99s.map(median);
  const ratios = peaks.map(({ drainMs, rawMs }) => drainMs / (sum(rawMs) / rawMs.length));
  const aToA = peaks.map(({ rawMs: [before, after] }) => after / before);
  const bar = holdToBar(RAW_BAR, ratios, aToA);
  // A priority without jobs is not late.
  const inTime = p99.every((ms, rank) => !(ms >= (P99_MAX_MS[rank] ?? 0)));
  const middle = (of: (peak: Peak) => number) => median(peaks.map(of));
  const byPriority = (of: readonly (number | null)[]) =>
    Object.fromEntries(PRIORITIES.map((priority, rank) => [priority, of[rank] ?? null]));
  const drainMs = middle((peak) => peak.drainMs);
  const rawMs = peaks.flatMap((peak) => peak.rawMs);
  return {
    pass: inTime && bar.met,
    figures: {
      ...said,
      rounds: peaks.length,
      jobs: middle(({ jobs }) => jobs),
      madeBefore: middle((peak) => peak.madeBefore),
      executorCpuUs: rounded(
        middle((peak) => peak.executorCpuUs),
        0,
      ),
      mysqlCpuUs: rounded(
        middle((peak) => peak.mysqlCpuUs),
        0,
      ),
      statementsPerJob: rounded(
        middle((peak) => peak.statementsPerJob),
        4,
      ),
      executorsMib: rounded(
        middle((peak) => peak.executorsMib),
        0,
      ),
      callsPerConnection: rounded(
        middle((peak) => peak.callsPerConnection),
        1,
      ),
      p99Ms: byPriority(p99.map((ms) => rounded(ms, 0))),
      lag: lagFigures(lags),
      drainMs,
      rawMs: rawMs.map((ms) => rounded(ms, 0)),
      drainToRaw: bar.ratioMedian,
      each: peaks.map((peak, i) => ({
        p99Ms: byPriority(p99s.map((of) => rounded(of[i] ?? Number.NaN, 0))),
        madeBefore: peak.madeBefore,
        drainMs: peak.drainMs,
        rawMs: peak.rawMs.map((ms) => rounded(ms, 0)),
        drainToRaw: rounded(ratios[i] ?? Number.NaN),
      })),
    },
    bars: [bar],
    table: [
      [...LAG_HEADS, "p99, median of rounds", "bar"],
      ...lagRows(lags).map((row, rank) => [
        ...row,
        Number.isFinite(p99[rank]) ? `${p99[rank]?.toFixed(0)} ms` : "",
        `< ${P99_MAX_MS[rank]} ms`,
      ]),
      ["drain", "", "", "", "", `${drainMs.toFixed(0)} ms`],
      ["raw undici", "", "", "", "", `${median(rawMs).toFixed(0)} ms`],
    ],
    chart: lagChart({
      title: `${sum(lags.map((of) => of.length))} jobs due in ${peaks.length === 1 ? "one second" : `${peaks.length} seconds`}: share of calls sent by lag`,
      lines: lagLines(lags),
    }),
  };
}
