/** What p3's peaks say: lag by priority, the drain beside raw and beside one executor, and the bars that they are held to. */
import { PRIORITIES } from "#core/domain/queue.ts";
import { type BarFigures, holdToBar } from "../bars.ts";
import { lagChart } from "../charts.ts";
import { median, quantile, rounded, sum } from "../figures.ts";
import { lagFigures, lagLines } from "../lag.ts";
import type { Figure, ScenarioOutcome } from "../scenario.ts";

/** Our own aim for one machine of two cores, most urgent first, where endpoints answer at once. */
const P99_MAX_MS = [250, 1_000, 5_000, 5_000];
const TO_RAW_MAX = 1.5;
/** How many times as fast several executors are: where slots are what is scarce, and where the machine is. */
const DELAYED_BAR_MS = 50;
const DELAYED_SPEED_MIN: Readonly<Record<number, number>> = { 2: 1.8, 3: 2.5 };
const SHARED_SPEED_MIN = 0.95;

export interface Peak {
  readonly jobs: number;
  /** Lags in ms by priority, most urgent first. */
  readonly lags: readonly (readonly number[])[];
  readonly drainMs: number;
  /** Raw undici's time for as many calls, before and after; NaN where endpoints take their time. */
  readonly rawMs: readonly [number, number];
  /** Jobs that were there before the second. */
  readonly madeBefore: number;
  /** µs a job. */
  readonly executorCpuUs: number;
  readonly mysqlCpuUs: number;
  readonly statementsPerJob: number;
  readonly executorsMib: number;
  readonly callsPerConnection: number;
  /** Connections that took up a TLS session. */
  readonly resumed: number;
}

/** One entry a round in each. */
export interface Peaks {
  /** By number of executors. */
  readonly peaks: ReadonlyMap<number, readonly Peak[]>;
  /** The first number of executors once more; empty where there is only one. */
  readonly again: readonly Peak[];
}

/** Medians of the rounds; ratios are those of the same round. */
function summarize(
  executors: number,
  peaks: readonly Peak[],
  one: readonly Peak[],
  again: readonly Peak[],
) {
  const middle = (of: (peak: Peak) => number) => median(peaks.map(of));
  const onceMs = again.map(({ drainMs }, i) => (drainMs + (one[i]?.drainMs ?? Number.NaN)) / 2);
  return {
    executors,
    peaks,
    p99: PRIORITIES.map((_, rank) => middle((peak) => p99Of(peak, rank))),
    drainMs: middle(({ drainMs }) => drainMs),
    toRaw: peaks.map(({ drainMs, rawMs }) => drainMs / (sum(rawMs) / rawMs.length)),
    speedToOne: onceMs.map((ms, i) => ms / (peaks[i]?.drainMs ?? Number.NaN)),
    madeBefore: middle(({ madeBefore }) => madeBefore),
    executorCpuUs: middle(({ executorCpuUs }) => executorCpuUs),
    mysqlCpuUs: middle(({ mysqlCpuUs }) => mysqlCpuUs),
    statements: middle(({ statementsPerJob }) => statementsPerJob),
    executorsMib: middle(({ executorsMib }) => executorsMib),
    callsPerConnection: middle(({ callsPerConnection }) => callsPerConnection),
    resumed: middle(({ resumed }) => resumed),
  };
}

type Row = ReturnType<typeof summarize>;

/** `p99Ms`, `lag`, `drainMs` and the chart are of the first number of executors; `lag` and the chart of all its rounds' calls together. */
export function judge(
  { peaks, again }: Peaks,
  delayMs: number,
  said: Readonly<Record<string, Figure>>,
): ScenarioOutcome {
  const [one = []] = peaks.values();
  const rows = [...peaks].map(([executors, of]) => summarize(executors, of, one, again));
  const [first] = rows as [Row];
  const lags = PRIORITIES.map((_, rank) => one.flatMap((peak) => peak.lags[rank] ?? []));
  const bars = hold(rows, again, delayMs);
  // A priority without jobs is not late.
  const inTime = rows.every(({ p99 }) => p99.every((ms, rank) => !(ms >= (P99_MAX_MS[rank] ?? 0))));
  const rawMs = one.flatMap((peak) => peak.rawMs);
  const column = (of: (row: Row) => number, decimals = 0) =>
    rows.map((row) => rounded(of(row), decimals));
  return {
    pass: (delayMs > 0 || inTime) && bars.every(({ met }) => met),
    figures: {
      ...said,
      delayMs,
      rounds: one.length,
      jobs: one[0]?.jobs ?? null,
      madeBefore: first.madeBefore,
      p99Ms: byPriority(first.p99),
      lag: lagFigures(lags),
      drainMs: first.drainMs,
      rawMs: rawMs.map((ms) => rounded(ms, 0)),
      drainToRaw: rounded(median(first.toRaw)),
      executors: rows.map(({ executors }) => executors),
      drainsMs: column((row) => row.drainMs),
      p99sMs: rows.map(({ p99 }) => byPriority(p99)),
      speedToOne: column((row) => median(row.speedToOne), 2),
      executorCpuUs: column((row) => row.executorCpuUs),
      mysqlCpuUs: column((row) => row.mysqlCpuUs),
      statementsPerJob: column((row) => row.statements, 4),
      executorsMib: column((row) => row.executorsMib),
      callsPerConnection: column((row) => row.callsPerConnection, 1),
      resumed: column((row) => row.resumed),
      each: rows.map(({ peaks }) => peaks.map(eachOf)),
      again: again.map(eachOf),
    },
    bars,
    table: tableOf(rows, median(rawMs), delayMs),
    chart: lagChart({
      title: `${sum(lags.map((of) => of.length))} jobs due in ${one.length === 1 ? "one second" : `${one.length} seconds`}, ${nameOf(first.executors)}: share of calls sent by lag`,
      lines: lagLines(lags),
    }),
  };
}

function hold(rows: readonly Row[], again: readonly Peak[], delayMs: number): BarFigures[] {
  const [one, ...several] = rows as [Row, ...Row[]];
  const bars: BarFigures[] = [];
  if (delayMs === 0) {
    const rawToRaw = one.peaks.map(({ rawMs: [before, after] }) => after / before);
    const bar = { what: "drain ÷ raw", bound: "at most", value: TO_RAW_MAX } as const;
    bars.push(holdToBar(bar, one.toRaw, rawToRaw));
  }
  const ratios = (peaks: readonly Peak[], of: (peak: Peak) => number) =>
    peaks.map((peak, i) => of(peak) / of(one.peaks[i] as Peak));
  const speed = ({ drainMs }: Peak) => 1 / drainMs;
  for (const { executors, peaks, speedToOne } of several) {
    const value = (delayMs >= DELAYED_BAR_MS && DELAYED_SPEED_MIN[executors]) || SHARED_SPEED_MIN;
    const faster = { what: `speed, ${nameOf(executors)} ÷ one`, bound: "at least", value } as const;
    bars.push(holdToBar(faster, speedToOne, ratios(again, speed)));
    if (delayMs > 0) continue;
    const late = (peak: Peak) => p99Of(peak, 0);
    const value99 = rounded(1 / SHARED_SPEED_MIN) ?? 1;
    const what = `critical p99, ${nameOf(executors)} ÷ one`;
    bars.push(
      holdToBar(
        { what, bound: "at most", value: value99 },
        ratios(peaks, late),
        ratios(again, late),
      ),
    );
  }
  return bars;
}

function p99Of({ lags }: Peak, rank: number): number {
  return quantile(lags[rank] ?? [], 0.99);
}

function byPriority(ms: readonly number[]): Readonly<Record<string, Figure>> {
  return Object.fromEntries(
    PRIORITIES.map((priority, rank) => [priority, rounded(ms[rank] ?? Number.NaN, 0)]),
  );
}

function eachOf(peak: Peak): Figure {
  const { madeBefore, drainMs, rawMs } = peak;
  const p99Ms = byPriority(PRIORITIES.map((_, rank) => p99Of(peak, rank)));
  return { p99Ms, madeBefore, drainMs, rawMs: rawMs.map((ms) => rounded(ms, 0)) };
}

function tableOf(rows: readonly Row[], rawMs: number, delayMs: number): string[][] {
  const number = (value: number, decimals = 0, unit = "") =>
    Number.isFinite(value) ? `${value.toFixed(decimals)}${unit}` : "";
  const blank = (row: string[]) => HEADS.map((_, i) => row[i] ?? "");
  const limits =
    delayMs > 0 ? [] : [blank(["bar of p99", ...P99_MAX_MS.map((ms) => `< ${ms} ms`)])];
  const raw = delayMs > 0 ? [] : [blank(["raw undici", "", "", "", "", number(rawMs, 0, " ms")])];
  return [
    HEADS,
    ...limits,
    ...rows.map((row) => [
      nameOf(row.executors),
      ...row.p99.map((ms) => number(ms, 0, " ms")),
      number(row.drainMs, 0, " ms"),
      number(median(row.toRaw), 2),
      number(median(row.speedToOne), 2),
      number(row.executorCpuUs, 0, " µs"),
      number(row.mysqlCpuUs, 0, " µs"),
      number(row.statements, 4),
      number(row.executorsMib),
      number(row.callsPerConnection, 1),
      // Over TLS only.
      row.resumed > 0 ? number(row.resumed) : "",
    ]),
    ...raw,
  ];
}

const HEADS = [
  "p99, medians",
  ...PRIORITIES,
  "drain",
  "÷ raw",
  "speed ÷ one",
  "executor CPU",
  "MySQL CPU",
  "statements/job",
  "MiB",
  "calls/connection",
  "resumed",
];

function nameOf(executors: number): string {
  return `${executors} executor${executors > 1 ? "s" : ""}`;
}
