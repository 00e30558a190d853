import assert from "node:assert/strict";
import { test } from "node:test";
import type { TargetCalls } from "../target.ts";
import { BURST, burstSpeed, judge, QUIET, type Round, STEADY, whileBothWait } from "./judge.ts";

/** Calls in the order in which they came. */
function callsOf(
  ...calls: [group: number, scheduledAtMs: number, arrivedAtMs: number, attempt?: number][]
): TargetCalls {
  return {
    group: calls.map(([group]) => group),
    scheduledAtMs: calls.map(([, scheduledAtMs]) => scheduledAtMs),
    arrivedAtMs: calls.map(([, , arrivedAtMs]) => arrivedAtMs),
    attempt: calls.map(([, , , attempt = 1]) => attempt),
    priority: calls.map(() => 2),
  };
}

test("the burst's speed is that of all calls until its last one, from when it was due", () => {
  const calls = callsOf(
    [QUIET, 0, 900],
    [BURST, 1_000, 1_250],
    [QUIET, 1_000, 1_400],
    [BURST, 1_000, 1_500],
    [QUIET, 1_000, 1_600],
  );
  assert.deepEqual(burstSpeed(calls, 1_000), { endMs: 1_500, perSecond: 6 });
});

test("calls count while both have something that is due and not called: first attempts, seen as they come", () => {
  const calls = callsOf(
    [STEADY, 900, 950], // the burst is not due yet
    [BURST, 1_000, 1_010], // nothing of the steady one is due
    [BURST, 1_000, 1_100], // from here on two of it are
    [STEADY, 1_050, 1_200],
    [STEADY, 1_050, 1_250, 2], // no first attempt
    [BURST, 1_000, 2_150],
    [STEADY, 1_060, 2_200], // the burst is done
    [STEADY, 2_210, 2_220],
  );
  assert.deepEqual(whileBothWait(calls), {
    ...{ calls: 3, seconds: 1.05, burstShare: 2 / 3, burstShares: [0.5] },
  });
});

const fair: Round = {
  alone: [1_000, 1_000],
  beside: 980,
  quietBefore: { lagsMs: [5], missing: 0 },
  quiet: { lagsMs: [5, 900], missing: 0 },
  heavy: { calls: 100, seconds: 1, burstShare: 0.6, burstShares: [0.6] },
};

function passes(round: Partial<Round>): boolean {
  return judge([{ ...fair, ...round }], {}).pass;
}

test("the bars: quiet tenants in time, all of them called, the burst at full speed, neither of two heavy tenants below 35 %", () => {
  assert.equal(passes({}), true);
  assert.equal(passes({ quiet: { lagsMs: [1_000], missing: 0 } }), false);
  assert.equal(passes({ quiet: { lagsMs: [5], missing: 1 } }), false);
  assert.equal(passes({ beside: 940 }), false);
  assert.equal(passes({ heavy: { ...fair.heavy, burstShare: 0.34 } }), false);
  assert.equal(passes({ heavy: { ...fair.heavy, burstShare: 0.66 } }), false);
  assert.equal(passes({ heavy: { ...fair.heavy, calls: 0, burstShare: Number.NaN } }), false);
});
