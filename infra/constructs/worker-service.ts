/** A worker that runs for ever on Fargate: one task definition, one service, rolled out with a way back. */
import { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { ISecurityGroup, SubnetSelection } from "aws-cdk-lib/aws-ec2";
import {
  AwsLogDriverMode,
  type CapacityProviderStrategy,
  type Cluster,
  type ContainerImage,
  CpuArchitecture,
  FargateService,
  FargateTaskDefinition,
  LinuxParameters,
  LogDrivers,
  OperatingSystemFamily,
  UlimitName,
} from "aws-cdk-lib/aws-ecs";
import type { IRole } from "aws-cdk-lib/aws-iam";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { readyCommand } from "#workers/_shared/ready-command.ts";
import { acknowledge } from "./acknowledge.ts";
import type { Environment } from "./connections.ts";

export interface WorkerServiceProps<D> {
  readonly cluster: Cluster;
  readonly image: ContainerImage;
  /** The folder in workers/ whose main.ts it runs. */
  readonly entry: string;
  /** Of what its env.ts declares, `typeof executorEnv`. */
  readonly environment: Environment<D>;
  readonly cpu: 256 | 512 | 1024;
  readonly memoryMb: 512 | 1024 | 2048;
  readonly subnets: SubnetSelection;
  readonly securityGroup: ISecurityGroup;
  /** Of its own, where there is no NAT before it. */
  readonly publicAddress: boolean;
  readonly capacity: CapacityProviderStrategy[];
  /** Undefined where something scales it. */
  readonly tasks: number | undefined;
  readonly logRetention: RetentionDays;
}

/** Fargate's longest; a drain ends within it (core/domain/limits.ts, DRAIN_TOTAL_MS). */
const STOP_TIMEOUT = Duration.seconds(120);
/** `node` of Node's own images, as a number: the platform can tell that it is not root. */
const WORKER_USER = "1000:1000";
/** Where a worker tells, inside its container, how it is. */
export const STATUS_PORT = 9_464;
/**
 * ECS counts a new task as started, and lets an old one go, when the check succeeds; one that cannot work for the start period and ten
 * checks is stopped, and half as many such stops as tasks (three at least) roll the release back. A check starts Node, 0.07 s of CPU: not
 * more often than this. All ten must fail in a row, so that neither a busy minute nor a database that fails over at a start stops anything.
 */
const READY_CHECK = {
  interval: Duration.seconds(30),
  timeout: Duration.seconds(20),
  retries: 10,
  startPeriod: Duration.seconds(60),
};
/** A socket for each call, kept warm for a while. */
const OPEN_FILES = 65_536;

export class WorkerService<D> extends Construct {
  readonly service: FargateService;
  readonly role: IRole;

  constructor(scope: Construct, id: string, props: WorkerServiceProps<D>) {
    super(scope, id);
    const definition = new FargateTaskDefinition(this, "Task", {
      cpu: props.cpu,
      memoryLimitMiB: props.memoryMb,
      runtimePlatform: {
        cpuArchitecture: CpuArchitecture.ARM64,
        operatingSystemFamily: OperatingSystemFamily.LINUX,
      },
    });
    this.#addContainer(definition, props);
    this.service = new FargateService(this, "Service", {
      cluster: props.cluster,
      taskDefinition: definition,
      vpcSubnets: props.subnets,
      securityGroups: [props.securityGroup],
      assignPublicIp: props.publicAddress,
      capacityProviderStrategies: props.capacity,
      // ECS refuses another strategy for a service that is there, unless all its tasks are replaced.
      forceNewDeployment: { enabled: true, nonce: describeCapacity(props.capacity) },
      ...(props.tasks !== undefined && { desiredCount: props.tasks }),
      // New ones first: jobs of those that stop are taken over at once.
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
      circuitBreaker: { enable: true, rollback: true },
      enableECSManagedTags: true,
      enableExecuteCommand: false,
    });
    // A service needs the cluster's capacity, which is a resource of its own.
    this.service.node.addDependency(props.cluster);
    this.role = definition.taskRole;
    acknowledge(definition, {
      "AwsSolutions-ECS2":
        "The variables are addresses, names and the ARN of the secret: no value is secret. They are held against the worker's env.ts by a test",
      "AwsSolutions-IAM5[Resource::*]":
        "ecr:GetAuthorizationToken, of the role that pulls the image, has no resource to name",
    });
  }

  #addContainer(definition: FargateTaskDefinition, props: WorkerServiceProps<D>): void {
    const logGroup = new LogGroup(this, "Log", {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const container = definition.addContainer("worker", {
      image: props.image,
      command: ["node", `workers/${props.entry}/main.ts`],
      environment: { ...props.environment },
      // Node is process 1 and gets SIGTERM itself.
      linuxParameters: new LinuxParameters(this, "Linux", { initProcessEnabled: false }),
      readonlyRootFilesystem: true,
      user: WORKER_USER,
      stopTimeout: STOP_TIMEOUT,
      healthCheck: { command: readyCommand(STATUS_PORT), ...READY_CHECK },
      logging: LogDrivers.awsLogs({
        logGroup,
        streamPrefix: props.entry,
        // A log that is slow must not hold up calls.
        mode: AwsLogDriverMode.NON_BLOCKING,
      }),
    });
    container.addUlimits({ name: UlimitName.NOFILE, softLimit: OPEN_FILES, hardLimit: OPEN_FILES });
  }
}

/** `FARGATE-2-0.FARGATE_SPOT-0-100`: changes with the strategy, and with nothing else. */
function describeCapacity(capacity: readonly CapacityProviderStrategy[]): string {
  return capacity
    .map(({ capacityProvider, base = 0, weight = 0 }) => `${capacityProvider}-${base}-${weight}`)
    .join(".");
}
