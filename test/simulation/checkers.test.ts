/** The checkers are tried on bugs: each is planted, and must be noticed within so many seeds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PLANTS } from "./plants.ts";
import { runSeed } from "./run-seed.ts";

const SEEDS_MAX = 1_000;

/** What the bug does, by the first promise that it breaks. */
const RULES: Record<string, RegExp> = {
  "no guard in WHERE": /a result changed a job that was claimed since/,
  "a lease that can end before a late job is sent": /a job does not end|two live leases/,
  "ack before commit": /\(job, attempt\) sent twice|sent by who does not hold it/,
  "a give-back that reuses a fence": /claim number went back/,
  "an archiver that deletes what was just retried": /archived though|without a copy/,
  "plain INSERT over a cancelled occurrence": /late though|stays behind|no row|made again/,
  "attempt not counted": /\(job, attempt\) sent twice/,
  "delete before copy": /deleted without a copy in history/,
};

describe("a planted bug is caught within 1,000 seeds", () => {
  for (const plant of PLANTS)
    it(plant.name, async (test) => {
      const expected = RULES[plant.name];
      assert(expected);
      for (let seed = 1; seed <= SEEDS_MAX; seed++) {
        const { violations } = await runSeed(seed, { plant });
        if (!violations.some(({ rule }) => expected.test(rule))) continue;
        test.diagnostic(`by seed ${seed}`);
        return;
      }
      assert.fail("not caught");
    });
});
