/** Each alarm reaches somebody and is explained; each metric on them is one that the code writes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import {
  COUNTERS,
  GAUGES,
  LAG_METRICS,
  METRIC_NAMESPACE,
  type MetricSpec,
} from "#core/ports/metrics.ts";
import { makeCell, type Properties, resourcesOf, STAGES } from "./cell-templates.ts";

interface MetricRef {
  readonly Namespace?: string;
  readonly MetricName?: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: string }[];
}

const operations = readFileSync(resolve(import.meta.dirname, "../../docs/operations.md"), "utf8");
const specs: readonly MetricSpec[] = [
  ...Object.values(COUNTERS),
  ...Object.values(GAUGES),
  ...Object.values(LAG_METRICS),
];

for (const stage of STAGES) {
  const cell = makeCell(stage, { alarmEmail: "on-call@example.com" });
  const alarms = resourcesOf(cell.observability, "AWS::CloudWatch::Alarm").map(
    ([, { Properties }]) => Properties,
  );
  const nameOf = (alarm: Properties) =>
    String(alarm.AlarmName).replace(`at-and-cron-${stage}-eu-`, "");
  const named = (name: string) => {
    const found = alarms.find((alarm) => nameOf(alarm) === name);
    assert.ok(found, name);
    return found;
  };

  describe(`alarms of ${stage}`, () => {
    it("are those of docs/operations.md, no more and no less", () => {
      const section = operations.slice(
        operations.indexOf("## Alarms"),
        operations.indexOf("## A job"),
      );
      const headings = section.match(/^### .*$/gm) ?? [];
      const explained = headings.flatMap(
        (heading) => heading.match(/(?<=`)[a-z0-9-]+(?=`)/g) ?? [],
      );
      assert.deepEqual(alarms.map(nameOf).sort(), explained.sort());
    });

    it("reach the topic, and the topic the address", () => {
      for (const alarm of alarms) assert.equal((alarm.AlarmActions as unknown[]).length, 1);
      const [subscription] = resourcesOf(cell.observability, "AWS::SNS::Subscription");
      assert.equal(subscription?.[1].Properties.Endpoint, "on-call@example.com");
      const [policy] = resourcesOf(cell.observability, "AWS::SNS::TopicPolicy");
      assert.ok(policy);
      const { Statement } = policy[1].Properties.PolicyDocument as { Statement: Properties[] };
      const allowed = Statement.filter(({ Effect }) => Effect === "Allow");
      assert.deepEqual(
        allowed.map(({ Action, Principal }) => [Action, Principal]),
        [["sns:Publish", { Service: "cloudwatch.amazonaws.com" }]],
      );
    });

    it("are raised by silence where nobody is left to speak", () => {
      const silent = alarms.filter((alarm) => alarm.TreatMissingData === "breaching").map(nameOf);
      assert.deepEqual(silent.sort(), [
        "archiver-silent",
        "executors-gone",
        "nothing-made",
        "reconciler-silent",
        "scheduler-silent",
      ]);
      assert.equal(named("nothing-made").EvaluationPeriods, stage === "prod" ? 15 : 60);
    });

    it("of an API that is slow: no single request among a few rings, as the longest of them is their p99", () => {
      for (const way of ["by-key", "by-iam"]) {
        const { Metrics = [] } = named(`api-slow-${way}`) as { Metrics?: Properties[] };
        const text = JSON.stringify(Metrics);
        assert.match(text, /IF\(requests >= 100, p99, 0\)/);
        for (const [name, statistic] of [
          ["Count", "SampleCount"],
          ["Latency", "p99"],
        ])
          assert.match(text, new RegExp(`"MetricName":"${name}".*?"Stat":"${statistic}"`));
      }
    });

    it("that history is behind: asked of what runs left at their end, which not every minute has", () => {
      const { Period, EvaluationPeriods, DatapointsToAlarm, Statistic } = named("archive-behind");
      assert.deepEqual(
        [Period, EvaluationPeriods, DatapointsToAlarm, Statistic],
        [300, 12, 12, "Minimum"],
      );
    });

    it("of calls without an answer: those of all endpoints, timeouts too, and not of a few calls", () => {
      const { Metrics = [], Threshold } = named("calls-unanswered") as {
        Metrics?: Properties[];
        Threshold?: number;
      };
      const text = JSON.stringify(Metrics);
      assert.match(text, /IF\(network \+ late >= 100, /);
      for (const result of ["Network", "Timeout", "2xx", "3xx", "4xx", "5xx"])
        assert.match(
          text,
          new RegExp(`"MetricName":"Results${result}".*?"Period":60,"Stat":"Sum"`),
        );
      assert.equal(Threshold, 0.5);
    });

    it("look at metrics that the code writes, by dimensions that it writes", () => {
      const refs = alarms
        .flatMap(metricsOf)
        .filter(({ Namespace }) => Namespace === METRIC_NAMESPACE);
      assert.ok(refs.length > 20);
      for (const { MetricName, Dimensions = [] } of refs) {
        const spec = specs.find(({ name }) => name === MetricName);
        assert.ok(spec, MetricName);
        const dimension = (name: string) => Dimensions.find(({ Name }) => Name === name)?.Value;
        assert.ok(
          (spec.services as readonly string[]).includes(dimension("Service") ?? ""),
          MetricName,
        );
        assert.equal(dimension("Priority") !== undefined, spec.by === "priority", MetricName);
      }
    });
  });

  describe(`dashboard of ${stage}`, () => {
    it("is one, and shows every result of a call and each priority's lag", () => {
      const [dashboard, ...more] = resourcesOf(cell.observability, "AWS::CloudWatch::Dashboard");
      assert.ok(dashboard && more.length === 0);
      const body = JSON.stringify(dashboard[1].Properties.DashboardBody);
      for (const { name } of Object.values(COUNTERS).filter((spec) =>
        spec.name.startsWith("Results"),
      ))
        assert.ok(body.includes(name), name);
      for (const priority of ["critical", "high", "normal", "low"])
        assert.ok(body.includes(priority));
    });
  });
}

/** Of an alarm on one metric, or on several in an expression. */
function metricsOf(alarm: Properties): MetricRef[] {
  if (alarm.MetricName !== undefined) return [alarm as MetricRef];
  return ((alarm.Metrics ?? []) as { MetricStat?: { Metric: MetricRef } }[]).flatMap(
    ({ MetricStat }) => (MetricStat ? [MetricStat.Metric] : []),
  );
}
