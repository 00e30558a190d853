/** What target tracking comes to where endpoints are slow: the template's policies in a fluid model, a minute a step. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DUE_SOON_COUNTED_MAX, LAG_PROMISED_MS } from "#core/ports/metrics.ts";
import { readStage } from "../config.ts";
import { makeApp, makeCell, type Properties, resourcesOf } from "./cell-templates.ts";

const MINUTES = 1_440;
/** Jobs are made so long before they are due. */
const MADE_AHEAD_SECONDS = 30;
/** Readings in a row above the target before executors are added, and below nine tenths of it before one is taken away. */
const ABOVE = 3;
const BELOW = 15;
/** From one that is taken away to the next. */
const COOLDOWN_MINUTES = 10;

const [config] = readStage(makeApp("prod").node).cells;
assert.ok(config);
const { executorSlots } = config.workers;
const { workers } = makeCell("prod");
const [scalable] = resourcesOf(workers, "AWS::ApplicationAutoScaling::ScalableTarget");
assert.ok(scalable);
const min = Number(scalable[1].Properties.MinCapacity);
const max = Number(scalable[1].Properties.MaxCapacity);
const policies = resourcesOf(workers, "AWS::ApplicationAutoScaling::ScalingPolicy").map(
  ([, { Properties }]) => Properties.TargetTrackingScalingPolicyConfiguration as Properties,
);

/** The target of the policy on a metric of ours and its statistic; infinite where there is none: nothing is above it. */
function targetOf(name: string, statistic: string): number {
  const found = policies.find(({ CustomizedMetricSpecification: metric }) => {
    const { MetricName, Statistic } = (metric ?? {}) as Properties;
    return MetricName === name && Statistic === statistic;
  });
  return Number(found?.TargetValue ?? Number.POSITIVE_INFINITY);
}

/**
 * A day of `perSecond` normal jobs whose calls last `callSeconds`, on `slots` of each executor: minutes in which they began later than
 * promised, those of the last twelve hours alone, and how many executors there are at its end.
 */
function liveThrough(perSecond: number, callSeconds: number, slots: number) {
  let [executors, waiting, above, below, late, lateAtLast] = [min, 0, 0, 0, 0, 0];
  for (let minute = 0; minute < MINUTES; minute++) {
    const rate = (executors * slots) / callSeconds;
    waiting = Math.max(0, waiting + 60 * (perSecond - rate));
    const done = waiting > 0 ? rate : perSecond;
    if ((waiting / done) * 1_000 > LAG_PROMISED_MS.normal) {
      late++;
      if (minute >= MINUTES / 2) lateAtLast++;
    }
    const dueSoon = Math.min(DUE_SOON_COUNTED_MAX, waiting + MADE_AHEAD_SECONDS * perSecond);
    const share = Math.max(
      dueSoon / executors / targetOf("DueSoonPerExecutor", "Maximum"),
      (done * callSeconds) / executors / targetOf("Sending", "Average"),
    );
    above = share > 1 ? above + 1 : 0;
    below = share < 0.9 ? below + 1 : 0;
    if (above >= ABOVE) {
      executors = Math.min(max, Math.ceil(executors * share));
      above = 0;
    }
    if (below >= BELOW && executors > min) {
      executors--;
      below = BELOW - COOLDOWN_MINUTES;
    }
  }
  return { executors, late, lateAtLast };
}

describe("executors where calls last", () => {
  // The whole load begins at once; where one tenant has it, slots are full at 4/3 of the target, and so many more are added each time.
  for (const [perSecond, callSeconds] of [
    [100, 1],
    [50, 5],
    [40, 10],
    [20, 30],
    [10, 60],
    [2, 600],
  ] as const)
    for (const [whose, slots, lateMax] of [
      ["many tenants'", executorSlots * 1.5, 15],
      ["one tenant's", executorSlots, 35],
    ] as const)
      it(`${whose} ${perSecond} a second of ${callSeconds} s: as many are started as they take, and stay`, () => {
        const { executors, late, lateAtLast } = liveThrough(perSecond, callSeconds, slots);
        assert.ok(executors * slots >= perSecond * callSeconds, `${executors} executors`);
        assert.equal(lateAtLast, 0);
        assert.ok(late <= lateMax, `late in ${late} minutes`);
      });
});
