/** One run of the simulation. */
import type { Violation } from "./ledger.ts";
import { World, type WorldOptions } from "./world.ts";

export interface SeedRun {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly events: number;
  readonly calls: number;
  readonly jobs: number;
  /** Virtual. */
  readonly lastedMs: number;
  readonly world: World;
}

export async function runSeed(seed: number, options: WorldOptions = {}): Promise<SeedRun> {
  const world = new World(seed, options);
  await world.run();
  const { ledger, queue } = world;
  let calls = 0;
  for (const each of ledger.calls.values()) calls += each.length;
  return {
    seed,
    violations: ledger.violations,
    events: queue.fired,
    calls,
    jobs: world.jobs,
    lastedMs: queue.nowMs,
    world,
  };
}
