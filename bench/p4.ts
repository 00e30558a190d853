/** p4: one of two executors killed (SIGKILL) in the middle of its work. F7 of the fault matrix. */
import { killExecutor } from "#test/faults/faults/deaths.ts";
import { runFaultBench } from "./fault-bench.ts";
import type { Scenario } from "./scenario.ts";

export const scenario: Scenario = {
  question: "what an executor that is killed costs: lost, duplicates, seconds until its jobs run",
  takes: ["quick", "rounds", "seed"],
  run: (context) => runFaultBench(killExecutor, context),
};
