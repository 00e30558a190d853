import assert from "node:assert/strict";
import { test } from "node:test";
import { lagsByPriority } from "./lag.ts";

test("lags are those of first attempts of the group that were scheduled inside the window", () => {
  const calls = {
    arrivedAtMs: [1_005, 1_007, 1_900, 2_100, 1_050],
    scheduledAtMs: [1_000, 1_000, 1_000, 2_000, 1_000],
    attempt: [1, 1, 2, 1, 1],
    priority: [0, 3, 0, 0, 0],
    group: [1, 1, 1, 1, 0],
  };
  const lags = lagsByPriority(calls, { group: 1, fromMs: 1_000, untilMs: 2_000 });
  assert.deepEqual(lags, [[5], [], [], [7]]);
});
