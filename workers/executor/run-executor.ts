/** Paces an executor's steps in three loops, and drains it on the way out. */
import { OperatingError } from "#core/domain/errors.ts";
import { DRAIN_TOTAL_MS, RENEW_RETRY_MS } from "#core/domain/limits.ts";
import type { Executor } from "#core/services/executor/executor.ts";
import { type LoopDeps, runLoop, Wake } from "../_shared/run-loop.ts";

/** Results that end within this of each other are written in one group. */
const GROUP_MS = 3;
const IDLE_MS = 60_000;
const DRAIN_LOOK_MS = 20;
/** Left for closing connections before the process is killed. */
const FLUSH_DEADLINE_MS = DRAIN_TOTAL_MS - 2_000;

/** Runs until `stop`, then drains. False when something could not be written before the deadline: others rescue those jobs. */
export async function runExecutor(
  executor: Executor,
  deps: LoopDeps,
  stop: AbortSignal,
): Promise<boolean> {
  const results = new Wake();
  const room = new Wake();
  executor.onWaiting = results.set;
  executor.onRoom = room.set;
  const emptied = new AbortController();
  const renewing = runLoop(
    deps,
    {
      name: "lease renewal",
      step: () => executor.renewOnce(),
      backoffMs: { first: RENEW_RETRY_MS, max: RENEW_RETRY_MS },
    },
    emptied.signal,
  );
  const writing = runLoop(
    deps,
    {
      name: "writing results",
      step: () => writeResults(executor, deps),
      backoffMs: { first: 100, max: 1_000 },
    },
    emptied.signal,
    results,
  );
  const polling = runLoop(
    deps,
    { name: "polling", step: () => poll(executor), backoffMs: { first: 200, max: 2_000 } },
    stop,
    room,
  );
  stop.addEventListener("abort", () => executor.beginDrain(), { once: true });
  const drained = polling.then(() => drain(executor, deps)).finally(() => emptied.abort());
  const [clean] = await Promise.all([drained, renewing, writing]);
  return clean;
}

/** Waits for calls under way, then for the last write. The lease is renewed and results are written all the while. */
async function drain(executor: Executor, { clock, logger }: LoopDeps): Promise<boolean> {
  const endMs = clock.monotonicMs() + FLUSH_DEADLINE_MS;
  await executor.awaitCalls();
  while (!executor.isEmpty && clock.monotonicMs() < endMs) {
    await waitedOut(() => executor.settle());
    await clock.sleep(DRAIN_LOOK_MS);
  }
  if (!executor.isEmpty) {
    const { waiting } = executor.load;
    logger.error("results not written in time; the reconciler gives these jobs back", { waiting });
    return false;
  }
  await waitedOut(() => executor.leave());
  return true;
}

/** Runs a step on the way out, where the database being away is only a reason to try again or to do without. */
async function waitedOut(step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof OperatingError)) throw error;
  }
}

async function poll(executor: Executor): Promise<number> {
  const polled = await executor.pollOnce();
  return polled.full && executor.hasRoom() ? 0 : polled.nextPollMs;
}

async function writeResults(executor: Executor, { clock }: LoopDeps): Promise<number> {
  if (executor.load.waiting === 0) return IDLE_MS;
  await clock.sleep(GROUP_MS);
  await executor.flushOnce();
  return executor.load.waiting > 0 ? 0 : IDLE_MS;
}
