/** No seed breaks a promise: the same ones every time, then new ones for a while. `npm run sim -- --seed N` replays one. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { runSeed } from "./run-seed.ts";
import { runOnWorkers } from "./seed-pool.ts";

const FIXED_SEEDS = 300;
const FRESH_MS = 30_000;
const AT_ONCE = 10;

/** Runs seeds from `first` on while `isOver` says no; answers how many. */
async function assertKept(first: number, isOver: (nextSeed: number) => boolean): Promise<number> {
  const broken: string[] = [];
  let next = first;
  await runOnWorkers(
    () => {
      if (isOver(next)) return null;
      const from = next;
      next += AT_ONCE;
      return { from, count: AT_ONCE, plant: null };
    },
    ({ failing }) => {
      for (const { seed, rules } of failing)
        broken.push(`npm run sim -- --seed ${seed}: ${rules.join("; ")}`);
    },
  );
  assert.deepEqual(broken, []);
  return next - first;
}

it(`keeps every promise in seeds 1 to ${FIXED_SEEDS}`, async () => {
  await assertKept(1, (next) => next > FIXED_SEEDS);
});

it("keeps every promise in new seeds", async (test) => {
  const first = Math.floor(Math.random() * 2 ** 40);
  const endMs = performance.now() + FRESH_MS;
  const count = await assertKept(first, () => performance.now() >= endMs);
  test.diagnostic(`${count} seeds from ${first}`);
});

it("lives through a seed the same way every time", async () => {
  const tell = async () => {
    const { world, events } = await runSeed(7, { traced: true });
    return [String(events), ...world.trace.linesOf(null, null)];
  };
  assert.deepEqual(await tell(), await tell());
});
