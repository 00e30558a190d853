/** Tenants' weights, in the simulation of test/support/lane-simulation.ts: what the lanes can give, which is not exact. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CLAIM_MS, LaneSimulation, ROOM } from "#test/support/lane-simulation.ts";

const [HEAVY, LIGHT] = ["acme", "globex"] as const;
const PERIODS_PER_SECOND = 1_000 / CLAIM_MS;

/** A simulated second, with what comes in each claim's period; the parts of the two among what was claimed. */
function second(simulation: LaneSimulation, arrive = () => {}): { heavy: number; light: number } {
  const before = [HEAVY, LIGHT].map((tenant) => simulation.countOf(tenant));
  let took = 0;
  for (let i = 0; i < PERIODS_PER_SECOND; i++) {
    arrive();
    const taken = simulation.claimPeriod();
    if (simulation.waiting > 0) assert.equal(taken, ROOM, "work-conserving");
    took += taken;
  }
  const [heavy = 0, light = 0] = [HEAVY, LIGHT].map(
    (tenant, i) => (simulation.countOf(tenant) - (before[i] ?? 0)) / took,
  );
  return { heavy, light };
}

for (const [heavy, light, part] of [
  [3, 1, 0.75],
  [1, 3, 0.25],
  [4, 2, 0.67],
  [2.5, 1, 0.75],
  [8, 1, 0.86],
  [1, 0.25, 0.5],
] as const)
  test(`two bursts of 50,000, of weights ${heavy} and ${light}: ${part * 100} % of the first while both wait, neither starves, and the rest flows on`, () => {
    const simulation = new LaneSimulation({ [HEAVY]: heavy, [LIGHT]: light });
    for (const tenant of [HEAVY, LIGHT]) simulation.add(tenant, "normal", 50_000);
    const parts = Array.from({ length: 10 }, () => second(simulation));
    for (const one of parts)
      assert.ok(Math.min(one.heavy, one.light) >= 0.009, JSON.stringify(parts));
    for (const one of parts.slice(5))
      assert.ok(Math.abs(one.heavy - part) < 0.03, JSON.stringify(parts));
    while (simulation.waiting > 0) second(simulation);
    assert.equal(simulation.nowMs, 20_000, "all room is used, to the end");
  });

test("two tenants of weights 3 and 1 that each bring 80 % of what can be done: 75 %, once their shares are used up", () => {
  const simulation = new LaneSimulation({ [HEAVY]: 3, [LIGHT]: 1 });
  const arrive = () => {
    for (const tenant of [HEAVY, LIGHT]) simulation.add(tenant, "normal", ROOM * 0.8);
  };
  const parts = Array.from({ length: 20 }, () => second(simulation, arrive));
  for (const { heavy } of parts.slice(3))
    assert.ok(Math.abs(heavy - 0.75) < 0.06, JSON.stringify(parts));
});

test("what a tenant of more weight does not use goes to the others at once", () => {
  const simulation = new LaneSimulation({ [HEAVY]: 8 });
  simulation.add(LIGHT, "normal", 50_000);
  for (let i = 0; i < 8; i++) {
    const { heavy, light } = second(simulation, () => simulation.add(HEAVY, "normal", ROOM / 10));
    assert.ok(heavy <= 0.11 && light >= 0.89, `${heavy} : ${light}`);
  }
});

for (const [weight, worstMs] of [
  [1, CLAIM_MS],
  [3, 150],
  [8, 300],
] as const)
  test(`beside a burst of 50,000 of weight ${weight} quiet tenants' jobs are claimed within ${worstMs} ms: they wait for its share, no longer`, () => {
    const simulation = new LaneSimulation({ [HEAVY]: weight });
    simulation.add(HEAVY, "normal", 50_000);
    for (let period = 0; simulation.waiting > 0; period++) {
      for (let i = 0; i < 200; i++)
        if (period % PERIODS_PER_SECOND === i % PERIODS_PER_SECOND)
          simulation.add(`quiet-${i}`, "normal", 1);
      simulation.claimPeriod();
    }
    const lagsMs = simulation.claimed
      .filter(({ tenant }) => tenant !== HEAVY)
      .map(({ claimedAtMs, dueAtMs }) => claimedAtMs - dueAtMs);
    assert.ok(lagsMs.length > 1_000);
    assert.ok(Math.max(...lagsMs) <= worstMs, `worst ${Math.max(...lagsMs)} ms`);
  });
