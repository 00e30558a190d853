/**
 * `npm run sim -- --seed N` lives through one seed again and tells what happened, `--seeds N [--from F]` through N of them on all
 * cores, `--for SECONDS` through new ones for so long, `--plant NAME` with a bug in it. The last line says how many broke a promise.
 */
import { parseArgs } from "node:util";
import { PLANTS } from "./plants.ts";
import { runSeed } from "./run-seed.ts";
import { runOnWorkers } from "./seed-pool.ts";
import type { SeedsAsked, SeedsDone } from "./seed-worker.ts";
import { tellSeed } from "./tell-seed.ts";

const SEEDS_AT_ONCE = 25;
const FRESH_FROM_MAX = 2 ** 40;
const FAILING_TOLD_MAX = 10;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string" },
    for: { type: "string" },
    plant: { type: "string" },
    whole: { type: "boolean" },
  },
});

process.exitCode = values.seed === undefined ? await runMany() : await replay(Number(values.seed));

async function replay(seed: number): Promise<number> {
  const plant = PLANTS.find(({ name }) => name === values.plant) ?? null;
  const run = await runSeed(seed, { plant, traced: true });
  console.log(tellSeed(run, { whole: values.whole ?? false }));
  return run.violations.length === 0 ? 0 : 1;
}

async function runMany(): Promise<number> {
  const forMs = values.for === undefined ? Number.POSITIVE_INFINITY : Number(values.for) * 1_000;
  const fresh = values.seeds === undefined && values.from === undefined;
  const from = Number(values.from ?? (fresh ? Math.floor(Math.random() * FRESH_FROM_MAX) : 1));
  const endless = Number.isFinite(forMs) ? Number.POSITIVE_INFINITY : 1_000;
  const count = Number(values.seeds ?? endless);
  const startMs = performance.now();
  const sum = {
    seeds: 0,
    events: 0,
    calls: 0,
    jobs: 0,
    failing: [] as SeedsDone["failing"][number][],
  };
  const say = () => {
    const seconds = (performance.now() - startMs) / 1_000;
    const rate = Math.round(sum.seeds / seconds);
    return `${sum.seeds} seeds from ${from}, ${sum.events} events, ${sum.jobs} jobs, ${sum.calls} calls in ${seconds.toFixed(1)} s (${rate} seeds/s): ${sum.failing.length} broke a promise`;
  };
  let next = from;
  let saidMs = startMs;
  const take = (): SeedsAsked | null => {
    const nowMs = performance.now();
    if (next >= from + count || nowMs - startMs >= forMs) return null;
    const asked = { from: next, count: Math.min(SEEDS_AT_ONCE, from + count - next) };
    next += asked.count;
    return { ...asked, plant: values.plant ?? null };
  };
  const note = (done: SeedsDone) => {
    sum.seeds += done.seeds;
    sum.events += done.events;
    sum.calls += done.calls;
    sum.jobs += done.jobs;
    for (const one of done.failing) {
      sum.failing.push(one);
      if (sum.failing.length <= FAILING_TOLD_MAX)
        console.log(
          `seed ${one.seed}: ${one.rules.join("; ")}   npm run sim -- --seed ${one.seed}`,
        );
    }
    if (performance.now() - saidMs < 5_000) return;
    saidMs = performance.now();
    console.log(say());
  };
  await runOnWorkers(take, note);
  console.log(say());
  return sum.failing.length === 0 ? 0 : 1;
}
