/** The API: two functions, and two ways in to them: by API key, by IAM signature. */
import { CfnOutput, Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import {
  CfnAccount,
  DomainName,
  EndpointType,
  IdentitySource,
  RequestAuthorizer,
  type RestApi,
  SecurityPolicy,
} from "aws-cdk-lib/aws-apigateway";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import {
  AccountPrincipal,
  Effect,
  ManagedPolicy,
  PolicyDocument,
  PolicyStatement,
  Role,
  ServicePrincipal,
} from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import type { jobsApiEnv } from "#functions/jobs-api/env.ts";
import type { keyAuthorizerEnv } from "#functions/key-authorizer/env.ts";
import type { tasksApiEnv } from "#functions/tasks-api/env.ts";
import type { ApiConfig, CellConfig } from "../config.ts";
import { acknowledge } from "../constructs/acknowledge.ts";
import type { Database, History, Placement, SecretsKey } from "../constructs/connections.ts";
import { Firewall } from "../constructs/firewall.ts";
import { type FunctionSetting, NodeFunction } from "../constructs/node-function.ts";
import { RestEntry } from "../constructs/rest-entry.ts";

export interface ApiStackProps {
  readonly cell: Pick<
    CellConfig,
    | "api"
    | "archiveSucceededAfterSeconds"
    | "archiveEndedAfterSeconds"
    | "logRetentionDays"
    | "tracing"
  >;
  /** Of the cell: `at-and-cron-prod-eu`. */
  readonly name: string;
  readonly placement: Placement;
  readonly database: Database;
  readonly history: History;
  readonly secretsKey: SecretsKey;
}

/** API Gateway gives up after 29 s. A test call waits for 25 of them (TEST_WAIT_MS, core/domain/limits.ts). */
const TASKS_SECONDS = 29;
const JOBS_SECONDS = 15;
const AUTHORIZER_SECONDS = 10;
/** How long API Gateway may pass on a key without asking; handlers look at it themselves on every request. */
const KEY_REMEMBERED = Duration.seconds(60);

export class ApiStack extends Stack {
  readonly byKey: RestApi;
  readonly bySignature: RestApi;
  /** Where the API is reached: hosts that no tenant's task may call. */
  readonly hosts: readonly string[];
  readonly functions: Readonly<
    Record<"tasks-api" | "jobs-api" | "key-authorizer", NodeFunction<unknown>>
  >;

  constructor(scope: Construct, id: string, props: ApiStackProps) {
    super(scope, id);
    const { cell, name } = props;
    this.functions = this.#makeFunctions(props);
    const entry = {
      handlers: this.functions,
      limits: cell.api,
      logRetention: cell.logRetentionDays,
      tracing: cell.tracing,
      account: this.#allowLogs(),
    };
    const authorizer = new RequestAuthorizer(this, "Keys", {
      handler: this.functions["key-authorizer"],
      identitySources: [IdentitySource.header("x-api-key")],
      resultsCacheTtl: KEY_REMEMBERED,
    });
    this.byKey = new RestEntry(this, "ByKey", {
      ...entry,
      name: `${name}-by-key`,
      description: "With an API key in x-api-key",
      callers: { kind: "keys", authorizer },
      policy: undefined,
    }).api;
    this.bySignature = new RestEntry(this, "BySignature", {
      ...entry,
      name: `${name}-by-iam`,
      description: "Signed with Signature Version 4",
      callers: { kind: "iam" },
      policy: policyFor(cell.api.callerAccounts),
    }).api;
    const apis = [this.byKey, this.bySignature];
    this.#guard(apis, cell.api.firewallRequestsPerKey);
    const names = this.#nameThem(cell.api.domain);
    const own = apis.map((api) => `${api.restApiId}.execute-api.${this.region}.${this.urlSuffix}`);
    this.hosts = [...own, ...names];
  }

  #makeFunctions(props: ApiStackProps) {
    const { cell, placement, database, history, secretsKey } = props;
    const setting: FunctionSetting = {
      placement,
      logRetention: cell.logRetentionDays,
      tracing: cell.tracing,
    };
    const retention = {
      ARCHIVE_SUCCEEDED_AFTER_SECONDS: String(cell.archiveSucceededAfterSeconds),
      ARCHIVE_ENDED_AFTER_SECONDS: String(cell.archiveEndedAfterSeconds),
    };
    const common = { ...database.environment, LOG_LEVEL: "info" };
    const tasks = new NodeFunction<typeof tasksApiEnv>(this, "TasksApi", {
      ...setting,
      entry: "tasks-api",
      environment: {
        ...common,
        ...secretsKey.environment,
        ...retention,
        WORKERS_ZONE_DATA: zoneDataOfWorkers(),
      },
      description: "Tasks: create, edit, pause, run",
      timeoutSeconds: TASKS_SECONDS,
      memoryMb: 1_024,
    });
    const jobs = new NodeFunction<typeof jobsApiEnv>(this, "JobsApi", {
      ...setting,
      entry: "jobs-api",
      environment: { ...common, ...history.environment, ...retention },
      description: "Jobs: status, history, dead letters",
      timeoutSeconds: JOBS_SECONDS,
      memoryMb: 1_024,
    });
    const keys = new NodeFunction<typeof keyAuthorizerEnv>(this, "KeyAuthorizer", {
      ...setting,
      entry: "key-authorizer",
      environment: common,
      description: "Whether an API key is known",
      timeoutSeconds: AUTHORIZER_SECONDS,
      memoryMb: 512,
    });
    for (const each of [tasks, jobs, keys]) database.grantConnect(each);
    secretsKey.grantSeal(tasks);
    history.grantRead(jobs);
    return { "tasks-api": tasks, "jobs-api": jobs, "key-authorizer": keys };
  }

  /** A setting of the account and region, which a new account lacks; it stays when the stack goes, with its role, as others may rely on it. */
  #allowLogs(): CfnAccount {
    const role = new Role(this, "GatewayLogs", {
      assumedBy: new ServicePrincipal("apigateway.amazonaws.com"),
      managedPolicies: [
        ManagedPolicy.fromAwsManagedPolicyName("service-role/AmazonAPIGatewayPushToCloudWatchLogs"),
      ],
    });
    acknowledge(role, {
      "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]":
        "API Gateway asks for this policy before it writes any access log",
    });
    role.applyRemovalPolicy(RemovalPolicy.RETAIN);
    const account = new CfnAccount(this, "GatewayAccount", { cloudWatchRoleArn: role.roleArn });
    account.applyRemovalPolicy(RemovalPolicy.RETAIN);
    return account;
  }

  #guard(apis: readonly RestApi[], requestsPerKey: number | null): void {
    if (requestsPerKey !== null) new Firewall(this, "Firewall", apis, requestsPerKey);
    else
      for (const api of apis)
        acknowledge(api, {
          "AwsSolutions-APIG3":
            "Where there is nothing to protect but trials, throttles do; production has a firewall",
        });
  }

  /** Returns the names. Their records in DNS are the owner's of the zone: the outputs say where they point. */
  #nameThem(domain: ApiConfig["domain"]): string[] {
    if (domain === null) return [];
    const certificate = Certificate.fromCertificateArn(this, "Certificate", domain.certificateArn);
    for (const [id, domainName, mapping] of [
      ["Name", domain.name, this.byKey],
      ["IamName", domain.iamName, this.bySignature],
    ] as const) {
      const name = new DomainName(this, id, {
        domainName,
        certificate,
        endpointType: EndpointType.REGIONAL,
        securityPolicy: SecurityPolicy.TLS_1_2,
        mapping,
      });
      new CfnOutput(this, `${id}Target`, {
        description: `Point ${domainName} here`,
        value: name.domainNameAliasDomainName,
      });
    }
    return [domain.name, domain.iamName];
  }
}

/** Of the Node that runs this, which is the one that package.json and the workers' image pin. */
function zoneDataOfWorkers(): string {
  const { tz } = process.versions;
  if (tz === undefined) throw new Error("this Node carries no time zone data");
  return tz;
}

/** Principals of our own account need the right in their own policies; those of others need it here too. */
function policyFor(accounts: readonly string[]): PolicyDocument | undefined {
  if (accounts.length === 0) return undefined;
  return new PolicyDocument({
    statements: [
      new PolicyStatement({
        effect: Effect.ALLOW,
        principals: accounts.map((account) => new AccountPrincipal(account)),
        actions: ["execute-api:Invoke"],
        resources: ["execute-api:/*"],
      }),
    ],
  });
}
