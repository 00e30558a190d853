/** Fair shares between tenants and priorities, in the simulation of test/support/lane-simulation.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CLAIM_MS, LaneSimulation, ROOM } from "#test/support/lane-simulation.ts";

test("a tenant with 50,000 jobs beside 200 quiet ones at one a second: quiet jobs are claimed at once, and no room is left unused", () => {
  const simulation = new LaneSimulation();
  simulation.add("burst", "normal", 50_000);
  let periods = 0;
  while (simulation.countOf("burst") < 50_000 && periods < 1_000) {
    for (let i = 0; i < 200; i++)
      if (periods % 20 === i % 20) simulation.add(`quiet-${i}`, "normal", 1);
    const took = simulation.claimPeriod();
    periods++;
    if (simulation.waiting > 0) assert.equal(took, ROOM, "work-conserving");
  }
  const quiet = simulation.claimed.filter(({ tenant }) => tenant !== "burst");
  const lags = quiet.map(({ claimedAtMs, dueAtMs }) => claimedAtMs - dueAtMs);
  assert.ok(quiet.length > 2_000);
  assert.ok(Math.max(...lags) <= CLAIM_MS, `worst ${Math.max(...lags)} ms`);
});

test("a burst of 50,000 beside a tenant that brings 80 % of what can be done: neither is below 35 % while both wait", () => {
  const simulation = new LaneSimulation();
  simulation.add("burst", "normal", 50_000);
  const bothWaitMs = 10_000;
  while (simulation.nowMs < bothWaitMs) {
    simulation.add("steady", "normal", ROOM * 0.8);
    simulation.claimPeriod();
  }
  const share = simulation.countOf("steady") / simulation.claimed.length;
  assert.ok(share >= 0.35 && share <= 0.65, `steady has ${share}`);
});

test("low is served while high and normal always have more than can be done: by its weight", () => {
  const simulation = new LaneSimulation();
  for (let period = 0; period < 100; period++) {
    simulation.add("high", "high", ROOM);
    simulation.add("normal", "normal", ROOM);
    simulation.add("low", "low", ROOM);
    simulation.claimPeriod();
  }
  const parts = ["high", "normal", "low"].map((tenant) => simulation.countOf(tenant) / 25_000);
  for (const [i, part] of [0.6, 0.3, 0.1].entries())
    assert.ok(Math.abs((parts[i] ?? 0) - part) < 0.03, `${parts}`);
});
