/** No seed breaks a promise: the same ones every time, then new ones for a while. `npm run sim -- --seed N` replays one. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { runSeed } from "./run-seed.ts";

const FIXED_SEEDS = 300;
const FRESH_MS = 30_000;

async function assertKept(seed: number): Promise<void> {
  const { violations } = await runSeed(seed);
  const broken = violations.map(({ rule, detail }) => `${rule}: ${detail}`);
  assert.deepEqual(broken, [], `replay it: npm run sim -- --seed ${seed}`);
}

it(`keeps every promise in seeds 1 to ${FIXED_SEEDS}`, async () => {
  for (let seed = 1; seed <= FIXED_SEEDS; seed++) await assertKept(seed);
});

it("keeps every promise in new seeds", async (test) => {
  const first = Math.floor(Math.random() * 2 ** 40);
  const endMs = performance.now() + FRESH_MS;
  let seed = first;
  while (performance.now() < endMs) await assertKept(seed++);
  test.diagnostic(`${seed - first} seeds from ${first}`);
});

it("lives through a seed the same way every time", async () => {
  const tell = async () => {
    const { world, events } = await runSeed(7, { traced: true });
    return [String(events), ...world.trace.linesOf(null, null)];
  };
  assert.deepEqual(await tell(), await tell());
});
