import assert from "node:assert/strict";
import { test } from "node:test";
import { timeChart } from "./time-chart.ts";

test("a line goes from the left to the right edge, its highest value to the top; what was not measured is left out", () => {
  const points = [
    [0, 0],
    [30, Number.NaN],
    [60, 10],
  ] as const;
  const svg = timeChart("t", [{ name: "p", lines: [{ label: "l", points }] }]);
  const [, drawn] = /<polyline points="([^"]*)"/.exec(svg) ?? [];
  assert.equal(drawn, "64.0,204.0 696.0,74.0");
  assert.match(svg, />1:00<\/text>/);
});
