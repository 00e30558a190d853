import assert from "node:assert/strict";
import { test } from "node:test";
import { barChart, lagChart } from "./charts.ts";

test("the largest bar fills the height, the others their share of it", () => {
  const bars = [100, 50].map((value) => ({ label: `b${value}`, value }));
  const svg = barChart({ title: "t", unit: "jobs/s", bars });
  const heights = [...svg.matchAll(/<rect x=.* height="([\d.]+)" fill="#[0-9a-f]{6}"/g)];
  const [largest, half] = heights.map(([, height]) => Number(height));
  assert(largest !== undefined && half !== undefined);
  assert.equal(largest, 2 * half);
});

test("a line of lags climbs from the least to all of the calls, and none is drawn of none", () => {
  const lines = [
    { label: "some", lagsMs: [1, 10, 100] },
    { label: "none", lagsMs: [] },
  ];
  const svg = lagChart({ title: "t", lines });
  const [some, none] = [...svg.matchAll(/points="([^"]*)"/g)].map(([, points]) => points);
  assert.equal(none, "");
  const ys = (some ?? "").split(" ").map((point) => Number(point.split(",")[1]));
  assert.deepEqual(
    ys,
    ys.toSorted((a, b) => b - a),
  );
  assert.doesNotMatch(svg, /NaN|undefined/);
});
