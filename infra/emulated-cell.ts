/**
 * What an emulator of AWS can run of a cell: the API and the ticks, in the very stacks of the others, on the databases of this
 * machine. Workers run beside it as processes, and `npm run localstack` migrates.
 */
import { Stage, Tags } from "aws-cdk-lib";
import { AuthorizationType, CfnMethod } from "aws-cdk-lib/aws-apigateway";
import { CfnPermission } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { type CellConfig, ConfigError } from "./config.ts";
import type { Database, History, SecretsKey } from "./constructs/connections.ts";
import { ApiStack } from "./stacks/api-stack.ts";
import { TicksStack } from "./stacks/ticks-stack.ts";

/** Where this machine's databases are, and how long a finished job stays in MySQL; `npm run localstack` sets them all. */
const SETTINGS = [
  "MYSQL_URL",
  "DATABASE_PREFIX",
  "CASSANDRA_CONTACT_POINTS",
  "CASSANDRA_KEYSPACE",
  "CASSANDRA_DATACENTER",
  "SECRETS_KEY_FILE",
  "ARCHIVE_SUCCEEDED_AFTER_SECONDS",
  "ARCHIVE_ENDED_AFTER_SECONDS",
] as const;
type Settings = Readonly<Record<(typeof SETTINGS)[number], string>>;

export class EmulatedCell extends Stage {
  readonly api: ApiStack;
  readonly ticks: TicksStack;

  constructor(scope: Construct, cell: CellConfig, env: NodeJS.ProcessEnv) {
    const name = `at-and-cron-localstack-${cell.name}`;
    super(scope, name, { env: { region: cell.region } });
    const settings = readSettings(env);
    const common = {
      cell: {
        ...cell,
        archiveSucceededAfterSeconds: Number(settings.ARCHIVE_SUCCEEDED_AFTER_SECONDS),
        archiveEndedAfterSeconds: Number(settings.ARCHIVE_ENDED_AFTER_SECONDS),
      },
      name,
      placement: null,
      ...connectionsOf(settings),
    };
    this.api = new ApiStack(this, "api", common);
    this.ticks = new TicksStack(this, "ticks", common);
    this.#leaveKeysToHandlers();
    // LocalStack's way to choose an API's id: its address is the same after every deploy.
    Tags.of(this.api.byKey).add("_custom_id_", "by-key");
    Tags.of(this.api.bySignature).add("_custom_id_", "by-signature");
    Tags.of(this).add("application", "at-and-cron");
  }

  /** LocalStack's free images have no authorizers: requests go straight to the handlers, which look at every key themselves. */
  #leaveKeysToHandlers(): void {
    for (const method of this.api.node.findAll().filter((each) => each instanceof CfnMethod)) {
      if (method.authorizationType !== AuthorizationType.CUSTOM) continue;
      method.authorizationType = AuthorizationType.NONE;
      method.authorizerId = undefined;
    }
    this.api.node.findChild("Keys").node.tryRemoveChild("Resource");
    const { node } = this.api.functions["key-authorizer"];
    for (const child of node.children.filter((each) => each instanceof CfnPermission))
      node.tryRemoveChild(child.node.id);
  }
}

function readSettings(env: NodeJS.ProcessEnv): Settings {
  const missing = SETTINGS.filter((name) => !env[name]);
  if (missing.length > 0)
    throw new ConfigError(
      `stage localstack: ${missing.join(", ")} not set: 'npm run localstack' sets them`,
    );
  return env as Settings;
}

/** Nothing to grant: the databases are not in AWS. */
function connectionsOf(settings: Settings) {
  const grant = () => {};
  const { MYSQL_URL, DATABASE_PREFIX, SECRETS_KEY_FILE, ...rest } = settings;
  const { CASSANDRA_CONTACT_POINTS, CASSANDRA_KEYSPACE, CASSANDRA_DATACENTER } = rest;
  const database: Database = {
    environment: { MYSQL_URL, MYSQL_SECRET_ARN: "", DATABASE_PREFIX },
    grantConnect: grant,
  };
  const history: History = {
    environment: {
      CASSANDRA_CONTACT_POINTS,
      CASSANDRA_KEYSPACE,
      CASSANDRA_DATACENTER,
      CASSANDRA_AUTH: "none",
    },
    grantRead: grant,
    grantWrite: grant,
  };
  const secretsKey: SecretsKey = {
    environment: { SECRETS_KEY_FILE, SECRETS_KMS_KEY: "" },
    grantSeal: grant,
    grantOpen: grant,
  };
  return { database, history, secretsKey };
}
