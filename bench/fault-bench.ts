/** A fault of the fault matrix as a scenario: the same load, the same break, the same judgement, several times over. */

import { openFaultDatabase } from "#test/faults/database.ts";
import type { Fault } from "#test/faults/fault.ts";
import { cassandraOfRun } from "#test/faults/history.ts";
import { type Outcome, runFault } from "#test/faults/run-fault.ts";
import { extraCalls, HEADS, rowOf } from "#test/faults/tell.ts";
import { rounded } from "./figures.ts";
import type { ScenarioContext, ScenarioOutcome } from "./scenario.ts";

const ROUNDS = 3;

export async function runFaultBench(
  fault: Fault,
  { say, signal, options }: ScenarioContext,
): Promise<ScenarioOutcome> {
  await using use = new AsyncDisposableStack();
  const cassandra = use.use(cassandraOfRun(say, signal));
  const database = use.use(await openFaultDatabase(say, signal));
  const outcomes: Outcome[] = [];
  const rounds = options.rounds ?? (options.quick ? 1 : ROUNDS);
  for (let round = 0; round < rounds; round++) {
    say(`round ${round + 1}: ${fault.breaks}`);
    const seed = options.seed + round;
    const outcome = await runFault(fault, { database, cassandra, seed, say, signal });
    for (const failure of outcome.failures) say(failure);
    outcomes.push(outcome);
  }
  return {
    pass: outcomes.every(({ failures }) => failures.length === 0),
    figures: {
      fault: fault.id,
      rounds: outcomes.map((outcome) => ({
        jobs: outcome.jobs,
        lost: outcome.lost,
        duplicates: outcome.duplicates,
        extraCalls: extraCalls(outcome),
        uncommitted: outcome.uncommitted,
        recoverySeconds: rounded(outcome.recoveryMs / 1_000, 1),
        criticalP99Ms: rounded(outcome.criticalP99Ms, 0),
      })),
    },
    table: [HEADS, ...outcomes.map(rowOf)],
  };
}
