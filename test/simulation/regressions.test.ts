/**
 * Seeds that once broke a promise, each by the name of what was wrong. A scenario is written out: what a seed draws changes with the
 * simulation, and with it what it once showed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSeed } from "./run-seed.ts";
import type { Scenario } from "./scenario.ts";
import { NO_FAULTS } from "./sim-network.ts";

interface Regression {
  readonly name: string;
  readonly seeds: readonly number[];
  readonly scenario: Partial<Scenario>;
}

const REGRESSIONS: readonly Regression[] = [
  {
    // Instants that were given out ahead were used whenever a slot was free, several executors' at once.
    name: "calls of a rate that are late do not come all together",
    seeds: [27, 110],
    scenario: {
      ...{ executors: 4, slots: 2, tasks: 5, wishes: "runs" },
      faults: { ...NO_FAULTS, failAfter: 0.06, slow: 0.06, kill: 0.004 },
      limits: [
        { endpoint: null, concurrency: 2, perSecond: 1 },
        { endpoint: "flaky", concurrency: 2, perSecond: 1 },
      ],
      disasters: [{ kind: "kill-all-executors", atMs: 11_000, lastsMs: 400 }],
      ...{ healMs: 25_000, endMs: 49_000 },
    },
  },
  {
    // One held the endpoint's slot and one the tenant's, each for a second and always the wrong one: nobody called any more.
    name: "executors that need two slots each get both",
    seeds: [2, 17, 49, 95],
    scenario: {
      ...{ executors: 4, slots: 4, tasks: 4, wishes: "runs", faults: NO_FAULTS },
      limits: [
        { endpoint: null, concurrency: 1, perSecond: 1 },
        { endpoint: "slow", concurrency: 1, perSecond: 4 },
        { endpoint: "flaky", concurrency: 1, perSecond: null },
      ],
      ...{ disasters: [], healMs: 20_000, endMs: 45_000 },
    },
  },
  {
    // Times of claim and delete were compared, though the database's clock was set back between them.
    name: "a delete is heard of though it is older than the claim",
    seeds: [333, 2998],
    scenario: {
      ...{ executors: 2, slots: 1, tasks: 6, users: 3, wishes: "any", faults: NO_FAULTS },
      limits: [{ endpoint: null, concurrency: 1, perSecond: 1 }],
      disasters: [5_000, 9_000, 13_000, 17_000, 21_000, 25_000].map((atMs) => {
        return { kind: "step-database", atMs, lastsMs: 1_000 };
      }),
      ...{ databaseStepsMs: 9_000, healMs: 30_000, endMs: 60_000, jobsAtOnce: null },
      retention: { succeededMs: 200_000, endedMs: 200_000 },
    },
  },
];

describe("what was wrong once stays right", () => {
  for (const { name, seeds, scenario } of REGRESSIONS)
    it(name, async () => {
      for (const seed of seeds) {
        const { violations } = await runSeed(seed, { scenario });
        const broken = violations.map(({ rule, detail }) => `${rule}: ${detail}`);
        assert.deepEqual(broken, [], `seed ${seed}`);
      }
    });
});
