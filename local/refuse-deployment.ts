import { createConnection, type RowDataPacket } from "mysql2/promise";
import { controlDatabase, SHARD_NAMES, shardDatabase } from "#adapters/mysql/database-names.ts";
import { LOCAL_KEY_HASH } from "./seed.ts";
import { SetupError } from "./setup-error.ts";

const STATEMENT_MS = 10_000;
/** A table or its database is not there: nobody has migrated so far. */
const NOT_THERE: readonly unknown[] = ["ER_NO_SUCH_TABLE", "ER_BAD_DB_ERROR"];

/**
 * Throws SetupError when these databases are a deployment's: they have tenants or processes, and no live key `local-dev-key`.
 * Starting on them would let anybody in, and work on their jobs here. Changes nothing; they need not be migrated.
 */
export async function refuseDeployment(mysqlUrl: string, databasePrefix: string): Promise<void> {
  const control = controlDatabase(databasePrefix);
  const { host } = new URL(mysqlUrl);
  if (await isDeployment(mysqlUrl, control, databasePrefix))
    throw new SetupError(
      `MYSQL_URL names the databases of a deployment (${control} at ${host}), in which nothing was changed: unset MYSQL_URL, or choose another DATABASE_PREFIX`,
    );
}

async function isDeployment(mysqlUrl: string, control: string, prefix: string): Promise<boolean> {
  try {
    const connection = await createConnection({ uri: mysqlUrl, connectTimeout: STATEMENT_MS });
    const hasRow = async (from: string, values: readonly Buffer[] = []) => {
      const sql = `SELECT 1 FROM ${from} LIMIT 1`;
      const query = { sql, values: [...values], timeout: STATEMENT_MS };
      try {
        return (await connection.query<RowDataPacket[]>(query))[0].length > 0;
      } catch (error) {
        if (NOT_THERE.includes((error as { code?: unknown }).code)) return false;
        throw error;
      }
    };
    try {
      const localKey = `${control}.api_keys WHERE key_hash = ? AND revoked_at IS NULL`;
      if (await hasRow(localKey, [LOCAL_KEY_HASH])) return false;
      if (await hasRow(`${control}.tenants`)) return true;
      for (const shard of SHARD_NAMES)
        if (await hasRow(`${shardDatabase(shard, prefix)}.workers`)) return true;
      return false;
    } finally {
      connection.destroy();
    }
  } catch (error) {
    const { code = "no code" } = error as { code?: string };
    throw new SetupError(`whose databases MYSQL_URL names could not be read (${code})`, {
      cause: error,
    });
  }
}
