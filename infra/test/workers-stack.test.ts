/** Schedulers and executors: how many, how they are replaced, what changes their number, what executors may not call. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readyCommand } from "#workers/_shared/ready-command.ts";
import { type CellConfig, readStage } from "../config.ts";
import { makeApp, makeCell, type Properties, resourcesOf, STAGES } from "./cell-templates.ts";

for (const stage of STAGES) {
  const cell = makeCell(stage);
  const serviceOf = (worker: string): Properties => {
    const services = resourcesOf(cell.workers, "AWS::ECS::Service");
    const found = services.find(([id]) => id.startsWith(worker));
    assert.ok(found && services.length === 2);
    return found[1].Properties;
  };

  const containerOf = (worker: string): Properties => {
    const [definition] = resourcesOf(cell.workers, "AWS::ECS::TaskDefinition").filter(([id]) =>
      id.startsWith(worker),
    );
    assert.ok(definition);
    const [container] = definition[1].Properties.ContainerDefinitions as Properties[];
    assert.ok(container);
    return container;
  };

  describe(`services of ${stage}`, () => {
    for (const worker of ["Scheduler", "Executor"])
      it(`${worker}: is rolled out with none missing, and back by itself when it does not start`, () => {
        const { DeploymentConfiguration } = serviceOf(worker);
        const { MinimumHealthyPercent, DeploymentCircuitBreaker } =
          DeploymentConfiguration as Properties;
        assert.equal(MinimumHealthyPercent, 100);
        assert.deepEqual(DeploymentCircuitBreaker, { Enable: true, Rollback: true });
      });

    for (const worker of ["Scheduler", "Executor"])
      it(`${worker}: does not start before it can work, and is looked at where it tells`, () => {
        const container = containerOf(worker);
        const { Command, Interval, Timeout, Retries, StartPeriod } =
          container.HealthCheck as Record<string, number> & { readonly Command: string[] };
        const variables = container.Environment as { Name: string; Value: string }[];
        const port = Number(variables.find(({ Name }) => Name === "METRICS_PORT")?.Value);
        assert.ok(port > 1_024);
        assert.deepEqual(Command, readyCommand(port));
        // What ECS takes; and a minute of a machine that is busy says nothing.
        const [interval = 0, timeout = 0, retries = 0, start = 0] = [
          ...[Interval, Timeout, Retries, StartPeriod],
        ];
        assert.ok(interval >= 5 && interval <= 300 && timeout >= 2 && timeout <= 60);
        assert.ok(retries <= 10 && start <= 300 && timeout < interval);
        assert.ok(interval * retries >= 240, "as long as a database may be away at a start");
      });

    it("Scheduler: two, on capacity that is not taken back", () => {
      const { DesiredCount, CapacityProviderStrategy } = serviceOf("Scheduler");
      assert.equal(DesiredCount, 2);
      assert.deepEqual(CapacityProviderStrategy, [{ CapacityProvider: "FARGATE", Weight: 1 }]);
    });

    it("Executor: its least number on capacity that is not taken back, in subnets and a group of its own", () => {
      const { CapacityProviderStrategy, NetworkConfiguration } = serviceOf("Executor");
      const [first, ...more] = CapacityProviderStrategy as Properties[];
      assert.equal(first?.CapacityProvider, "FARGATE");
      // Without Spot all of them are, however many.
      assert.equal(more.length, stage === "prod" ? 0 : 1);
      assert.equal(first?.Base, stage === "prod" ? undefined : 2);
      const { Subnets, SecurityGroups, AssignPublicIp } = (NetworkConfiguration as Properties)
        .AwsvpcConfiguration as Properties;
      assert.doesNotMatch(JSON.stringify(Subnets), /services|public|data/);
      assert.equal((SecurityGroups as unknown[]).length, 1);
      assert.match(JSON.stringify(SecurityGroups), /Executors/);
      assert.equal(AssignPublicIp, "DISABLED");
    });

    it("Executor: is scaled on what is due soon for each, on slots that are taken, and on CPU", () => {
      const [target] = resourcesOf(cell.workers, "AWS::ApplicationAutoScaling::ScalableTarget");
      assert.equal(target?.[1].Properties.MinCapacity, 2);
      assert.equal(target?.[1].Properties.MaxCapacity, stage === "prod" ? 40 : 4);
      const policies = resourcesOf(cell.workers, "AWS::ApplicationAutoScaling::ScalingPolicy").map(
        ([, { Properties }]) => JSON.stringify(Properties.TargetTrackingScalingPolicyConfiguration),
      );
      assert.equal(policies.length, 3);
      const [dueSoon] = policies.filter((policy) =>
        policy.includes('"MetricName":"DueSoonPerExecutor"'),
      );
      assert.match(dueSoon ?? "", /"Namespace":"AtAndCron"/);
      assert.match(dueSoon ?? "", /\{"Name":"Service","Value":"reconciler"\}/);
      const [slots] = policies.filter((policy) => policy.includes('"MetricName":"Sending"'));
      assert.match(slots ?? "", /"Value":"executor".*"Statistic":"Average".*"TargetValue":48/);
      assert.ok(policies.some((policy) => policy.includes("ECSServiceAverageCPUUtilization")));
    });

    it("Executor: is told every address and host of ours that no task may call", () => {
      const variables = containerOf("Executor").Environment as { Name: string; Value: unknown }[];
      const value = (name: string) => variables.find(({ Name }) => Name === name)?.Value;
      const denied = JSON.stringify(value("EGRESS_DENY"));
      assert.match(denied, stage === "prod" ? /10\.10\.0\.0\/16,/ : /10\.20\.0\.0\/16,/);
      const addresses = stage === "prod" ? 3 : 1;
      assert.equal(denied.match(/GetAttEgressAddress\dPublicIp/g)?.length, addresses);
      assert.equal(denied.match(/\.execute-api\.eu-west-1\./g)?.length, 2);
      assert.equal(value("EGRESS_ALLOW"), "");
    });
  });
}

describe("options of executors", () => {
  const executorOf = (stage: "dev" | "prod", change: Partial<CellConfig["workers"]> = {}) => {
    const [cell] = readStage(makeApp(stage).node).cells;
    assert.ok(cell);
    const { workers } = makeCell(stage, { workers: { ...cell.workers, ...change } });
    const [executor] = resourcesOf(workers, "AWS::ECS::Service").filter(([id]) =>
      id.startsWith("Executor"),
    );
    assert.ok(executor);
    return executor[1].Properties;
  };

  it("their least number is raised without another strategy where there is no Spot", () => {
    const [before, after] = [executorOf("prod"), executorOf("prod", { executorsMin: 6 })];
    assert.deepEqual(after.CapacityProviderStrategy, before.CapacityProviderStrategy);
    assert.deepEqual(after.ForceNewDeployment, before.ForceNewDeployment);
  });

  for (const change of [{ executorsMin: 3 }, { executorSpotPercent: 50 }])
    it(`${JSON.stringify(change)} is another strategy, which ECS takes with a new deployment only`, () => {
      const [before, after] = [executorOf("dev"), executorOf("dev", change)];
      assert.notDeepEqual(after.CapacityProviderStrategy, before.CapacityProviderStrategy);
      const nonce = ({ ForceNewDeployment }: Properties) => {
        const forced = ForceNewDeployment as Properties;
        assert.equal(forced?.EnableForceNewDeployment, true);
        return String(forced.ForceNewDeploymentNonce);
      };
      assert.notEqual(nonce(after), nonce(before));
      assert.equal(nonce(executorOf("dev")), nonce(before), "and the same for the same");
    });

  it("Spot: all but the least number", () => {
    const { workers } = makeCell("dev");
    const [, executor] = resourcesOf(workers, "AWS::ECS::Service")
      .map(([, { Properties }]) => Properties.CapacityProviderStrategy)
      .sort((a, b) => JSON.stringify(a).length - JSON.stringify(b).length);
    assert.deepEqual(executor, [
      // Where a weight is 0, ECS places nothing.
      { Base: 2, CapacityProvider: "FARGATE", Weight: 1 },
      { CapacityProvider: "FARGATE_SPOT", Weight: 100 },
    ]);
  });
});
