import { DATABASE_PREFIX } from "#adapters/mysql/database-names.ts";
import { migrate } from "#migrations/migrate.ts";
import { KEYSPACE, migrateCassandra } from "#migrations/migrate-cassandra.ts";
import type { Databases } from "./databases.ts";
import { localKeyFile, prepareKeyFile } from "./secrets-key.ts";
import { seedDemoTenant } from "./seed.ts";
import type { Settings } from "./settings.ts";

/** What the databases of a start have to have before any process runs: schema, master key, tenant `demo`. */
export async function prepareDatabases(
  { mysqlUrl, contactPoints }: Databases,
  { localDir }: Settings,
  env: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<void> {
  const databasePrefix = env.DATABASE_PREFIX || DATABASE_PREFIX;
  const keyspace = env.CASSANDRA_KEYSPACE || KEYSPACE;
  await Promise.all([
    migrate({ mysqlUrl, databasePrefix, onProgress }),
    migrateCassandra({ contactPoints, keyspace, onProgress }),
  ]);
  await prepareKeyFile(localKeyFile(localDir, env), { mysqlUrl, databasePrefix });
  await seedDemoTenant(mysqlUrl, databasePrefix);
}
