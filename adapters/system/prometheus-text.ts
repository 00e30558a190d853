/** Metrics as Prometheus reads them: text format 0.0.4. Times are in seconds there, counters end in `_total`. */
import {
  COUNTERS,
  type CounterName,
  GAUGES,
  LAG_BOUNDS_MS,
  type PriorityGaugeName,
  type ServiceGaugeName,
} from "#core/ports/metrics.ts";
import type { MetricsInMemory } from "./metrics.ts";

export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function prometheusText(metrics: MetricsInMemory): string {
  const { service } = metrics;
  const { counters, gauges, gaugesOf, lags } = metrics.totals();
  const lines: string[] = [];
  const head = (name: string, type: string, help: string) =>
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
  for (const [key, count] of counters) {
    const name = counterName(key);
    head(name, "counter", COUNTERS[key].help);
    lines.push(`${name}{service="${service}"} ${count}`);
  }
  for (const [key, value] of gauges) {
    const name = gaugeName(key);
    head(name, "gauge", GAUGES[key].help);
    lines.push(`${name}{service="${service}"} ${value}`);
  }
  for (const [key, readings] of gaugesOf) {
    const name = gaugeName(key);
    head(name, "gauge", GAUGES[key].help);
    for (const [priority, value] of readings)
      lines.push(`${name}{service="${service}",priority="${priority}"} ${value}`);
  }
  if (lags.size > 0)
    head(LAG, "histogram", "Sent minus scheduled, of first attempts of scheduled runs");
  for (const [priority, { buckets, sumMs }] of lags) {
    const labels = `service="${service}",priority="${priority}"`;
    let below = 0;
    for (const [bucket, count] of buckets.entries()) {
      below += count;
      const bound = LAG_BOUNDS_MS[bucket];
      const le = bound === undefined ? "+Inf" : String(bound / 1_000);
      lines.push(`${LAG}_bucket{${labels},le="${le}"} ${below}`);
    }
    lines.push(`${LAG}_sum{${labels}} ${sumMs / 1_000}`, `${LAG}_count{${labels}} ${below}`);
  }
  return `${lines.join("\n")}\n`;
}

const PREFIX = "at_and_cron_";
const LAG = `${PREFIX}lag_seconds`;

function counterName(key: CounterName): string {
  return `${PREFIX}${key}_total`;
}

function gaugeName(key: ServiceGaugeName | PriorityGaugeName): string {
  return GAUGES[key].unit === "Seconds" ? `${PREFIX}${key}_seconds` : `${PREFIX}${key}`;
}
