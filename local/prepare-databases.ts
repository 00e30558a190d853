import { DATABASE_PREFIX } from "#adapters/mysql/database-names.ts";
import { migrate } from "#migrations/migrate.ts";
import { KEYSPACE, migrateCassandra } from "#migrations/migrate-cassandra.ts";
import type { Databases } from "./databases.ts";
import { refuseDeployment } from "./refuse-deployment.ts";
import { localKeyFile, prepareKeyFile } from "./secrets-key.ts";
import { seedDemoTenant } from "./seed.ts";
import type { Settings } from "./settings.ts";

/**
 * What the databases of a start have to have before any process runs: schema, master key, tenant `demo`. Throws SetupError,
 * before anything is written there, when MYSQL_URL names a deployment's, or the key is not the one of its secrets.
 */
export async function prepareDatabases(
  { mysqlUrl, contactPoints }: Databases,
  { localDir }: Settings,
  env: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<void> {
  const databasePrefix = env.DATABASE_PREFIX || DATABASE_PREFIX;
  if (env.MYSQL_URL) await refuseDeployment(mysqlUrl, databasePrefix);
  const keyspace = env.CASSANDRA_KEYSPACE || KEYSPACE;
  await prepareKeyFile(localKeyFile(localDir, env), { mysqlUrl, databasePrefix });
  await Promise.all([
    migrate({ mysqlUrl, databasePrefix, onProgress }),
    migrateCassandra({ contactPoints, keyspace, onProgress }),
  ]);
  await seedDemoTenant(mysqlUrl, databasePrefix);
}
