/**
 * Brings the databases to the newest schema, before anything newer starts: APIs, ticks and workers are deployed after this stack. And
 * rotates the app's account, which migrations make.
 * A migration that fails fails the deploy here, with its reason, and what runs goes on as it was.
 */
import { basename } from "node:path";
import { CustomResource, Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { CfnFunction, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import {
  type CfnRotationSchedule,
  HostedRotation,
  type ISecret,
  RotationSchedule,
} from "aws-cdk-lib/aws-secretsmanager";
import { Provider } from "aws-cdk-lib/custom-resources";
import type { Construct } from "constructs";
import type { migrateEnv } from "#functions/migrate/env.ts";
import type { CellConfig } from "../config.ts";
import { acknowledge } from "../constructs/acknowledge.ts";
import { bundleEntry } from "../constructs/bundle.ts";
import type { Placement } from "../constructs/connections.ts";
import { NodeFunction } from "../constructs/node-function.ts";
import type { DataStack } from "./data-stack.ts";

export interface SchemaStackProps {
  readonly cell: CellConfig;
  readonly placement: NonNullable<Placement>;
  readonly data: DataStack;
}

const MIGRATE_SECONDS = 600;
/** After which CloudFormation gives up on an answer: later than the function itself. */
const ANSWER_SECONDS = MIGRATE_SECONDS + 60;
/** MySQL refuses new connections for seconds then: once a month, and on a Saturday or Sunday wherever tenants are. In UTC. */
const ROTATED = { scheduleExpression: "cron(0 20 ? * SAT#1 *)", duration: "3h" };
const NOT_IN_PASSWORDS = " %+~`#$&*()|[]{}:;<>?!'/@\"\\";

export class SchemaStack extends Stack {
  constructor(scope: Construct, id: string, { cell, placement, data }: SchemaStackProps) {
    super(scope, id);
    const logRetention = cell.logRetentionDays;
    const { asOwner, appAccount } = data.mysql;
    const migrate = new NodeFunction<typeof migrateEnv>(this, "Migrate", {
      placement,
      logRetention,
      tracing: false,
      entry: "migrate",
      environment: {
        ...asOwner.environment,
        MYSQL_APP_SECRET_ARN: appAccount.secretArn,
        LOG_LEVEL: "info",
        ...data.history.environment,
        // The data stack has the tables of history as resources.
        CASSANDRA_CONTACT_POINTS: "",
      },
      description: "Applies migrations, and makes the app's account in MySQL",
      timeoutSeconds: MIGRATE_SECONDS,
      memoryMb: 512,
    });
    asOwner.grantConnect(migrate);
    data.mysql.direct.grantConnect(migrate);

    const frameworkOnEventRole = this.#frameworkRole(migrate);
    const logGroup = new LogGroup(this, "DeployLog", {
      retention: logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    logGroup.grantWrite(frameworkOnEventRole);
    const provider = new Provider(this, "Deploy", {
      onEventHandler: migrate,
      frameworkOnEventRole,
      logGroup,
    });
    boundRetries(provider);
    const migrated = new CustomResource(this, "Migrated", {
      resourceType: "Custom::Migrations",
      serviceToken: provider.serviceToken,
      serviceTimeout: Duration.seconds(ANSWER_SECONDS),
      // Changes with the migrations, and with the code that applies them: then CloudFormation calls it again.
      properties: { code: basename(bundleEntry("functions/migrate/handler.ts")) },
    });
    this.#rotate(data.mysql.appAccountOfCluster, placement).node.addDependency(migrated);
  }

  /**
   * By AWS's own function, in the app's own name. The first time is not now; but the function is tried at once, by the account's password,
   * and the account is made by migrations.
   */
  #rotate(secret: ISecret, placement: NonNullable<Placement>): RotationSchedule {
    const { vpc, subnets: vpcSubnets, securityGroups } = placement;
    const rotation = new RotationSchedule(this, "Rotation", {
      secret,
      rotateImmediatelyOnUpdate: false,
      hostedRotation: HostedRotation.mysqlSingleUser({
        vpc,
        vpcSubnets,
        securityGroups,
        excludeCharacters: NOT_IN_PASSWORDS,
      }),
    });
    (rotation.node.defaultChild as CfnRotationSchedule).rotationRules = ROTATED;
    return rotation;
  }

  #frameworkRole(migrate: NodeFunction<unknown>): Role {
    const role = new Role(this, "DeployRole", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      description: "Of the CDK's function between CloudFormation and migrate",
    });
    const id = this.getLogicalId(migrate.node.defaultChild as CfnFunction);
    acknowledge(role, {
      [`AwsSolutions-IAM5[Resource::<${id}.Arn>:*]`]:
        "The CDK grants the invocation of a function with all of its versions; there is one function, and it has none",
    });
    return role;
  }
}

/** The CDK's own function answers CloudFormation, also when ours does not. */
function boundRetries(provider: Provider): void {
  const framework = provider.node.findChild("framework-onEvent") as LambdaFunction;
  framework.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) });
}
