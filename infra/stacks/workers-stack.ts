/** Schedulers and executors, and what changes the number of executors: work that is due soon, slots that are taken, CPU. */
import { Duration, Fn, Stack, Tags } from "aws-cdk-lib";
import { type Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { CfnService, Cluster, ContainerInsights } from "aws-cdk-lib/aws-ecs";
import type { Construct } from "constructs";
import type { executorEnv } from "#workers/executor/env.ts";
import type { schedulerEnv } from "#workers/scheduler/env.ts";
import type { CellConfig, WorkersConfig } from "../config.ts";
import { gauge } from "../constructs/metrics.ts";
import { workerImage } from "../constructs/worker-image.ts";
import { STATUS_PORT, WorkerService } from "../constructs/worker-service.ts";
import type { DataStack } from "./data-stack.ts";
import { type NetworkStack, subnets } from "./network-stack.ts";

export interface WorkersStackProps {
  readonly cell: CellConfig;
  readonly network: NetworkStack;
  readonly data: DataStack;
  /** Hosts of our own that no tenant's task may call. */
  readonly ownHosts: readonly string[];
}

/** The one shard of a cell. */
const SHARD = "0";
const CPU_PERCENT = 60;
/** Where calls last, executors wait: they have CPU to spare and, until they are late, no work before them. */
const TAKEN_SLOTS_SHARE = 0.75;
/** New executors take a minute to start; old ones up to two to drain. */
const SCALE_OUT = Duration.seconds(30);
const SCALE_IN = Duration.minutes(10);

export class WorkersStack extends Stack {
  readonly scheduler: WorkerService<typeof schedulerEnv>;
  readonly executor: WorkerService<typeof executorEnv>;
  readonly cluster: Cluster;

  constructor(scope: Construct, id: string, props: WorkersStackProps) {
    super(scope, id);
    const { cell, network, data } = props;
    this.cluster = new Cluster(this, "Cluster", {
      vpc: network.vpc,
      enableFargateCapacityProviders: true,
      containerInsightsV2: ContainerInsights.ENABLED,
    });
    this.scheduler = this.#makeScheduler(props);
    this.executor = this.#makeExecutor(props);
    this.#holdGateways(network);
    for (const { role } of [this.scheduler, this.executor]) data.mysql.direct.grantConnect(role);
    data.secretsKey.grantOpen(this.executor.role);
    this.#scale(cell.workers);
  }

  #makeScheduler({ cell, network, data }: WorkersStackProps) {
    return new WorkerService<typeof schedulerEnv>(this, "Scheduler", {
      cluster: this.cluster,
      image: workerImage(),
      entry: "scheduler",
      environment: this.#common(cell, data),
      cpu: 512,
      memoryMb: 1_024,
      subnets: { subnetGroupName: subnets.services.name },
      securityGroup: network.serviceGroup,
      publicAddress: false,
      capacity: [{ capacityProvider: "FARGATE", weight: 1 }],
      tasks: cell.workers.schedulers,
      logRetention: cell.logRetentionDays,
    });
  }

  #makeExecutor({ cell, network, data, ownHosts }: WorkersStackProps) {
    const { executorSlots, executorsMin, executorSpotPercent } = cell.workers;
    const denied = [cell.network.cidr, ...network.egressAddresses, ...ownHosts];
    const onSpot = executorSpotPercent > 0;
    // ECS places nothing where the weight is 0, and does not say whether a base counts then.
    const weight = Math.max(1, 100 - executorSpotPercent);
    return new WorkerService<typeof executorEnv>(this, "Executor", {
      cluster: this.cluster,
      image: workerImage(),
      entry: "executor",
      environment: {
        ...this.#common(cell, data),
        ...data.secretsKey.environment,
        EXECUTOR_SLOTS: String(executorSlots),
        EGRESS_ALLOW: "",
        EGRESS_DENY: denied.join(","),
        EGRESS_IPV6: "off",
      },
      cpu: 1_024,
      memoryMb: 2_048,
      subnets: { subnetGroupName: subnets.executors.name },
      securityGroup: network.executorGroup,
      publicAddress: cell.network.executorEgress === "own-addresses",
      capacity: onSpot
        ? [
            { capacityProvider: "FARGATE", base: executorsMin, weight },
            { capacityProvider: "FARGATE_SPOT", weight: executorSpotPercent },
          ]
        : [{ capacityProvider: "FARGATE", weight: 1 }],
      tasks: undefined,
      logRetention: cell.logRetentionDays,
    });
  }

  /**
   * Executors without an address of their own import the gateways that they go through, so that CloudFormation refuses to let the network
   * route past these before executors have addresses.
   */
  #holdGateways({ executorGateways }: NetworkStack): void {
    if (executorGateways.length === 0) return;
    const ids = Fn.join(" ", [...executorGateways]);
    const includeResourceTypes = [CfnService.CFN_RESOURCE_TYPE_NAME];
    Tags.of(this.executor.service).add("egress", ids, { includeResourceTypes });
  }

  #common(cell: CellConfig, data: DataStack) {
    return {
      ...data.mysql.direct.environment,
      LOG_LEVEL: "info",
      METRICS_PORT: String(STATUS_PORT),
      SHARD,
      ARCHIVE_SUCCEEDED_AFTER_SECONDS: String(cell.archiveSucceededAfterSeconds),
      ARCHIVE_ENDED_AFTER_SECONDS: String(cell.archiveEndedAfterSeconds),
    };
  }

  /** Whichever of the three asks for the most executors is followed; some are taken away when none of them wants so many. */
  #scale({ executorsMin, executorsMax, executorSlots, dueSoonPerExecutor }: WorkersConfig): void {
    const count = this.executor.service.autoScaleTaskCount({
      minCapacity: executorsMin,
      maxCapacity: executorsMax,
    });
    const cooldown = { scaleOutCooldown: SCALE_OUT, scaleInCooldown: SCALE_IN };
    count.scaleToTrackCustomMetric("DueSoon", {
      metric: gauge("due_soon_per_executor", "reconciler") as Metric,
      targetValue: dueSoonPerExecutor,
      ...cooldown,
    });
    count.scaleToTrackCustomMetric("Slots", {
      metric: gauge("sending", "executor", Stats.AVERAGE) as Metric,
      targetValue: TAKEN_SLOTS_SHARE * executorSlots,
      ...cooldown,
    });
    count.scaleOnCpuUtilization("Cpu", { targetUtilizationPercent: CPU_PERCENT, ...cooldown });
  }
}
