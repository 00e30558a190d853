/** p5: MySQL killed and away for 30 s under load. F14 of the fault matrix. */
import { mysqlAway, mysqlKilled } from "#test/faults/faults/database.ts";
import { runFaultBench } from "./fault-bench.ts";
import type { Scenario } from "./scenario.ts";

const QUICK_AWAY_MS = 5_000;

export const scenario: Scenario = {
  question: "what MySQL away for 30 s costs: lost, duplicates, seconds until all is as before",
  takes: ["quick", "rounds", "seed"],
  run: (context) =>
    runFaultBench(context.options.quick ? mysqlKilled(QUICK_AWAY_MS) : mysqlAway, context),
};
