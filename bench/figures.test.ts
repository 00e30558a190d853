import assert from "node:assert/strict";
import { test } from "node:test";
import { median, quantile, rounded } from "./figures.ts";

test("a quantile is a value that was measured, the p99 of a hundred being the ninety-ninth", () => {
  const values = Array.from({ length: 100 }, (_, i) => 100 - i);
  assert.equal(quantile(values, 0.99), 99);
  assert.equal(quantile(values, 1), 100);
  assert.equal(quantile(values, 0), 1);
  assert.equal(quantile([], 0.5), Number.NaN);
});

test("the median lies between the two in the middle", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
});

test("what is no number is null in JSON", () => {
  assert.equal(rounded(1.005, 1), 1);
  assert.equal(rounded(Number.NaN), null);
});
