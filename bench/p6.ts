/**
 * p6: a tenant whose endpoint hangs until the deadline of each call, and who has more such calls than an executor has slots: the
 * others' p99 with it beside without it.
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
  runLeg,
} from "./neighbours.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { openBenchDatabases } from "./stack.ts";

const SECONDS = 20;
const QUICK_SECONDS = 1;
const ROUNDS = 3;
const SLOTS = 64;
const RATIO_MAX = 1.1;
const ADDED_MS_MAX = 50;

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
  const [without, beside]: [HerdLags[], HerdLags[]] = [[], []];
  for (let round = 1; round <= rounds; round++) {
    without.push(await run());
    beside.push(await run(HANGING));
    const p99 = (legs: HerdLags[]) => quantile(legs.at(-1)?.lagsMs ?? [], 0.99).toFixed(0);
    say(`round ${round} of ${rounds}: p99 ${p99(without)} ms without, ${p99(beside)} ms beside it`);
  }
  return judge(without, beside, leg);
}

function judge(
  without: readonly HerdLags[],
  beside: readonly HerdLags[],
  leg: { seconds: number; executors: number; slots: number },
): ScenarioOutcome {
  const p99 = ({ lagsMs }: HerdLags) => quantile(lagsMs, 0.99);
  const pairs = without.map((alone, i) => [p99(alone), p99(beside[i] ?? alone)] as const);
  const ratio = median(pairs.map(([alone, together]) => together / alone));
  const addedMs = median(pairs.map(([alone, together]) => together - alone));
  const [alone, together] = [joinLags(without), joinLags(beside)];
  return {
    pass: (ratio <= RATIO_MAX || addedMs <= ADDED_MS_MAX) && together.missing === 0,
    figures: {
      ...leg,
      rounds: pairs.length,
      without: herdFigures(alone),
      beside: herdFigures(together),
      p99Ratio: rounded(ratio),
      p99AddedMs: rounded(addedMs, 0),
    },
    table: [
      [...HERD_HEADS],
      herdRow("others alone", alone),
      herdRow("beside it", together),
      ["p99 with ÷ without", "", "", ratio.toFixed(2), "", ""],
      ["p99 with − without", "", "", `${addedMs.toFixed(0)} ms`, "", ""],
      ["allowed", "", "", `≤ ${RATIO_MAX} or ≤ ${ADDED_MS_MAX} ms`, "", ""],
    ],
    chart: lagChart({
      title: "Others beside a tenant whose endpoint hangs: share of calls sent by lag",
      lines: [
        { label: "beside it", lagsMs: together.lagsMs },
        { label: "without it", lagsMs: alone.lagsMs },
      ],
    }),
  };
}
