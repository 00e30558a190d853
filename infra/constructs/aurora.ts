/**
 * MySQL: an Aurora cluster that is never paused, a reader in another zone to fail over to, and the account with which the app
 * connects. The owner's password is RDS's own secret; only migrations use it.
 */
import { Duration, RemovalPolicy } from "aws-cdk-lib";
import {
  type ISecurityGroup,
  type IVpc,
  SecurityGroup,
  type SubnetSelection,
} from "aws-cdk-lib/aws-ec2";
import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import {
  AuroraMysqlEngineVersion,
  ClusterInstance,
  Credentials,
  DatabaseCluster,
  DatabaseClusterEngine,
  DBClusterStorageType,
  ParameterGroup,
} from "aws-cdk-lib/aws-rds";
import { type ISecret, Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import { tasksApiEnv } from "#functions/tasks-api/env.ts";
import type { DataConfig } from "../config.ts";
import { acknowledge } from "./acknowledge.ts";
import type { Database } from "./connections.ts";

export interface AuroraProps {
  /** Of the cluster, in its region. */
  readonly identifier: string;
  readonly config: DataConfig;
  readonly logRetention: RetentionDays;
  readonly vpc: IVpc;
  readonly subnets: SubnetSelection;
  readonly securityGroup: ISecurityGroup;
  /** Of the proxy, where there is one. */
  readonly proxy: {
    readonly securityGroup: ISecurityGroup;
    readonly subnets: SubnetSelection;
    /** How much of the connections to MySQL it may open. */
    readonly connectionsPercent: number;
  } | null;
}

/** Held by adapters/mysql, which refuses to work with others (deadlines.ts) or needs them (packets, isolation). */
const SETTINGS = {
  transaction_isolation: "READ-COMMITTED",
  // Aurora's own is empty: a value that does not fit would be cut, and each connection would have to set it for itself.
  sql_mode: "STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ENGINE_SUBSTITUTION",
  wait_timeout: "20",
  // Of the mysql client: who forgets a transaction there keeps its locks no longer than this.
  interactive_timeout: "300",
  innodb_lock_wait_timeout: "3",
  max_allowed_packet: "67108864",
  require_secure_transport: "ON",
  // Who connected and who was refused. Nothing logs statements, not even slow ones: tenants' URLs and bodies stand in them.
  server_audit_logging: "1",
  server_audit_events: "CONNECT",
};
const LOGS = ["audit", "error"];
/** The certificate is checked against RDS's own authorities, which mysql2 carries. */
const TLS = "?ssl=Amazon%20RDS";
const APP_USER = "scheduler";

export class Aurora extends Construct {
  /** How workers connect. */
  readonly direct: Database;
  /** How functions connect: through the proxy where there is one. */
  readonly forFunctions: Database;
  /** How migrations connect: as the owner. */
  readonly asOwner: Database;
  /** The account of the app, which migrations make; username and password. */
  readonly appAccount: Secret;
  /** The same, as whoever rotates it has to know it: with the cluster's address. */
  readonly appAccountOfCluster: ISecret;
  readonly cluster: DatabaseCluster;

  constructor(scope: Construct, id: string, props: AuroraProps) {
    super(scope, id);
    this.cluster = this.#makeCluster(props);
    this.appAccount = new Secret(this, "AppAccount", {
      description: "MySQL account of APIs, ticks and workers: reads and writes rows, no more",
      generateSecretString: {
        secretStringTemplate: JSON.stringify({ username: APP_USER }),
        generateStringKey: "password",
        passwordLength: 40,
        excludePunctuation: true,
      },
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
    acknowledge(this.appAccount, {
      "AwsSolutions-SMG4":
        "It is rotated, by the schema stack, where cdk-nag does not look: after the migrations that make the account",
    });
    this.appAccountOfCluster = this.appAccount.attach(this.cluster);
    const { clusterEndpoint, secret: owner } = this.cluster;
    if (owner === undefined) throw new Error("RDS keeps the owner's password");
    this.direct = databaseAt(clusterEndpoint.hostname, this.appAccount.secretArn);
    this.asOwner = databaseAt(clusterEndpoint.hostname, owner.secretArn);
    this.forFunctions = props.proxy === null ? this.direct : this.#addProxy(props.vpc, props.proxy);
  }

  #makeCluster({ identifier, config, logRetention, vpc, subnets, securityGroup }: AuroraProps) {
    const engine = DatabaseClusterEngine.auroraMysql({
      version: AuroraMysqlEngineVersion.VER_3_10_4,
    });
    // Made here, RDS would make them without an end.
    const logs = LOGS.map(
      (log) =>
        new LogGroup(this, `Log-${log}`, {
          logGroupName: `/aws/rds/cluster/${identifier}/${log}`,
          retention: logRetention,
          removalPolicy: RemovalPolicy.DESTROY,
        }),
    );
    const [first = "", second = ""] = vpc.availabilityZones;
    const instance = { publiclyAccessible: false, autoMinorVersionUpgrade: false };
    const cluster = new DatabaseCluster(this, "Cluster", {
      engine,
      clusterIdentifier: identifier,
      vpc,
      vpcSubnets: subnets,
      securityGroups: [this.#asItIs("DatabaseGroup", securityGroup)],
      writer: ClusterInstance.serverlessV2("Writer", { ...instance, availabilityZone: first }),
      // In another zone, and scaled with the writer, so that it can take its work at once.
      readers: [
        ClusterInstance.serverlessV2("Reader", {
          ...instance,
          availabilityZone: second,
          scaleWithWriter: true,
        }),
      ],
      serverlessV2MinCapacity: config.acuMin,
      serverlessV2MaxCapacity: config.acuMax,
      storageType: config.ioOptimized
        ? DBClusterStorageType.AURORA_IOPT1
        : DBClusterStorageType.AURORA,
      storageEncrypted: true,
      credentials: Credentials.fromUsername("owner"),
      manageMasterUserPassword: true,
      parameterGroup: new ParameterGroup(this, "Settings", { engine, parameters: SETTINGS }),
      backup: { retention: Duration.days(config.backupDays), preferredWindow: "02:00-03:00" },
      preferredMaintenanceWindow: "sun:03:30-sun:04:30",
      cloudwatchLogsExports: LOGS,
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
    cluster.node.addDependency(...logs);
    acknowledge(cluster, {
      "CloudFormation-Validate::W3010":
        "Zones that CloudFormation lists have no fixed order, and an instance in another zone is another instance",
      "AwsSolutions-RDS6":
        "The accounts are secrets that are rotated (docs/security.md); tokens of IAM allow 200 new connections a second, and a peak makes more",
      "AwsSolutions-RDS11":
        "Another port hides nothing: only two security groups of this VPC reach the database",
      "AwsSolutions-RDS14":
        "A queue that is set back calls tenants' endpoints again; recovery is to a point in time, into a new cluster that is looked at before it is used",
    });
    return cluster;
  }

  /** The network stack says who reaches whom: the CDK adds no rules here. */
  #asItIs(id: string, { securityGroupId }: ISecurityGroup): ISecurityGroup {
    return SecurityGroup.fromSecurityGroupId(this, id, securityGroupId, { mutable: false });
  }

  #addProxy(vpc: IVpc, proxy: NonNullable<AuroraProps["proxy"]>): Database {
    const made = this.cluster.addProxy("Proxy", {
      secrets: [this.appAccount],
      vpc,
      vpcSubnets: proxy.subnets,
      securityGroups: [this.#asItIs("ProxyGroup", proxy.securityGroup)],
      requireTLS: true,
      maxConnectionsPercent: proxy.connectionsPercent,
    });
    return databaseAt(made.endpoint, this.appAccount.secretArn);
  }
}

function databaseAt(host: string, secretArn: string): Database {
  return {
    environment: {
      MYSQL_URL: `mysql://${host}:3306/${TLS}`,
      MYSQL_SECRET_ARN: secretArn,
      DATABASE_PREFIX: tasksApiEnv.DATABASE_PREFIX.default,
    },
    grantConnect(grantee: IGrantable) {
      Grant.addToPrincipal({
        grantee,
        actions: ["secretsmanager:GetSecretValue"],
        resourceArns: [secretArn],
      });
    },
  };
}
