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
    if (violations.length > 0)
      failing.push({ seed, rules: [...new Set(violations.map(({ rule }) => rule))] });
  }
  return { plant, seeds: count, ...sum, failing };
}
