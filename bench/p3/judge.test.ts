import assert from "node:assert/strict";
import { test } from "node:test";
import { judge, type Peak } from "./judge.ts";

function peak(criticalMs: number, drainMs: number): Peak {
  return {
    jobs: 4,
    lags: [[criticalMs], [500], [], [4_000]],
    drainMs,
    rawMs: [1_000, 1_000],
    madeBefore: 4,
    executorCpuUs: 50,
    mysqlCpuUs: 60,
    statementsPerJob: 0.02,
    executorsMib: 200,
    callsPerConnection: 10,
  };
}

test("the median of the rounds' p99s is held to the bar, and each round's is told", () => {
  const { pass, figures, bars } = judge([peak(100, 1_300), peak(900, 4_000), peak(200, 1_400)], {});
  assert.equal(pass, true);
  assert.deepEqual(figures.p99Ms, { critical: 200, high: 500, normal: null, low: 4_000 });
  assert.deepEqual(
    bars?.map(({ ratioMedian, met, pairs }) => [ratioMedian, met, pairs]),
    [[1.4, true, 3]],
  );
  const each = figures.each as { drainToRaw: number; p99Ms: { critical: number } }[];
  assert.deepEqual(
    each.map(({ drainToRaw, p99Ms }) => [drainToRaw, p99Ms.critical]),
    [
      [1.3, 100],
      [4, 900],
      [1.4, 200],
    ],
  );
});

test("a late priority or a slow drain does not pass", () => {
  assert.equal(judge([peak(300, 1_000)], {}).pass, false);
  assert.equal(judge([peak(100, 1_600)], {}).pass, false);
  assert.equal(judge([peak(100, 1_400)], {}).pass, true);
});
