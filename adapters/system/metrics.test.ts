import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PRIORITIES } from "#core/domain/queue.ts";
import {
  COUNTERS,
  GAUGES,
  LAG_BOUNDS_MS,
  LAG_METRICS,
  LAG_PROMISED_MS,
} from "#core/ports/metrics.ts";
import { countersOf, openMetrics } from "./metrics.ts";
import { prometheusText } from "./prometheus-text.ts";

test("counters are taken once, and there are zeros where nothing happened", () => {
  const metrics = openMetrics("executor");
  metrics.count("claimed", 2);
  metrics.count("claimed", 3);
  const { counters } = metrics.take();
  assert.deepEqual([...counters.keys()], countersOf("executor"));
  assert.equal(counters.get("claimed"), 5);
  assert.equal(counters.get("fenced"), 0);
  metrics.count("claimed", 1);
  assert.equal(metrics.take().counters.get("claimed"), 1);
  assert.equal(metrics.totals().counters.get("claimed"), 6);
});

test("what another service reports is not among its metrics", () => {
  const metrics = openMetrics("archiver");
  metrics.count("claimed", 1);
  metrics.observeLagMs("high", 1);
  assert.ok(!metrics.take().counters.has("claimed"));
  assert.equal(metrics.take().priorities.get("high")?.lag, null);
});

test("percentiles are upper bounds, and what is late is counted exactly", () => {
  const lags = fc.array(fc.oneof(fc.integer({ min: -20, max: 3_000 }), fc.nat(5_000_000)), {
    minLength: 1,
    maxLength: 400,
  });
  fc.assert(
    fc.property(lags, fc.constantFrom(...PRIORITIES), (observed, priority) => {
      const metrics = openMetrics("executor");
      for (const lagMs of observed) metrics.observeLagMs(priority, lagMs);
      const lag = metrics.take().priorities.get(priority)?.lag;
      assert.ok(lag);
      assert.equal(lag.first, observed.length);
      assert.equal(lag.late, observed.filter((ms) => ms > LAG_PROMISED_MS[priority]).length);
      const sorted = observed.toSorted((a, b) => a - b);
      for (const [share, figure] of [
        [0.5, lag.p50Ms],
        [0.99, lag.p99Ms],
      ] as const) {
        const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
        const bound = LAG_BOUNDS_MS.find((ms) => ms >= exact) ?? 2 * (LAG_BOUNDS_MS.at(-1) ?? 0);
        assert.equal(figure, bound);
      }
      assert.deepEqual(metrics.take().priorities.get(priority)?.lag, {
        first: 0,
        late: 0,
        p50Ms: null,
        p99Ms: null,
      });
    }),
  );
});

test("levels are read when somebody asks; every reading since is taken, of many the highest stays", () => {
  const metrics = openMetrics("executor");
  let held = 1;
  metrics.onRead(() => metrics.gauge("held", held));
  held = 7;
  assert.match(prometheusText(metrics), /at_and_cron_held\{service="executor"\} 7/);
  held = 3;
  assert.deepEqual(metrics.take().gauges.get("held"), [7, 3]);
  for (held = 1; held <= 500; held++) metrics.totals();
  held = 2;
  const readings = metrics.take().gauges.get("held") ?? [];
  assert.equal(readings.length, 100);
  assert.equal(Math.max(...readings), 500);
});

test("a level by priority is taken with its own priority, once", () => {
  const metrics = openMetrics("reconciler");
  for (const [at, priority] of PRIORITIES.entries()) metrics.gaugeOf("backlog", priority, at);
  const { priorities } = metrics.take();
  for (const [at, priority] of PRIORITIES.entries())
    assert.deepEqual(priorities.get(priority)?.gauges.get("backlog"), [at]);
  for (const { gauges } of metrics.take().priorities.values()) assert.equal(gauges.size, 0);
});

test("the list is closed and clear: one name each, bounds rise and have every promise among them", () => {
  const specs = [COUNTERS, GAUGES, LAG_METRICS].flatMap((list) => Object.entries(list));
  const names = specs.map(([, { name }]) => name);
  assert.equal(new Set(names).size, names.length);
  for (const list of [COUNTERS, GAUGES])
    for (const [key, { name }] of Object.entries(list))
      assert.equal(name.toLowerCase(), key.replaceAll("_", ""), `${name} is ${key}`);
  assert.deepEqual(
    [...LAG_BOUNDS_MS],
    LAG_BOUNDS_MS.toSorted((a, b) => a - b),
  );
  for (const priority of PRIORITIES)
    assert.ok((LAG_BOUNDS_MS as readonly number[]).includes(LAG_PROMISED_MS[priority]));
});

test("Prometheus reads counters, levels by priority, and a histogram whose buckets add up", () => {
  const metrics = openMetrics("executor");
  metrics.count("sent", 2);
  metrics.observeLagMs("critical", 4);
  metrics.observeLagMs("critical", 990);
  metrics.gaugeOf("backlog", "low", 12);
  const text = prometheusText(metrics);
  const lines = text.split("\n");
  const critical = 'service="executor",priority="critical"';
  for (const line of [
    "# TYPE at_and_cron_sent_total counter",
    'at_and_cron_sent_total{service="executor"} 2',
    'at_and_cron_backlog{service="executor",priority="low"} 12',
    "# TYPE at_and_cron_lag_seconds histogram",
    `at_and_cron_lag_seconds_bucket{${critical},le="0.005"} 1`,
    `at_and_cron_lag_seconds_bucket{${critical},le="0.8"} 1`,
    `at_and_cron_lag_seconds_bucket{${critical},le="1"} 2`,
    `at_and_cron_lag_seconds_bucket{${critical},le="+Inf"} 2`,
    `at_and_cron_lag_seconds_sum{${critical}} 0.994`,
    `at_and_cron_lag_seconds_count{${critical}} 2`,
  ])
    assert.ok(lines.includes(line), line);
  assert.ok(text.endsWith("\n"));
  for (const line of lines.filter((each) => each !== ""))
    assert.match(line, /^(# (HELP|TYPE) [a-z0-9_]+ .+|[a-z0-9_]+\{[^}]+\} -?[0-9.e+]+)$/);
});

test("a level that nobody reads any more is missing after three minutes, and there again once somebody does", () => {
  let nowMs = 0;
  const metrics = openMetrics("reconciler", () => nowMs);
  const told = () => {
    const { gauges, gaugesOf } = metrics.totals();
    return [gauges.get("live_executors"), gaugesOf.get("backlog")?.get("low")];
  };
  const read = (value: number) => {
    metrics.gauge("live_executors", value);
    metrics.gaugeOf("backlog", "low", value);
  };
  read(1);
  nowMs = 180_000;
  assert.deepEqual(told(), [1, 1]);
  nowMs += 1;
  assert.deepEqual(told(), [undefined, undefined]);
  read(0);
  assert.deepEqual(told(), [0, 0]);
});
