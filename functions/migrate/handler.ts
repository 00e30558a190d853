/**
 * Entry point of the migrations: a Lambda function that a deploy invokes before new workers and APIs start, as a custom resource of
 * CloudFormation (through the CDK's Provider) or directly. It may be repeated and may run twice at once. What it throws is the
 * reason that the deploy shows; the deploy is then rolled back, and the schema stays as far as it came: migrations only expand.
 */
import { openLogger } from "#adapters/system/logger.ts";
import { readEnv } from "#adapters/system/read-env.ts";
import { describeError } from "#core/domain/describe-error.ts";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { DatabaseAccount } from "#core/ports/database-account.ts";
import { migrate } from "#migrations/migrate.ts";
import { migrateCassandra } from "#migrations/migrate-cassandra.ts";
import { prepareAppAccount } from "#migrations/prepare-app-account.ts";
import { securityOf } from "../_shared/connect-history.ts";
import { processEnv } from "../_shared/process-env.ts";
import { migrateEnv } from "./env.ts";

/** What CloudFormation says; a direct invocation says nothing. */
export interface DeployEvent {
  readonly RequestType?: "Create" | "Update" | "Delete";
}

export interface DeployAnswer {
  /** The same for ever: a new one would make CloudFormation delete the old. */
  readonly PhysicalResourceId: "migrations";
  readonly Data: {
    /** `scheduler_0: applied 0001_create_tasks`, comma-separated; empty when nothing was missing. */
    readonly applied: string;
  };
}

/** CloudFormation takes 4 KB in all. */
const APPLIED_LENGTH_MAX = 2_000;

const env = readEnv(migrateEnv, processEnv(), { ownPrefix: "CASSANDRA_" });
const logger = openLogger({ service: "migrate", level: env.LOG_LEVEL });

export async function handler(event: DeployEvent = {}): Promise<DeployAnswer> {
  const applied: string[] = [];
  const onProgress = (line: string): void => {
    applied.push(line);
    logger.info(line);
  };
  // The data outlives the stack.
  if (event.RequestType !== "Delete") {
    try {
      await migrateAll(onProgress);
    } catch (error) {
      const described = describeError(error);
      logger.error("migrations were not applied: the deploy stops here", described);
      throw new Error(
        `migrations were not applied: ${described.message ?? described.code ?? described.error}`,
        { cause: error },
      );
    }
  }
  const Data = { applied: applied.join(", ").slice(0, APPLIED_LENGTH_MAX) };
  return { PhysicalResourceId: "migrations", Data };
}

async function migrateAll(onProgress: (line: string) => void): Promise<void> {
  const { DATABASE_PREFIX: databasePrefix } = env;
  const master = await accountOf(env.MYSQL_SECRET_ARN);
  const mysqlUrl = master === null ? env.MYSQL_URL : withAccount(env.MYSQL_URL, master);
  const onWait = (line: string): void => logger.warn(line);
  await migrate({ mysqlUrl, databasePrefix, onProgress, onWait });
  const app = await accountOf(env.MYSQL_APP_SECRET_ARN);
  if (app !== null) await prepareAppAccount({ mysqlUrl, databasePrefix, account: app });
  if (env.CASSANDRA_CONTACT_POINTS === "") return;
  const inKeyspaces = env.CASSANDRA_AUTH === "sigv4";
  await migrateCassandra({
    contactPoints: env.CASSANDRA_CONTACT_POINTS,
    keyspace: env.CASSANDRA_KEYSPACE,
    localDataCenter: env.CASSANDRA_DATACENTER,
    security: inKeyspaces ? securityOf(env) : undefined,
    service: inKeyspaces ? "keyspaces" : "cassandra",
    onProgress,
  });
}

/** Fetched for each run: a container may be used again after a rotation. */
async function accountOf(secretId: string): Promise<DatabaseAccount | null> {
  if (secretId === "") return null;
  const { openAccountSecret } = await import("#adapters/aws/database-account.ts");
  return openAccountSecret({ secretId })();
}

function withAccount(mysqlUrl: string, { user, password }: DatabaseAccount): string {
  const url = new URL(mysqlUrl);
  if (url.hostname === "") throw new ConfigurationInvalid("MYSQL_URL names no server");
  url.username = encodeURIComponent(user);
  url.password = encodeURIComponent(password.reveal());
  return url.href;
}
