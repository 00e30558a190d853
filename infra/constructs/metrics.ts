/** The metrics of core/ports/metrics.ts, as CloudWatch has them. A name that is not there does not compile. */
import { Duration } from "aws-cdk-lib";
import { MathExpression, Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import {
  COUNTERS,
  type CounterName,
  GAUGES,
  LAG_METRICS,
  LAG_PROMISED_MS,
  METRIC_NAMESPACE,
  type MetricService,
  type PriorityGaugeName,
  type ServiceGaugeName,
} from "#core/ports/metrics.ts";

export type Priority = keyof typeof LAG_PROMISED_MS;
/** Most urgent first. */
export const PRIORITIES = Object.keys(LAG_PROMISED_MS) as readonly Priority[];

const MINUTE = Duration.minutes(1);

/** Events of all processes of a service. */
export function counter(name: CounterName, service: MetricService, period = MINUTE): Metric {
  const spec = COUNTERS[name];
  return metric(spec.name, { Service: service }, Stats.SUM, period);
}

/** A level; the highest that a process saw. */
export function gauge(
  name: ServiceGaugeName,
  service: MetricService,
  statistic: string = Stats.MAXIMUM,
): Metric {
  return metric(GAUGES[name].name, { Service: service }, statistic, MINUTE);
}

export function gaugeOf(name: PriorityGaugeName, priority: Priority): Metric {
  const [service] = GAUGES[name].services;
  return metric(GAUGES[name].name, { Service: service, Priority: priority }, Stats.MAXIMUM, MINUTE);
}

export function lag(name: keyof typeof LAG_METRICS, priority: Priority): Metric {
  const { services, unit } = LAG_METRICS[name];
  const statistic = unit === "Count" ? Stats.SUM : Stats.MAXIMUM;
  const dimensions = { Service: services[0], Priority: priority };
  return metric(LAG_METRICS[name].name, dimensions, statistic, MINUTE);
}

/** Share of calls that began later than promised, 0 to 1, over `period`. */
export function lateShare(priority: Priority, period: Duration): MathExpression {
  const late = lag("late", priority).with({ period });
  const first = lag("first", priority).with({ period });
  return new MathExpression({
    expression: "IF(first > 0, late / first, 0)",
    usingMetrics: { late, first },
    period,
    label: `late ${priority}`,
  });
}

/** Share of the calls that ended within a minute which had no answer, 0 to 1; 0 where fewer than `least` had none. */
export function unansweredShare(least: number): MathExpression {
  const of = (name: CounterName) => counter(name, "executor");
  return new MathExpression({
    expression: `IF(network + late >= ${least}, (network + late) / (network + late + ok + moved + refused + broken), 0)`,
    usingMetrics: {
      network: of("results_network"),
      late: of("results_timeout"),
      ok: of("results_2xx"),
      moved: of("results_3xx"),
      refused: of("results_4xx"),
      broken: of("results_5xx"),
    },
    period: MINUTE,
    label: "without an answer",
  });
}

function metric(
  metricName: string,
  dimensionsMap: Readonly<Record<string, string>>,
  statistic: string,
  period: Duration,
): Metric {
  return new Metric({ namespace: METRIC_NAMESPACE, metricName, dimensionsMap, statistic, period });
}
