/**
 * p7: a tenant with fifty times the others' load, all of it in one second of ten, on slots that its burst keeps busy for seconds:
 * the others' p99 with it beside without it. And low under a constant high load that is more than the slots can do: starved, low would be
 * called when high has run out, 10 s later and more.
 */
import { lagChart } from "./charts.ts";
import { quantile, rounded } from "./figures.ts";
import { startTarget } from "./fleet.ts";
import {
  HERD_HEADS,
  type Herd,
  herdFigures,
  herdRow,
  joinLags,
  judgeNeighbour,
  type LegLags,
  type NeighbourRound,
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
const ALLOWED = { ratioMax: 1.2, addedMsMax: 50 };
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
  const [measured, low]: [NeighbourRound[], LegLags[]] = [[], []];
  for (let round = 1; round <= rounds; round++) {
    const legs = {
      without: await run(OTHERS),
      beside: await run(OTHERS, NOISY),
      again: await run(OTHERS),
    };
    measured.push(legs);
    const lows = await run(LOW, HIGH);
    low.push(lows);
    const p99s = [legs.without, legs.beside, lows].map(({ lagsMs }) => quantile(lagsMs, 0.99));
    const texts = p99s.map((ms) => ms.toFixed(0));
    say(`round ${round} of ${rounds}: p99 ${texts.join(", ")} ms`);
  }
  return judge(measured, low, leg);
}

type Leg = { readonly seconds: number; readonly executors: number; readonly slots: number };

function judge(
  rounds: readonly NeighbourRound[],
  low: readonly LegLags[],
  leg: Leg,
): ScenarioOutcome {
  const { alone, beside, isFair, figures, bars, addedRow } = judgeNeighbour(rounds, ALLOWED);
  const lows = joinLags(low);
  const oldestLowMs = quantile(lows.lagsMs, 1);
  const highs = { lagsMs: low.flatMap(({ besideMs }) => besideMs), missing: 0 };
  const flows = lows.missing === 0 && oldestLowMs < LOW_MS_MAX;
  const isUnder = quantile(highs.lagsMs, 0.99) >= HIGH_P99_MS_MIN;
  return {
    pass: isFair && flows && isUnder,
    figures: {
      ...leg,
      without: herdFigures(alone),
      beside: herdFigures(beside),
      low: herdFigures(lows),
      high: herdFigures(highs),
      ...figures,
      oldestLowMs: rounded(oldestLowMs, 0),
    },
    table: [
      [...HERD_HEADS],
      herdRow("others alone", alone),
      herdRow("beside 50 ×", beside),
      herdRow("low under high", lows),
      herdRow("high, what came", highs),
      addedRow,
    ],
    bars,
    chart: lagChart({
      title: "Others beside a tenant with 50 times their load; low under high: calls sent by lag",
      lines: [
        { label: "beside it", lagsMs: beside.lagsMs },
        { label: "low under constant high", lagsMs: lows.lagsMs },
        { label: "without it", lagsMs: alone.lagsMs },
      ],
    }),
  };
}
