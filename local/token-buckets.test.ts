import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TokenBuckets } from "./token-buckets.ts";

test("the burst at once, then the rate; another caller has a bucket of its own", () => {
  const buckets = new TokenBuckets({ ratePerSecond: 2, burst: 3, bucketsMax: 10 });
  const take = (nowMs: number) => Math.round(buckets.take("a", nowMs));
  assert.deepEqual([take(0), take(0), take(0), take(0)], [0, 0, 0, 500]);
  assert.equal(buckets.take("b", 0), 0);
  assert.equal(take(499), 1, "asking in vain costs nothing");
  assert.deepEqual([take(500), take(500)], [0, 500]);
  assert.deepEqual([take(60_000), take(60_000), take(60_000), take(60_000)], [0, 0, 0, 500]);
});

test("no span of time gets more than the burst and its rate, and waiting as told is enough", () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 20 }),
      pauses,
      (ratePerSecond, burst, ms) => {
        const buckets = new TokenBuckets({ ratePerSecond, burst, bucketsMax: 2 });
        const takenAtMs: number[] = [];
        let nowMs = 0;
        for (const pauseMs of ms) {
          nowMs += pauseMs;
          const waitMs = buckets.take("a", nowMs);
          assert.ok(waitMs >= 0 && waitMs <= 1_000 / ratePerSecond);
          // A hair more, for the arithmetic of fractions.
          if (waitMs > 0) {
            nowMs += waitMs + 1e-6;
            assert.equal(buckets.take("a", nowMs), 0);
          }
          takenAtMs.push(nowMs);
        }
        for (const [from, fromMs] of takenAtMs.entries())
          for (const [to, toMs] of takenAtMs.entries())
            if (to >= from)
              assert.ok(to - from + 1 <= burst + ((toMs - fromMs) / 1_000) * ratePerSecond + 1e-6);
      },
    ),
    { numRuns: 50 },
  );
});

test("callers that are forgotten begin anew: the memory is bounded", () => {
  const buckets = new TokenBuckets({ ratePerSecond: 1, burst: 1, bucketsMax: 2 });
  const take = (caller: string) => buckets.take(caller, 0);
  assert.deepEqual([take("a"), take("b"), take("a")], [0, 0, 1_000]);
  assert.deepEqual([take("c"), take("a"), take("b")], [0, 1_000, 0]);
});
