/**
 * Lines in CloudWatch's embedded metric format: a process writes them to stdout, the log driver or Lambda carries them off, and
 * CloudWatch makes metrics of them. A line has one value for each dimension, so that each priority has a line of its own: at
 * most five for a process and minute.
 */
import type { Priority } from "#core/domain/queue.ts";
import {
  COUNTERS,
  GAUGES,
  LAG_METRICS,
  METRIC_NAMESPACE,
  type MetricService,
  type MetricSpec,
  type MetricsInterval,
  type PriorityInterval,
} from "#core/ports/metrics.ts";

type Value = number | readonly number[];
type Metric = readonly [spec: Pick<MetricSpec, "name" | "unit">, value: Value];

export type EmfLine = Readonly<Record<string, unknown>>;

/** What to write as JSON: a line for the service, one for each priority that has anything to say. `atMs`: now, epoch ms. */
export function emfLines(
  service: MetricService,
  interval: MetricsInterval,
  atMs: number,
): EmfLine[] {
  const counted = [...interval.counters].map(([name, count]): Metric => [COUNTERS[name], count]);
  const read = [...interval.gauges].map(([name, readings]): Metric => [GAUGES[name], readings]);
  const lines = [lineOf({ Service: service }, [...counted, ...read], atMs)];
  for (const [priority, of] of interval.priorities)
    lines.push(lineOf({ Service: service, Priority: priority }, priorityMetrics(of), atMs));
  return lines.filter((line) => line !== null);
}

function priorityMetrics({ gauges, lag }: PriorityInterval): Metric[] {
  const metrics = [...gauges].map(([name, readings]): Metric => [GAUGES[name], readings]);
  if (lag === null) return metrics;
  metrics.push([LAG_METRICS.first, lag.first], [LAG_METRICS.late, lag.late]);
  if (lag.p50Ms !== null) metrics.push([LAG_METRICS.p50, lag.p50Ms]);
  if (lag.p99Ms !== null) metrics.push([LAG_METRICS.p99, lag.p99Ms]);
  return metrics;
}

function lineOf(
  dimensions: { readonly Service: MetricService; readonly Priority?: Priority },
  metrics: readonly Metric[],
  atMs: number,
): EmfLine | null {
  if (metrics.length === 0) return null;
  return {
    _aws: {
      Timestamp: atMs,
      CloudWatchMetrics: [
        {
          Namespace: METRIC_NAMESPACE,
          Dimensions: [Object.keys(dimensions)],
          Metrics: metrics.map(([{ name, unit }]) => ({ Name: name, Unit: unit })),
        },
      ],
    },
    ...dimensions,
    ...Object.fromEntries(metrics.map(([{ name }, value]) => [name, value])),
  };
}
