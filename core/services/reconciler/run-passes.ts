/** Passes over one shard, PASS_PERIOD_MS from look to look, until the run's time is out. */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import { PASS_PERIOD_MS } from "#core/domain/limits.ts";
import type { Rescued } from "#core/ports/job-store.ts";
import { type Pass, Reconciler } from "./reconcile-pass.ts";
import type { ReconcilerDeps } from "./upkeep.ts";

/** Sums over a run. */
export interface Reconciled extends Rescued {
  readonly passes: number;
  readonly failed: number;
  readonly fenced: number;
}

/**
 * Runs until `endMs` on the monotonic clock: no pass begins later. A database that is away fails passes, not the run. `onPass` is told
 * of each, null for one that failed.
 */
export async function runPasses(
  deps: ReconcilerDeps,
  endMs: number,
  onPass: (pass: Pass | null) => void = () => {},
): Promise<Reconciled> {
  const { clock, logger, shard } = deps;
  const reconciler = new Reconciler(deps);
  const sum = { passes: 0, failed: 0, fenced: 0, pending: 0, dead: 0, cancelled: 0 };
  let nextMs = clock.monotonicMs();
  let failedBefore = false;
  while (nextMs < endMs) {
    // Timers may fire early; a look too early would not count as the second one.
    while (clock.monotonicMs() < nextMs) await clock.sleep(nextMs - clock.monotonicMs());
    const pass = await tryPass(reconciler, deps, failedBefore);
    failedBefore = pass === null;
    onPass(pass);
    if (pass === null) {
      sum.failed++;
      nextMs = clock.monotonicMs() + PASS_PERIOD_MS;
      continue;
    }
    sum.passes++;
    sum.fenced += pass.fenced;
    sum.pending += pass.pending;
    sum.dead += pass.dead;
    sum.cancelled += pass.cancelled;
    nextMs = pass.more ? clock.monotonicMs() : pass.lookedMs + PASS_PERIOD_MS;
  }
  if (sum.fenced + sum.pending + sum.dead + sum.cancelled + sum.failed > 0)
    logger.info("a run of the reconciler ended: what it gave back, and looks that failed", {
      shard: shard.name,
      counters: sum,
    });
  return sum;
}

/** Null when it failed, which is said once for all that fail in a row. */
async function tryPass(
  reconciler: Reconciler,
  deps: ReconcilerDeps,
  failedBefore: boolean,
): Promise<Pass | null> {
  try {
    return await reconciler.passOnce();
  } catch (error) {
    if (!(error instanceof OperatingError) || !error.retryable) throw error;
    if (failedBefore) return null;
    deps.logger.warn("no look at the leases: database away or busy; what was seen is forgotten", {
      shard: deps.shard.name,
      ...describeError(error),
    });
    return null;
  }
}
