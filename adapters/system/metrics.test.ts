import assert from "node:assert/strict";
import { test } from "node:test";
import { openMetrics } from "./metrics.ts";

test("a summary holds sums and percentiles within a bucket, once", () => {
  const metrics = openMetrics();
  metrics.count("claimed", 2);
  metrics.count("claimed", 3);
  metrics.count("fenced", 0);
  for (let i = 1; i <= 100; i++) metrics.observeLagMs("high", i);
  const summary = metrics.takeSummary();
  assert.equal(summary.claimed, 5);
  assert.ok(!("fenced" in summary));
  const p50 = summary.lag_p50_ms_high ?? 0;
  const p99 = summary.lag_p99_ms_high ?? 0;
  assert.ok(p50 >= 50 && p50 <= 50 * 1.25 + 1, `p50 ${p50}`);
  assert.ok(p99 >= 99 && p99 <= 99 * 1.25 + 1, `p99 ${p99}`);
  assert.deepEqual(metrics.takeSummary(), {});
});
