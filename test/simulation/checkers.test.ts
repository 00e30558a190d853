/** The checkers are tried on bugs: each is planted, and must be noticed within so many seeds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PLANTS } from "./plants.ts";
import { runOnWorkers } from "./seed-pool.ts";

const SEEDS_MAX = 1_000;
const AT_ONCE = 10;

/** What the bug does, by the promises that it breaks. */
const RULES: Record<string, RegExp> = {
  "no guard in WHERE": /a result changed a job that was claimed since/,
  "a lease that can end before a late job is sent": /a job does not end|two live leases/,
  "ack before commit": /\(job, attempt\) sent twice|sent by who does not hold it/,
  "a give-back that reuses a fence": /claim number went back/,
  "an archiver that deletes what was just retried": /archived though|without a copy/,
  "plain INSERT over a cancelled occurrence": /late though|stays behind|no row|made again/,
  "attempt not counted": /\(job, attempt\) sent twice/,
  "a record in place of those before it": /a call is not recorded as it was/,
  "delete before copy": /deleted without a copy in history/,
};

/** Of each plant the first seed that breaks such a promise; none where it was not noticed. All of them on the same workers. */
async function findSeeds(): Promise<ReadonlyMap<string, number>> {
  const caught = new Map<string, number>();
  const nextOf = new Map(PLANTS.map(({ name }) => [name, 1]));
  await runOnWorkers(
    () => {
      for (const [plant, from] of nextOf) {
        if (caught.has(plant) || from > SEEDS_MAX) continue;
        nextOf.set(plant, from + AT_ONCE);
        return { from, count: AT_ONCE, plant };
      }
      return null;
    },
    ({ plant, failing }) => {
      if (plant === null) return;
      const shown = failing.find(({ rules }) => rules.some((rule) => RULES[plant]?.test(rule)));
      if (shown !== undefined)
        caught.set(plant, Math.min(shown.seed, caught.get(plant) ?? SEEDS_MAX));
    },
  );
  return caught;
}

describe("a planted bug is caught within 1,000 seeds", () => {
  const found = findSeeds();
  for (const { name } of PLANTS)
    it(name, async (test) => {
      const seed = (await found).get(name);
      assert(seed !== undefined, "not noticed");
      test.diagnostic(`by seed ${seed}`);
    });
});
