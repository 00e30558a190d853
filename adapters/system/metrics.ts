import type { Priority } from "#core/domain/queue.ts";
import type { CounterName, Metrics } from "#core/ports/metrics.ts";

/** Upper bounds of the lag buckets in ms, a quarter apart: 1 ms to about an hour. */
const BOUNDS_MS = Array.from({ length: 69 }, (_, i) => 1.25 ** i);

export interface MetricsInMemory extends Metrics {
  /** Sums and lag percentiles since the last call, as flat names; empty when nothing happened. */
  takeSummary(): Record<string, number>;
}

/** Counts in memory until somebody takes the summary: one line a minute, never one per job. */
export function openMetrics(): MetricsInMemory {
  let counters = new Map<CounterName, number>();
  let lags = new Map<Priority, Uint32Array>();
  return {
    count(name, by) {
      if (by > 0) counters.set(name, (counters.get(name) ?? 0) + by);
    },
    observeLagMs(priority, lagMs) {
      const buckets = lags.get(priority) ?? new Uint32Array(BOUNDS_MS.length + 1);
      lags.set(priority, buckets);
      const bucket = lagMs <= 1 ? 0 : Math.ceil(Math.log(lagMs) / Math.log(1.25));
      const at = Math.min(bucket, BOUNDS_MS.length);
      buckets[at] = (buckets[at] ?? 0) + 1;
    },
    takeSummary() {
      const summary: Record<string, number> = Object.fromEntries(counters);
      for (const [priority, buckets] of lags) {
        summary[`lag_p50_ms_${priority}`] = percentile(buckets, 0.5);
        summary[`lag_p99_ms_${priority}`] = percentile(buckets, 0.99);
      }
      counters = new Map();
      lags = new Map();
      return summary;
    },
  };
}

/** Upper bound of the bucket that holds the percentile, in whole ms. */
function percentile(buckets: Uint32Array, share: number): number {
  const total = buckets.reduce((sum, n) => sum + n, 0);
  let seen = 0;
  for (let i = 0; i < buckets.length; i++) {
    seen += buckets[i] ?? 0;
    if (seen >= share * total) return Math.round(BOUNDS_MS[i] ?? Number.POSITIVE_INFINITY);
  }
  return 0;
}
