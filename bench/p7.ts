/**
 * p7: a tenant with fifty times the others' load, all of it in one second of ten, on slots that its burst keeps busy for seconds:
 * the others' p99 with it beside without it. And low under a constant high load that is more than the slots can do: starved, low would be
 * called when high has run out, 10 s later and more.
 */
import { lagChart } from "./charts.ts";
import { median, quantile, rounded } from "./figures.ts";
import { startTarget } from "./fleet.ts";
import {
  HERD_HEADS,
  type Herd,
  type HerdLags,
  herdFigures,
  herdRow,
  joinLags,
  type LegLags,
  runLeg,
} from "./neighbours.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { openBenchDatabases } from "./stack.ts";

const SECONDS = 20;
const QUICK_SECONDS = 1;
const ROUNDS = 3;
/** Eight slots, and four for tenants with few calls under way, of 50 ms: 240 calls a second at most, whatever the machine. */
const SLOTS = 8;
const ENDPOINT = { endpoint: "delay/50", timeoutMs: 10_000 };
const RATIO_MAX = 1.2;
const ADDED_MS_MAX = 50;
const LOW_MS_MAX = 5_000;
/** Where high is less late than this, low was under nothing. */
const HIGH_P99_MS_MIN = 2_000;

const OTHERS: Herd = {
  ...{ name: "others", group: 0, tenants: 40, tasks: 1, seconds: 1 },
  ...{ priority: "normal", ...ENDPOINT },
};
const NOISY: Herd = {
  ...{ name: "noisy", group: 1, tenants: 1, tasks: 500, seconds: 10 },
  ...{ priority: "normal", ...ENDPOINT },
};
const LOW: Herd = {
  ...{ name: "low", group: 2, tenants: 5, tasks: 1, seconds: 1 },
  ...{ priority: "low", ...ENDPOINT },
};
const HIGH: Herd = {
  ...{ name: "high", group: 3, tenants: 400, tasks: 1, seconds: 1 },
  ...{ priority: "high", ...ENDPOINT },
};

export const scenario: Scenario = {
  question:
    "how late others are beside a tenant with 50 times their load, and low under constant high",
  takes: ["quick", "rounds", "seed", "seconds", "executors"],
  run: runP7,
};

async function runP7(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, options } = context;
  await using databases = await openBenchDatabases("p7", context);
  await using target = await startTarget();
  const seconds = options.seconds ?? (options.quick ? QUICK_SECONDS : SECONDS);
  const rounds = options.rounds ?? (options.quick ? 1 : ROUNDS);
  const leg = { seconds, executors: options.executors ?? 1, slots: SLOTS };
  const run = (watched: Herd, ...others: Herd[]) =>
    runLeg(databases, target, { ...leg, watched, beside: others }, context);
  const [without, beside, low]: [HerdLags[], HerdLags[], LegLags[]] = [[], [], []];
  for (let round = 1; round <= rounds; round++) {
    without.push(await run(OTHERS));
    beside.push(await run(OTHERS, NOISY));
    low.push(await run(LOW, HIGH));
    const p99 = (legs: HerdLags[]) => quantile(legs.at(-1)?.lagsMs ?? [], 0.99).toFixed(0);
    say(`round ${round} of ${rounds}: p99 ${[without, beside, low].map(p99).join(", ")} ms`);
  }
  return judge({ without, beside, low }, leg);
}

type Leg = { readonly seconds: number; readonly executors: number; readonly slots: number };

interface Measured {
  readonly without: readonly HerdLags[];
  readonly beside: readonly HerdLags[];
  readonly low: readonly LegLags[];
}

function judge({ without, beside, low }: Measured, leg: Leg): ScenarioOutcome {
  const p99 = ({ lagsMs }: HerdLags) => quantile(lagsMs, 0.99);
  const pairs = without.map((alone, i) => [p99(alone), p99(beside[i] ?? alone)] as const);
  const ratio = median(pairs.map(([alone, together]) => together / alone));
  const addedMs = median(pairs.map(([alone, together]) => together - alone));
  const [alone, together, lows] = [joinLags(without), joinLags(beside), joinLags(low)];
  const oldestLowMs = quantile(lows.lagsMs, 1);
  const highs = { lagsMs: low.flatMap(({ besideMs }) => besideMs), missing: 0 };
  const flows = lows.missing === 0 && oldestLowMs < LOW_MS_MAX;
  const isUnder = quantile(highs.lagsMs, 0.99) >= HIGH_P99_MS_MIN;
  const fair = (ratio <= RATIO_MAX || addedMs <= ADDED_MS_MAX) && together.missing === 0;
  return {
    pass: fair && flows && isUnder,
    figures: {
      ...leg,
      rounds: pairs.length,
      without: herdFigures(alone),
      beside: herdFigures(together),
      low: herdFigures(lows),
      high: herdFigures(highs),
      p99Ratio: rounded(ratio),
      p99AddedMs: rounded(addedMs, 0),
      oldestLowMs: rounded(oldestLowMs, 0),
    },
    table: [
      [...HERD_HEADS],
      herdRow("others alone", alone),
      herdRow("beside 50 ×", together),
      herdRow("low under high", lows),
      herdRow("high, what came", highs),
      ["p99 with ÷ without", "", "", ratio.toFixed(2), "", ""],
      ["p99 with − without", "", "", `${addedMs.toFixed(0)} ms`, "", ""],
      ["allowed", "", "", `≤ ${RATIO_MAX} or ≤ ${ADDED_MS_MAX} ms`, "", ""],
    ],
    chart: lagChart({
      title: "Others beside a tenant with 50 times their load; low under high: calls sent by lag",
      lines: [
        { label: "beside it", lagsMs: together.lagsMs },
        { label: "low under constant high", lagsMs: lows.lagsMs },
        { label: "without it", lagsMs: alone.lagsMs },
      ],
    }),
  };
}
