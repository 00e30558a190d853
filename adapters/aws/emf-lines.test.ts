import assert from "node:assert/strict";
import { test } from "node:test";
import type { MetricsInterval } from "#core/ports/metrics.ts";
import { emfLines } from "./emf-lines.ts";

const INTERVAL: MetricsInterval = {
  counters: new Map([
    ["claimed", 5],
    ["given_back", 0],
  ]),
  gauges: new Map([["held", [3, 7]]]),
  priorities: new Map([
    ["critical", { gauges: new Map(), lag: { first: 2, late: 1, p50Ms: 5, p99Ms: 1_500 } }],
    ["high", { gauges: new Map(), lag: { first: 0, late: 0, p50Ms: null, p99Ms: null } }],
    ["normal", { gauges: new Map([["backlog", [12]]]), lag: null }],
    ["low", { gauges: new Map(), lag: null }],
  ]),
};

test("a line for the service and one for each priority that has anything to say", () => {
  const [own, critical, high, normal, ...more] = emfLines("executor", INTERVAL, 1_700_000_000_000);
  assert.deepEqual(more, []);
  assert.deepEqual(own, {
    _aws: {
      Timestamp: 1_700_000_000_000,
      CloudWatchMetrics: [
        {
          Namespace: "AtAndCron",
          Dimensions: [["Service"]],
          Metrics: [
            { Name: "Claimed", Unit: "Count" },
            { Name: "GivenBack", Unit: "Count" },
            { Name: "Held", Unit: "Count" },
          ],
        },
      ],
    },
    Service: "executor",
    Claimed: 5,
    GivenBack: 0,
    Held: [3, 7],
  });
  assert.partialDeepStrictEqual(critical, {
    ...{ Service: "executor", Priority: "critical", FirstCalls: 2, LateCalls: 1 },
    ...{ LagP50: 5, LagP99: 1_500 },
  });
  assert.partialDeepStrictEqual(high, { Priority: "high", FirstCalls: 0, LateCalls: 0 });
  assert.ok(high && !("LagP99" in high), "no calls have no percentiles");
  assert.partialDeepStrictEqual(normal, { Priority: "normal", Backlog: [12] });
});

test("what a line declares it has, as CloudWatch takes it: at most 100 metrics, each a number or up to 100 of them", () => {
  for (const line of emfLines("executor", INTERVAL, 0)) {
    const { _aws, ...values } = JSON.parse(JSON.stringify(line));
    const [{ Dimensions, Metrics }] = _aws.CloudWatchMetrics;
    const declared = [...Dimensions[0], ...Metrics.map(({ Name }: { Name: string }) => Name)];
    assert.deepEqual(declared.toSorted(), Object.keys(values).toSorted());
    assert.ok(Metrics.length <= 100);
    for (const { Name } of Metrics) {
      const each = [values[Name]].flat();
      assert.ok(each.length >= 1 && each.length <= 100 && each.every(Number.isFinite));
    }
  }
});
