import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeNeighbour, type NeighbourRound } from "./neighbours.ts";

const ALLOWED = { ratioMax: 1.1, addedMsMax: 50 };

function roundOf(withoutMs: number, besideMs: number, againMs: number): NeighbourRound {
  const lags = (ms: number) => ({ lagsMs: [1, ms], missing: 0 });
  return { without: lags(withoutMs), beside: lags(besideMs), again: lags(againMs) };
}

test("a neighbour may add a tenth, or 50 ms, in the middle of the rounds' pairs", () => {
  const fair = (...rounds: NeighbourRound[]) => judgeNeighbour(rounds, ALLOWED).isFair;
  assert.equal(fair(roundOf(10, 59, 10)), true, "six times as much, but 49 ms");
  assert.equal(fair(roundOf(10, 62, 10)), false);
  assert.equal(fair(roundOf(1_000, 1_090, 1_000)), true, "90 ms, but a tenth");
  assert.equal(fair(roundOf(10, 90, 9), roundOf(10, 20, 12), roundOf(10, 30, 10)), true);
  assert.equal(fair(roundOf(10, 90, 9), roundOf(10, 20, 12), roundOf(10, 80, 10)), false);
});

test("the bar is met by either, and more than noise by the one that meets it", () => {
  const told = (...rounds: NeighbourRound[]) => {
    const [bar] = judgeNeighbour(rounds, ALLOWED).bars;
    return [bar?.bar, bar?.met, bar?.outsideAA];
  };
  assert.deepEqual(told(roundOf(10, 30, 14)), ["≤ 1.1 or + 50 ms", true, true], "by 20 ms, of 4");
  assert.deepEqual(told(roundOf(10, 58, 14)), ["≤ 1.1 or + 50 ms", true, false]);
  assert.deepEqual(told(roundOf(1_000, 1_060, 1_000)), ["≤ 1.1 or + 50 ms", true, true]);
  assert.deepEqual(told(roundOf(10, 90, 14)), ["≤ 1.1 or + 50 ms", false, true]);
  assert.deepEqual(told(roundOf(10, 62, 30)), ["≤ 1.1 or + 50 ms", false, false]);
});

test("what has not come in one round is not fair, whatever the lags", () => {
  const round = roundOf(10, 10, 10);
  const lost = { ...round, beside: { ...round.beside, missing: 1 } };
  assert.equal(judgeNeighbour([round, lost, round], ALLOWED).isFair, false);
});

test("the noise is told beside it: without the neighbour against without it", () => {
  const rounds = [roundOf(10, 20, 8), roundOf(10, 30, 15), roundOf(20, 40, 20)];
  const { figures, bars, alone } = judgeNeighbour(rounds, ALLOWED);
  assert.equal(alone.lagsMs.length, 6);
  assert.deepEqual(figures, { rounds: 3, p99AddedMs: 20, p99AddedMsAA: [-2, 5] });
  assert.deepEqual([bars[0]?.ratioMedian, bars[0]?.spreadAA], [2, [0.8, 1.5]]);
});
