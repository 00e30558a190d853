import assert from "node:assert/strict";
import { test } from "node:test";
import { type Figures, judge, OURS, OURS_AGAIN, RAW, RAW_AGAIN } from "./judge.ts";

const legs = (...speeds: number[]): Figures[] =>
  speeds.map((perSecond) => ({ perSecond, cpuUs: 100, mostAtOnce: 64 }));

test("ours is held to every other queue, by pairs of the same round, and to no leg of raw or its own", () => {
  const { pass, figures, bars } = judge(
    {
      instant: new Map([
        [RAW, legs(20, 20)],
        [OURS, legs(10, 12)],
        ["one", legs(5, 12)],
        [RAW_AGAIN, legs(22, 18)],
      ]),
      mixed: new Map([
        [OURS, legs(10, 10)],
        ["one", legs(10, 8)],
        [OURS_AGAIN, legs(10, 9)],
      ]),
    },
    { rounds: 2 },
  );
  assert.equal(pass, false);
  assert.equal(figures.rounds, 2);
  assert.deepEqual(
    bars?.map(({ what, ratioMedian, spreadAA, met }) => [what, ratioMedian, spreadAA, met]),
    [
      ["ours ÷ one, instant", 1.5, [0.9, 1.1], true],
      ["ours ÷ one, mixed", 1.13, [0.9, 1], false],
    ],
  );
});
