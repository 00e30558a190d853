/** Lives through seeds, on a thread of its own. */
import { parentPort } from "node:worker_threads";
import { PLANTS } from "./plants.ts";
import { runSeed } from "./run-seed.ts";

export interface SeedsAsked {
  readonly from: number;
  readonly count: number;
  readonly plant: string | null;
}

export interface SeedsDone {
  readonly plant: string | null;
  readonly seeds: number;
  readonly events: number;
  readonly calls: number;
  readonly jobs: number;
  readonly failing: readonly { readonly seed: number; readonly rules: readonly string[] }[];
}

// Errors are part of what is simulated, thousands a second: who replays a seed gets their stacks.
Error.stackTraceLimit = 0;

/** What failed with nobody waiting for it, in the run that has just ended. */
const leftAlone: string[] = [];
process.on("unhandledRejection", (error) => leftAlone.push(`nobody heard: ${String(error)}`));

parentPort?.on("message", (asked: SeedsAsked) => {
  runSeeds(asked).then(
    (done) => parentPort?.postMessage(done),
    (error: unknown) => {
      throw error;
    },
  );
});

async function runSeeds({ from, count, plant }: SeedsAsked): Promise<SeedsDone> {
  const planted = PLANTS.find(({ name }) => name === plant) ?? null;
  const failing: { seed: number; rules: string[] }[] = [];
  const sum = { events: 0, calls: 0, jobs: 0 };
  for (let seed = from; seed < from + count; seed++) {
    const { violations, events, calls, jobs } = await runSeed(seed, { plant: planted });
    sum.events += events;
    sum.calls += calls;
    sum.jobs += jobs;
    // Only when nothing is left to do does Node tell of them.
    await new Promise((resolve) => setImmediate(resolve));
    const rules = [...violations.map(({ rule }) => rule), ...leftAlone.splice(0)];
    if (rules.length > 0) failing.push({ seed, rules: [...new Set(rules)] });
  }
  return { plant, seeds: count, ...sum, failing };
}
