import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bar, barRows, holdToBar } from "./bars.ts";

const half: Bar = { what: "drain ÷ raw", bound: "at least", value: 0.5 };

test("a bar is met by the median, and outside A against A where it is further away than A was from A", () => {
  const far = holdToBar(half, [0.9, 0.6, 0.7], [0.9, 1.2]);
  assert.deepEqual(far, {
    what: "drain ÷ raw",
    bar: "≥ 0.5",
    pairs: 3,
    ratioMedian: 0.7,
    spreadAA: [0.9, 1.2],
    met: true,
    outsideAA: true,
  });
  const near = holdToBar(half, [0.55], [0.9, 1.2]);
  assert.deepEqual([near.met, near.outsideAA], [true, false]);
  const below = holdToBar(half, [0.46], [0.9, 1.2]);
  assert.deepEqual([below.met, below.outsideAA], [false, false]);
  const farBelow = holdToBar(half, [0.44], [0.9, 1.2]);
  assert.deepEqual([farBelow.met, farBelow.outsideAA], [false, true]);
});

test("a bar from above is met below it", () => {
  const most: Bar = { what: "peak ÷ raw", bound: "at most", value: 1.5 };
  const under = holdToBar(most, [1.2], [1, 1]);
  assert.deepEqual([under.bar, under.met, under.outsideAA], ["≤ 1.5", true, true]);
  assert.equal(holdToBar(most, [1.6], [1, 1]).met, false);
});

test("what all pairs of A and A share is noise too", () => {
  assert.equal(holdToBar(half, [0.51], [1.1, 1.2]).outsideAA, false);
});

test("without pairs no bar is met, and nothing is outside", () => {
  const { met, outsideAA, ratioMedian } = holdToBar(half, [], []);
  assert.deepEqual([met, outsideAA, ratioMedian], [false, false, null]);
});

test("the table says what is met and what is no more than noise", () => {
  const [, ...rows] = barRows([holdToBar(half, [0.6], [1, 1]), holdToBar(half, [0.4], [0.5, 1])]);
  assert.deepEqual(
    rows.map((row) => row.at(-1)),
    ["met", "not met, inside A ÷ A"],
  );
});
