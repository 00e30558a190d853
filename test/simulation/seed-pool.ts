/** Seeds on all cores, each on a thread of its own: under a test runner a promise costs several times what it does there. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { SeedsAsked, SeedsDone } from "./seed-worker.ts";

/** A run's rows die young and together: room for several runs halves what collecting them costs. */
const YOUNG_MB = 64;

/** Asks `take` for what is next until it has nothing left, and tells `note` of what is done. */
export async function runOnWorkers(
  take: () => SeedsAsked | null,
  note: (done: SeedsDone) => void,
): Promise<void> {
  const workers = Array.from({ length: availableParallelism() }, () => workThrough(take, note));
  await Promise.all(workers);
}

function workThrough(
  take: () => SeedsAsked | null,
  note: (done: SeedsDone) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./seed-worker.ts", import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    const goOn = () => {
      const asked = take();
      if (asked === null) worker.terminate().then(() => resolve(), reject);
      else worker.postMessage(asked);
    };
    worker.on("message", (done: SeedsDone) => {
      note(done);
      goOn();
    });
    worker.on("error", reject);
    goOn();
  });
}
