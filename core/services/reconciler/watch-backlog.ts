/**
 * How much waits, measured beside the reconciler's passes: from outside, because an executor that is dead and a scheduler that
 * stands still do not tell. Nothing is decided by it; a look that fails is left out, and the figures are missing.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import { MEASURE_PERIOD_MS } from "#core/domain/limits.ts";
import type { Backlog } from "#core/ports/backlog-store.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Logger } from "#core/ports/logger.ts";
import {
  BACKLOG_COUNTED_MAX,
  DUE_SOON_COUNTED_MAX,
  DUE_SOON_MS,
  type Gauges,
} from "#core/ports/metrics.ts";
import type { Shard } from "#core/ports/shards.ts";

export interface WatchDeps {
  readonly shard: Pick<Shard, "name" | "backlog">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly gauges: Gauges;
}

/** Measures now and every MEASURE_PERIOD_MS until `endMs` on the monotonic clock; returns how often it could. */
export async function watchBacklog(deps: WatchDeps, endMs: number): Promise<number> {
  const { clock } = deps;
  let measured = 0;
  let failedBefore = false;
  for (let nextMs = clock.monotonicMs(); nextMs < endMs; nextMs += MEASURE_PERIOD_MS) {
    while (clock.monotonicMs() < nextMs) await clock.sleep(nextMs - clock.monotonicMs());
    const done = await measureOnce(deps, failedBefore);
    if (done) measured++;
    failedBefore = !done;
  }
  return measured;
}

/** False when the database was away, which is said once for all looks in a row. */
async function measureOnce(
  { shard, logger, gauges }: WatchDeps,
  failedBefore: boolean,
): Promise<boolean> {
  try {
    noteBacklog(
      await shard.backlog.measure(BACKLOG_COUNTED_MAX, DUE_SOON_MS, DUE_SOON_COUNTED_MAX),
      gauges,
    );
    return true;
  } catch (error) {
    if (!(error instanceof OperatingError) || !error.retryable) throw error;
    if (!failedBefore)
      logger.warn("the backlog cannot be measured: database away or busy; measured again soon", {
        shard: shard.name,
        ...describeError(error),
      });
    return false;
  }
}

/** One look, as levels. */
export function noteBacklog(backlog: Backlog, gauges: Gauges): void {
  const { nowMs, priorities, dueSoon, limitsWaiting, liveWorkers } = backlog;
  const ageSeconds = (sinceMs: number | null) =>
    sinceMs === null ? 0 : Math.max(0, nowMs - sinceMs) / 1_000;
  for (const [priority, { due, oldestDueAtMs, unmadeSinceMs }] of priorities) {
    gauges.gaugeOf("backlog", priority, due);
    gauges.gaugeOf("oldest_due_age", priority, ageSeconds(oldestDueAtMs));
    gauges.gaugeOf("materialize_behind", priority, ageSeconds(unmadeSinceMs));
  }
  gauges.gauge("due_soon", dueSoon);
  gauges.gauge("due_soon_per_executor", Math.round(dueSoon / Math.max(1, liveWorkers)));
  gauges.gauge("live_executors", liveWorkers);
  gauges.gauge("limits_waiting", limitsWaiting);
}
