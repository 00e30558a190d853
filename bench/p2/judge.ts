/** What p2's legs say: medians, ratios of the same round, and the bars that they are held to. */
import { type BarFigures, holdToBar } from "../bars.ts";
import { barChart } from "../charts.ts";
import type { Leg } from "../drain.ts";
import { median, rounded } from "../figures.ts";
import type { BenchOptions, ScenarioOutcome } from "../scenario.ts";
import type { Plan } from "./plan.ts";

/** Of the limit, and of each round of drains beside it. */
const RAW_RATIO_MIN = 0.5;
const MATERIALISE_RATIO_MIN = 0.35;
/** Several executors ÷ one: where slots are what is scarce, and where the machine is. */
const DELAYED_BAR_MS = 50;
const DELAYED_RATIO_MIN: Readonly<Record<number, number>> = { 2: 1.8, 3: 2.5 };
const SHARED_RATIO_MIN = 0.95;

/** Calls a second of raw's first and second leg of a round; CPU of the first, µs a call. */
export interface RawLeg {
  readonly perSecond: number;
  readonly again: number;
  readonly cpuUs: number;
  readonly targetCpuUs: number;
}

/** One entry a round in each. */
export interface Measured {
  /** Empty where raw is left out. */
  readonly raw: RawLeg[];
  /** By number of executors. */
  readonly drains: Map<number, Leg[]>;
  /** The first number of executors once more; empty where there is only one. */
  readonly again: Leg[];
}

type Row = ReturnType<typeof summarize>[number];

/** Medians of each number of executors; ratios are those of the same round. */
function summarize({ raw, drains, again }: Measured) {
  const rawCpuUs = median(raw.map(({ cpuUs, targetCpuUs }) => cpuUs + targetCpuUs));
  const rawPerSecond = raw.map(({ perSecond, again }) => (perSecond + again) / 2);
  const [ones = []] = drains.values();
  const onePerSecond = again.map((leg, i) => (leg.perSecond + (ones[i]?.perSecond ?? 0)) / 2);
  return [...drains].map(([executors, legs]) => {
    const middle = (of: (leg: Leg) => number) => median(legs.map(of));
    const to = (of: readonly number[]) =>
      of.map((value, i) => (legs[i]?.perSecond ?? Number.NaN) / value);
    const cpuUs = (leg: Leg) =>
      leg.executorCpuUs + leg.schedulerCpuUs + leg.mysqlCpuUs + leg.targetCpuUs;
    return {
      executors,
      toRaw: to(rawPerSecond),
      toOne: to(onePerSecond),
      perSecond: middle((leg) => leg.perSecond),
      firstCallMs: middle((leg) => leg.firstCallMs),
      executorCpuUs: middle((leg) => leg.executorCpuUs),
      schedulerCpuUs: middle((leg) => leg.schedulerCpuUs),
      mysqlCpuUs: middle((leg) => leg.mysqlCpuUs),
      targetCpuUs: middle((leg) => leg.targetCpuUs),
      // What a machine whose cores are all busy has to do for a job, in raw calls: steadier than the time it took.
      cpuToRaw: middle(cpuUs) / rawCpuUs,
      executorsMib: middle((leg) => leg.executorsMib),
      statements: middle((leg) => leg.statements),
      callsPerConnection: middle((leg) => leg.callsPerConnection),
      resumed: middle((leg) => leg.resumed),
      mostAtOnce: middle((leg) => leg.mostAtOnce),
    };
  });
}

function hold(rows: readonly Row[], measured: Measured, options: BenchOptions): BarFigures[] {
  const { raw, drains, again } = measured;
  const bars: BarFigures[] = [];
  const [best] = rows.toSorted((a, b) => median(b.toRaw) - median(a.toRaw));
  if (raw.length > 0 && best !== undefined) {
    const aToA = raw.map(({ perSecond, again }) => again / perSecond);
    const value = options.materialise ? MATERIALISE_RATIO_MIN : RAW_RATIO_MIN;
    const what = `${nameOf(best.executors)} ÷ raw`;
    bars.push(holdToBar({ what, bound: "at least", value }, best.toRaw, aToA));
  }
  if (again.length === 0) return bars;
  const [one, ...several] = rows;
  const ones = drains.get(one?.executors ?? 0) ?? [];
  const aToA = again.map(({ perSecond }, i) => perSecond / (ones[i]?.perSecond ?? Number.NaN));
  for (const { executors, toOne } of several) {
    const delayed = options.delayMs >= DELAYED_BAR_MS;
    const value = (delayed && DELAYED_RATIO_MIN[executors]) || SHARED_RATIO_MIN;
    const what = `${nameOf(executors)} ÷ one`;
    bars.push(holdToBar({ what, bound: "at least", value }, toOne, aToA));
  }
  return bars;
}

export function judge(measured: Measured, plan: Plan, options: BenchOptions): ScenarioOutcome {
  const { raw } = measured;
  const { jobs, warmUps } = plan;
  const rows = summarize(measured);
  const bars = hold(rows, measured, options);
  const rawPerSecond = median(raw.flatMap(({ perSecond, again }) => [perSecond, again]));
  const column = (of: (row: Row) => number, decimals: number) =>
    rows.map((row) => rounded(of(row), decimals));
  const ratios = (of: (row: Row) => readonly number[]) =>
    rows.map((row) => of(row).map((value) => rounded(value)));
  const rounds = Math.max(...[...measured.drains.values()].map((legs) => legs.length));
  return {
    pass: bars.every(({ met }) => met),
    figures: {
      jobs,
      rounds,
      warmUp: warmUps,
      delayMs: options.delayMs,
      materialise: options.materialise,
      rawPerSecond: rounded(rawPerSecond, 0),
      rawCpuUs: rounded(median(raw.map(({ cpuUs }) => cpuUs)), 0),
      rawTargetCpuUs: rounded(median(raw.map(({ targetCpuUs }) => targetCpuUs)), 0),
      executors: rows.map((row) => row.executors),
      perSecond: column((row) => row.perSecond, 0),
      ratio: column((row) => median(row.toRaw), 2),
      ratios: ratios((row) => row.toRaw),
      toOne: column((row) => median(row.toOne), 2),
      toOnes: ratios((row) => row.toOne),
      firstCallMs: column((row) => row.firstCallMs, 0),
      executorCpuUs: column((row) => row.executorCpuUs, 0),
      schedulerCpuUs: column((row) => row.schedulerCpuUs, 0),
      mysqlCpuUs: column((row) => row.mysqlCpuUs, 0),
      targetCpuUs: column((row) => row.targetCpuUs, 0),
      cpuToRaw: column((row) => row.cpuToRaw, 2),
      executorsMib: column((row) => row.executorsMib, 0),
      statementsPerJob: column((row) => row.statements, 4),
      callsPerConnection: column((row) => row.callsPerConnection, 1),
      resumed: column((row) => row.resumed, 0),
      mostAtOnce: column((row) => row.mostAtOnce, 0),
    },
    bars,
    table: tableOf(rows, raw, rawPerSecond),
    chart: barChart({
      title: `Drain of ${jobs} due ${options.materialise ? "tasks" : "jobs"}: claimed, called, recorded (median of ${rounds})`,
      unit: "jobs/s",
      bars: [
        ...(raw.length > 0 ? [{ label: "raw undici", value: rawPerSecond }] : []),
        ...rows.map((row) => ({ label: nameOf(row.executors), value: row.perSecond })),
      ],
    }),
  };
}

const HEADS = [
  "",
  "jobs/s",
  "÷ raw",
  "÷ one",
  "client CPU",
  "scheduler CPU",
  "MySQL CPU",
  "target CPU",
  "CPU ÷ raw",
  "executors' MiB",
  "statements/job",
  "calls/connection",
  "resumed",
  "most at once",
];

function tableOf(rows: readonly Row[], raw: readonly RawLeg[], rawPerSecond: number): string[][] {
  const number = (value: number, decimals = 0, unit = "") =>
    Number.isFinite(value) ? `${value.toFixed(decimals)}${unit}` : "";
  const us = (value: number) => number(value, 0, " µs");
  const clientUs = us(median(raw.map(({ cpuUs }) => cpuUs)));
  const targetUs = us(median(raw.map(({ targetCpuUs }) => targetCpuUs)));
  const rawRow = ["raw undici", number(rawPerSecond), "1.00", "", clientUs, "", "", targetUs];
  return [
    HEADS,
    ...(raw.length > 0 ? [[...rawRow, "1.00", "", "", "", ""]] : []),
    ...rows.map((row) => [
      nameOf(row.executors),
      number(row.perSecond),
      number(median(row.toRaw), 2),
      number(median(row.toOne), 2),
      us(row.executorCpuUs),
      us(row.schedulerCpuUs),
      us(row.mysqlCpuUs),
      us(row.targetCpuUs),
      number(row.cpuToRaw, 2),
      number(row.executorsMib),
      number(row.statements, 4),
      number(row.callsPerConnection, 1),
      // Over TLS only.
      row.resumed > 0 ? number(row.resumed) : "",
      // Where an endpoint answers at once, none waits at the target for another.
      row.mostAtOnce > 1 ? number(row.mostAtOnce) : "",
    ]),
  ];
}

function nameOf(executors: number): string {
  return `${executors} executor${executors > 1 ? "s" : ""}`;
}
