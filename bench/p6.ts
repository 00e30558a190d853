/**
 * p6: a tenant whose endpoint hangs until the deadline of each call, and who has more such calls than an executor has slots: the
 * others' p99 with it beside without it.
 */
import { lagChart } from "./charts.ts";
import { quantile } from "./figures.ts";
import { startTarget } from "./fleet.ts";
import {
  HERD_HEADS,
  type Herd,
  herdFigures,
  herdRow,
  judgeNeighbour,
  type NeighbourRound,
  runLeg,
} from "./neighbours.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { openBenchDatabases } from "./stack.ts";

const SECONDS = 20;
const QUICK_SECONDS = 1;
const ROUNDS = 3;
const SLOTS = 64;
const ALLOWED = { ratioMax: 1.1, addedMsMax: 50 };

const OTHERS: Herd = {
  ...{ name: "others", group: 0, tenants: 50, tasks: 1, seconds: 1 },
  ...{ priority: "normal", endpoint: "delay/10", timeoutMs: 10_000 },
};
/** 200 calls of five seconds every ten: a hundred slots' worth. */
const HANGING: Herd = {
  ...{ name: "hanging", group: 1, tenants: 1, tasks: 200, seconds: 10 },
  ...{ priority: "normal", endpoint: "hang/0", timeoutMs: 5_000 },
};

export const scenario: Scenario = {
  question: "how much later others' jobs are beside a tenant whose endpoint hangs",
  takes: ["quick", "rounds", "seed", "seconds", "executors"],
  run: runP6,
};

async function runP6(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, options } = context;
  await using databases = await openBenchDatabases("p6", context);
  await using target = await startTarget();
  const seconds = options.seconds ?? (options.quick ? QUICK_SECONDS : SECONDS);
  const rounds = options.rounds ?? (options.quick ? 1 : ROUNDS);
  const leg = { seconds, executors: options.executors ?? 1, slots: SLOTS };
  const run = (...beside: Herd[]) =>
    runLeg(databases, target, { ...leg, watched: OTHERS, beside }, context);
  const measured: NeighbourRound[] = [];
  for (let round = 1; round <= rounds; round++) {
    const legs = { without: await run(), beside: await run(HANGING), again: await run() };
    measured.push(legs);
    const [alone, beside] = [legs.without, legs.beside].map(({ lagsMs }) => quantile(lagsMs, 0.99));
    say(
      `round ${round} of ${rounds}: p99 ${alone?.toFixed(0)} ms without, ${beside?.toFixed(0)} ms beside it`,
    );
  }
  return judge(measured, leg);
}

function judge(
  rounds: readonly NeighbourRound[],
  leg: { seconds: number; executors: number; slots: number },
): ScenarioOutcome {
  const { alone, beside, isFair, figures, bars, addedRow } = judgeNeighbour(rounds, ALLOWED);
  return {
    pass: isFair,
    figures: { ...leg, without: herdFigures(alone), beside: herdFigures(beside), ...figures },
    table: [
      [...HERD_HEADS],
      herdRow("others alone", alone),
      herdRow("beside it", beside),
      addedRow,
    ],
    bars,
    chart: lagChart({
      title: "Others beside a tenant whose endpoint hangs: share of calls sent by lag",
      lines: [
        { label: "beside it", lagsMs: beside.lagsMs },
        { label: "without it", lagsMs: alone.lagsMs },
      ],
    }),
  };
}
