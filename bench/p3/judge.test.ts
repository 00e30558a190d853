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
    resumed: 0,
  };
}

const ofOne = (...peaks: Peak[]) => judge({ peaks: new Map([[1, peaks]]), again: [] }, 0, {});

test("the median of the rounds' p99s is held to the bar, and each round's is told", () => {
  const { pass, figures, bars } = ofOne(peak(100, 1_300), peak(900, 4_000), peak(200, 1_400));
  assert.equal(pass, true);
  assert.deepEqual(figures.p99Ms, { critical: 200, high: 500, normal: null, low: 4_000 });
  assert.deepEqual(
    bars?.map(({ ratioMedian, met, pairs }) => [ratioMedian, met, pairs]),
    [[1.4, true, 3]],
  );
  const [each = []] = figures.each as { drainMs: number; p99Ms: { critical: number } }[][];
  assert.deepEqual(
    each.map(({ drainMs, p99Ms }) => [drainMs, p99Ms.critical]),
    [
      [1_300, 100],
      [4_000, 900],
      [1_400, 200],
    ],
  );
});

test("a late priority or a slow drain does not pass", () => {
  assert.equal(ofOne(peak(300, 1_000)).pass, false);
  assert.equal(ofOne(peak(100, 1_600)).pass, false);
  assert.equal(ofOne(peak(100, 1_400)).pass, true);
});

test("several executors are held to one of the same round: as fast and no later at endpoints that answer at once, faster at slow ones", () => {
  const peaks = (ofTwo: Peak) =>
    new Map([
      [1, [peak(100, 1_200)]],
      [2, [ofTwo]],
    ]);
  const metOf = (ofTwo: Peak, delayMs: number) =>
    judge({ peaks: peaks(ofTwo), again: [peak(100, 1_000)] }, delayMs, {}).bars?.map(
      ({ what, ratioMedian, met }) => [what, ratioMedian, met],
    );
  assert.deepEqual(metOf(peak(120, 1_000), 0), [
    ["drain ÷ raw", 1.2, true],
    ["speed, 2 executors ÷ one", 1.1, true],
    ["critical p99, 2 executors ÷ one", 1.2, false],
  ]);
  assert.deepEqual(metOf(peak(9_000, 600), 50), [["speed, 2 executors ÷ one", 1.83, true]]);
  assert.deepEqual(metOf(peak(9_000, 700), 50), [["speed, 2 executors ÷ one", 1.57, false]]);
});
