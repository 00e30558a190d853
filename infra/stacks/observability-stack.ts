/** One dashboard, the alarms, and the topic that they go to. */
import { Stack } from "aws-cdk-lib";
import {
  Alarm,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  TextWidget,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { Effect, PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import type { CounterName, PriorityGaugeName } from "#core/ports/metrics.ts";
import type { CellConfig } from "../config.ts";
import { counter, gauge, gaugeOf, lag, PRIORITIES } from "../constructs/metrics.ts";
import {
  type AlarmSpec,
  apiAlarms,
  callAlarms,
  comparisonOf,
  groundAlarms,
  heartbeatAlarms,
  lagAlarms,
  waitingAlarms,
} from "../constructs/promise-alarms.ts";

export interface ObservabilityStackProps {
  readonly cell: CellConfig;
  /** Of the cell: first part of the alarms' names. */
  readonly name: string;
  /** Of the two REST APIs. */
  readonly apiNames: readonly string[];
  readonly clusterIdentifier: string;
  readonly deadLetters: IQueue;
}

export class ObservabilityStack extends Stack {
  constructor(scope: Construct, id: string, props: ObservabilityStackProps) {
    super(scope, id);
    const { cell, name } = props;
    const topic = new Topic(this, "Alarms", { displayName: name, enforceSSL: true });
    // A topic with a policy of its own has lost the one that lets CloudWatch in.
    topic.addToResourcePolicy(
      new PolicyStatement({
        effect: Effect.ALLOW,
        principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
        actions: ["sns:Publish"],
        resources: [topic.topicArn],
        conditions: { StringEquals: { "aws:SourceAccount": this.account } },
      }),
    );
    if (cell.alarmEmail !== null) topic.addSubscription(new EmailSubscription(cell.alarmEmail));
    const specs = [
      ...lagAlarms(),
      ...waitingAlarms(),
      ...callAlarms(),
      ...heartbeatAlarms(cell.nothingMadeMinutes),
      ...apiAlarms(props.apiNames),
      ...groundAlarms({
        clusterIdentifier: props.clusterIdentifier,
        deadLetterQueue: props.deadLetters.metricApproximateNumberOfMessagesVisible(),
      }),
    ];
    for (const spec of specs) this.#addAlarm(name, spec).addAlarmAction(new SnsAction(topic));
    new Dashboard(this, "Dashboard", { dashboardName: name, widgets: widgets(name) });
  }

  #addAlarm(name: string, spec: AlarmSpec): Alarm {
    return new Alarm(this, spec.name, {
      alarmName: `${name}-${spec.name}`,
      alarmDescription: `${spec.says}. docs/operations.md: ${spec.name}`,
      metric: spec.metric,
      threshold: spec.threshold,
      evaluationPeriods: spec.of,
      datapointsToAlarm: spec.bad,
      ...comparisonOf(spec),
    });
  }
}

type Row = readonly [title: string, metrics: IMetric[]][];

/** Rows from what tenants feel to what it stands on. */
function widgets(name: string): IWidget[][] {
  const headline = new TextWidget({
    width: 24,
    height: 1,
    markdown: `**${name}**: on time? what waits? what becomes of calls? who lives?`,
  });
  const rows = [onTime(), waiting(), calls(), alive()];
  const graphs = rows.map((row) =>
    row.map(([title, left]) => new GraphWidget({ title, left, width: 8, height: 6 })),
  );
  return [[headline], ...graphs];
}

function onTime(): Row {
  return [
    ["Lag p99, ms (worst executor)", PRIORITIES.map((priority) => lag("p99", priority))],
    ["Lag p50, ms (worst executor)", PRIORITIES.map((priority) => lag("p50", priority))],
    ["Calls later than promised", PRIORITIES.map((priority) => lag("late", priority))],
  ];
}

function waiting(): Row {
  const of = (gauge: PriorityGaugeName) => PRIORITIES.map((priority) => gaugeOf(gauge, priority));
  return [
    ["Jobs that are due and wait", of("backlog")],
    ["Due for, s (oldest)", of("oldest_due_age")],
    ["Schedules behind, s", of("materialize_behind")],
  ];
}

function calls(): Row {
  const jobs: CounterName[] = ["claimed", "sent", "dead", "given_back"];
  const results: CounterName[] = [
    "results_2xx",
    "results_3xx",
    "results_4xx",
    "results_5xx",
    "results_timeout",
    "results_network",
    "results_refused",
    "results_secrets",
  ];
  const ofExecutor = (name: CounterName) => counter(name, "executor");
  return [
    ["Jobs", [counter("materialized", "scheduler"), ...jobs.map(ofExecutor)]],
    ["What calls ended with", results.map(ofExecutor)],
    [
      "Races lost, jobs rescued, executors fenced",
      [
        ofExecutor("lost_races"),
        ofExecutor("interrupted"),
        counter("rescued", "reconciler"),
        counter("rescued_cancelled", "reconciler"),
        counter("fenced", "reconciler"),
      ],
    ],
  ];
}

function alive(): Row {
  return [
    [
      "Executors, and what each has before it",
      [
        gauge("live_executors", "reconciler", "Minimum"),
        gauge("due_soon_per_executor", "reconciler"),
        gauge("held", "executor"),
        gauge("sending", "executor"),
      ],
    ],
    [
      "Archive",
      [
        counter("archived_rows", "archiver"),
        gauge("archive_backlog", "archiver"),
        counter("archive_stopped", "archiver"),
      ],
    ],
    [
      "Heartbeats, and waits for MySQL",
      [
        counter("ticks", "scheduler"),
        counter("passes", "reconciler"),
        counter("archive_runs", "archiver"),
        counter("pool_waits", "executor"),
        counter("pool_waits", "scheduler"),
      ],
    ],
  ];
}
