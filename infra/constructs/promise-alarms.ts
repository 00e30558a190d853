/**
 * The alarms: one for each promise, and for what has to live so that they are kept. docs/operations.md says what to do for each, by
 * the name here; a test holds the two together.
 *
 * Where a missing value is as bad as a high one, nobody is left to tell: `breaching`.
 */
import { Duration } from "aws-cdk-lib";
import {
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  Stats,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { counter, gauge, gaugeOf, lateShare, PRIORITIES, unansweredShare } from "./metrics.ts";

export interface AlarmSpec {
  /** Last part of the alarm's name. */
  readonly name: string;
  /** What it means for tenants, and where to look. */
  readonly says: string;
  readonly metric: IMetric;
  readonly isBad: "above" | "below";
  readonly threshold: number;
  /** Periods of the metric, the last so many … */
  readonly of: number;
  /** … of which so many are bad. */
  readonly bad: number;
  readonly missing: "fine" | "breaching";
}

const FIVE = Duration.minutes(5);
const FIFTEEN = Duration.minutes(15);
/** The promise is p99: one call in a hundred may be later. */
const LATE_SHARE_MAX = 0.01;
/** How long the job that waits longest may have been due: the promise of its priority, and what a minute's reading may miss. */
const OLDEST_SECONDS = { critical: 60, high: 80, normal: 240, low: 1_260 } as const;
const BEHIND_SECONDS = 60;
/** 99.99 % of a month are 4 minutes: this much in 5 minutes spends a day's allowance of requests. */
const FAILED_SHARE_MAX = 0.01;
/** Of fewer requests the p99 is the longest: one test call of an endpoint that does not answer would be it. */
const REQUESTS_MIN = 100;

/** Endpoints that are down are some of many. */
const UNANSWERED_SHARE_MAX = 0.5;
/** Calls without an answer in a minute: of fewer, one task that fails every second would be most. */
const UNANSWERED_MIN = 100;

const fine = { missing: "fine", of: 1, bad: 1 } as const;
const alive = { isBad: "below", threshold: 1, missing: "breaching" } as const;

/** On time, by priority. */
export function lagAlarms(): AlarmSpec[] {
  return PRIORITIES.map((priority) => ({
    ...fine,
    name: `late-${priority}`,
    says: `More than 1 in 100 calls of priority ${priority} began later than promised`,
    metric: lateShare(priority, FIVE),
    isBad: "above",
    threshold: LATE_SHARE_MAX,
    of: 3,
    bad: 2,
  }));
}

/** Nothing lost, nothing starved: everything that is due is made, claimed and, once finished, moved on. */
export function waitingAlarms(): AlarmSpec[] {
  return [
    ...PRIORITIES.map(
      (priority): AlarmSpec => ({
        ...fine,
        name: `waiting-${priority}`,
        says: `A job of priority ${priority} has been due for longer than promised and no executor has taken it`,
        metric: gaugeOf("oldest_due_age", priority),
        isBad: "above",
        threshold: OLDEST_SECONDS[priority],
        of: 3,
        bad: 2,
      }),
    ),
    ...PRIORITIES.map(
      (priority): AlarmSpec => ({
        ...fine,
        name: `behind-${priority}`,
        says: `Runs of priority ${priority} are due and no scheduler has made them into jobs`,
        metric: gaugeOf("materialize_behind", priority),
        isBad: "above",
        threshold: BEHIND_SECONDS,
        of: 3,
        bad: 2,
      }),
    ),
    {
      ...fine,
      name: "archive-behind",
      says: "Finished jobs are not moved to history: they are kept in MySQL, which grows",
      // Written at the end of a run, which not every minute has.
      metric: gauge("archive_backlog", "archiver", "Minimum").with({ period: FIVE }),
      isBad: "above",
      threshold: 10_000,
      of: 12,
      bad: 12,
    },
    {
      ...fine,
      name: "secrets-unavailable",
      says: "Calls are not sent because tenants' secrets do not open: KMS or the database is away, or the master key is another one",
      metric: counter("results_secrets", "executor", FIVE),
      isBad: "above",
      threshold: 0,
      of: 3,
      bad: 2,
    },
  ];
}

/** What looks like the endpoints' doing, and is ours where it is that of most of them at once. */
export function callAlarms(): AlarmSpec[] {
  return [
    {
      ...fine,
      name: "calls-unanswered",
      says: `More than half of the calls have no answer, ${UNANSWERED_MIN} in a minute and more: it is our way out, or one tenant with very many calls`,
      metric: unansweredShare(UNANSWERED_MIN),
      isBad: "above",
      threshold: UNANSWERED_SHARE_MAX,
      of: 3,
      bad: 2,
    },
  ];
}

/** Dead men's switches: nobody reports, so somebody has to be called. */
export function heartbeatAlarms(nothingMadeMinutes: number): AlarmSpec[] {
  return [
    {
      ...alive,
      name: "nothing-made",
      says: "No job has been made from a schedule for so long: schedulers are away, or there is no task (a task of our own that runs every minute tells these two apart)",
      metric: counter("materialized", "scheduler"),
      of: nothingMadeMinutes,
      bad: nothingMadeMinutes,
    },
    {
      ...alive,
      name: "scheduler-silent",
      says: "No scheduler has ended a step: nothing new will be called once what is made is used up, in 30 s",
      metric: counter("ticks", "scheduler"),
      of: 3,
      bad: 3,
    },
    {
      ...alive,
      name: "executors-gone",
      says: "No executor has a live lease: nothing is called",
      metric: gauge("live_executors", "reconciler", "Minimum"),
      of: 3,
      bad: 3,
    },
    {
      ...alive,
      name: "reconciler-silent",
      says: "Nobody looks at the leases: jobs of an executor that dies now wait",
      metric: counter("passes", "reconciler"),
      of: 5,
      bad: 5,
    },
    {
      ...alive,
      name: "archiver-silent",
      says: "No run of the archiver has ended well: MySQL grows, history is behind",
      metric: counter("archive_runs", "archiver", FIVE),
      of: 3,
      bad: 3,
    },
  ];
}

/** `names`: of the two REST APIs. */
export function apiAlarms(names: readonly string[]): AlarmSpec[] {
  return names.flatMap((ApiName): AlarmSpec[] => {
    const dimensionsMap = { ApiName };
    const of = (metricName: string, statistic: string) =>
      new Metric({
        namespace: "AWS/ApiGateway",
        metricName,
        dimensionsMap,
        statistic,
        period: FIVE,
      });
    const way = ApiName.replace(/^.*-by-/, "by-");
    return [
      {
        ...fine,
        name: `api-failing-${way}`,
        says: "More than 1 in 100 requests are answered 5xx",
        // The average of a metric that is 0 or 1 for each request.
        metric: of("5XXError", "Average"),
        isBad: "above",
        threshold: FAILED_SHARE_MAX,
      },
      {
        ...fine,
        name: `api-slow-${way}`,
        says: `1 in 100 requests takes longer than 2 s, of ${REQUESTS_MIN} in 5 minutes and more`,
        metric: new MathExpression({
          expression: `IF(requests >= ${REQUESTS_MIN}, p99, 0)`,
          usingMetrics: { requests: of("Count", Stats.SAMPLE_COUNT), p99: of("Latency", "p99") },
          period: FIVE,
          label: `p99 ${way}`,
        }),
        isBad: "above",
        threshold: 2_000,
        of: 3,
        bad: 3,
      },
    ];
  });
}

/** What everything stands on. */
export function groundAlarms(ground: {
  readonly clusterIdentifier: string;
  readonly deadLetterQueue: IMetric;
}): AlarmSpec[] {
  const rds = (metricName: string) =>
    new Metric({
      namespace: "AWS/RDS",
      metricName,
      dimensionsMap: { DBClusterIdentifier: ground.clusterIdentifier },
      statistic: "Maximum",
      period: FIVE,
    });
  const full = { ...fine, isBad: "above", of: 3, bad: 3 } as const;
  return [
    {
      ...fine,
      name: "ticks-failed",
      says: "A run of the reconciler or the archiver failed or was not begun; the queue says which",
      metric: ground.deadLetterQueue,
      isBad: "above",
      threshold: 0,
    },
    {
      ...full,
      name: "database-busy",
      says: "MySQL uses more than 85 % of the capacity it may grow to: raise acuMax",
      metric: rds("ACUUtilization"),
      threshold: 85,
    },
    {
      ...full,
      name: "database-cpu",
      says: "MySQL's CPU is above 85 %",
      metric: rds("CPUUtilization"),
      threshold: 85,
    },
    {
      ...full,
      name: "pool-waits",
      says: "Executors wait for connections to MySQL: it is slow, or there are too few",
      metric: counter("pool_waits", "executor", FIFTEEN),
      threshold: 1_000,
    },
  ];
}

/** CloudWatch's own words. */
export function comparisonOf({ isBad, missing }: AlarmSpec) {
  return {
    comparisonOperator:
      isBad === "above"
        ? ComparisonOperator.GREATER_THAN_THRESHOLD
        : ComparisonOperator.LESS_THAN_THRESHOLD,
    treatMissingData:
      missing === "fine" ? TreatMissingData.NOT_BREACHING : TreatMissingData.BREACHING,
  };
}
