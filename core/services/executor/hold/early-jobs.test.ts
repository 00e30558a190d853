/** The order in which early jobs come up. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EarlyJobs } from "./early-jobs.ts";
import type { HeldJob } from "./held-job.ts";

test("whatever comes and goes, what is next is the earliest, and of one instant the most urgent", () => {
  const job = fc.record({
    runAtMs: fc.constantFrom(1_800_000_000_000, 1_800_000_000_001, 1_800_000_001_000),
    queue: fc.integer({ min: 0, max: 63 }),
  });
  fc.assert(
    fc.property(fc.array(fc.option(job, { freq: 3 }), { maxLength: 200 }), (steps) => {
      const early = new EarlyJobs();
      const held: HeldJob[] = [];
      const order = (a: HeldJob, b: HeldJob) =>
        a.job.runAtMs - b.job.runAtMs || a.job.queue - b.job.queue;
      for (const step of [...steps, ...steps.map(() => null)]) {
        if (step === null) {
          const next = early.peek();
          // What came first of equals goes first: the sort is stable.
          assert.equal(next, held.toSorted(order)[0] ?? null);
          early.pop();
          if (next !== null) held.splice(held.indexOf(next), 1);
        } else {
          const one = { job: step } as HeldJob;
          held.push(one);
          early.push(one);
        }
      }
    }),
  );
});
