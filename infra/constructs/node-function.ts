/**
 * A function of ours on Lambda: one bundle, a role that can do nothing but log until it is granted something, and asynchronous
 * invocations that are not tried again behind our back.
 */
import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { Effect, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  Architecture,
  Code,
  type IDestination,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  Tracing,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";
import { bundleEntry } from "./bundle.ts";
import type { Environment, Placement } from "./connections.ts";

/** What the functions of a stack have in common. */
export interface FunctionSetting {
  readonly placement: Placement;
  readonly logRetention: RetentionDays;
  readonly tracing: boolean;
}

export interface NodeFunctionProps<D> extends FunctionSetting {
  /** The folder in functions/ whose handler.ts it runs. */
  readonly entry: string;
  /** Of what its env.ts declares, `typeof tasksApiEnv`. */
  readonly environment: Environment<D>;
  readonly description: string;
  readonly timeoutSeconds: number;
  /** Lambda gives CPU by memory: 1,769 MB are one core. */
  readonly memoryMb: number;
  /** Of the account's concurrency, so much is kept for it, and it has no more; null or not given: it shares what is free with all others. */
  readonly reservedConcurrency?: number | null;
  /** Where an asynchronous invocation goes that failed. */
  readonly onFailure?: IDestination;
}

/** An event that is so old is not worth an invocation: another tick has come since. */
const EVENT_AGE_MAX = Duration.minutes(1);

export class NodeFunction<D> extends LambdaFunction {
  constructor(scope: Construct, id: string, props: NodeFunctionProps<D>) {
    const { entry, environment, description, timeoutSeconds, memoryMb, placement } = props;
    const logGroup = new LogGroup(scope, `${id}Log`, {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const role = new Role(scope, `${id}Role`, {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      description: `Of the function ${entry}`,
    });
    super(scope, id, {
      description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(bundleEntry(`functions/${entry}/handler.ts`)),
      handler: "index.handler",
      environment: { ...environment },
      timeout: Duration.seconds(timeoutSeconds),
      memorySize: memoryMb,
      role,
      logGroup,
      // Our lines are JSON already, and those of metrics must stay as they are.
      loggingFormat: LoggingFormat.TEXT,
      tracing: props.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
      retryAttempts: 0,
      maxEventAge: EVENT_AGE_MAX,
      ...(typeof props.reservedConcurrency === "number" && {
        reservedConcurrentExecutions: props.reservedConcurrency,
      }),
      ...(props.onFailure && { onFailure: props.onFailure }),
      ...(placement && {
        vpc: placement.vpc,
        vpcSubnets: placement.subnets,
        securityGroups: placement.securityGroups,
      }),
    });
    logGroup.grantWrite(role);
    if (placement !== null) allowInterfaces(role);
    acknowledge(role, {
      "AwsSolutions-IAM5[Resource::*]":
        "Network interfaces of a function in a VPC, and traces, have no resource to name; only reading, making and removing interfaces, and putting traces, is allowed",
    });
  }
}

/** What Lambda does in the name of the role to put a function into a VPC. */
function allowInterfaces(role: Role): void {
  role.addToPolicy(
    new PolicyStatement({
      effect: Effect.ALLOW,
      actions: [
        "ec2:CreateNetworkInterface",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSubnets",
        "ec2:DeleteNetworkInterface",
        "ec2:AssignPrivateIpAddresses",
        "ec2:UnassignPrivateIpAddresses",
      ],
      resources: ["*"],
    }),
  );
}
