import { createHash } from "node:crypto";
import { createConnection } from "mysql2/promise";
import { controlDatabase } from "#adapters/mysql/database-names.ts";
import { LOCAL_KEY } from "./settings.ts";
import { SetupError } from "./setup-error.ts";

const TENANT = "demo";
const STATEMENT_MS = 10_000;
export const LOCAL_KEY_HASH = createHash("sha256").update(LOCAL_KEY).digest();

/**
 * Makes tenant `demo` and its API key `local-dev-key`, with every scope, unless they exist. A key that somebody has
 * revoked stays so. `mysqlUrl` names the server; its control database is migrated. Throws SetupError.
 */
export async function seedDemoTenant(mysqlUrl: string, databasePrefix?: string): Promise<void> {
  // The key first: by it the next start knows these databases, however far this one comes.
  const statements: [string, unknown[]][] = [
    [
      "INSERT INTO api_keys (key_hash, tenant_id, scopes, created_at) VALUES (?, ?, ?, UTC_TIMESTAMP(3)) AS made ON DUPLICATE KEY UPDATE api_keys.key_hash = api_keys.key_hash",
      [LOCAL_KEY_HASH, TENANT, JSON.stringify(["read", "write", "admin"])],
    ],
    [
      "INSERT INTO tenants (id, name, created_at) VALUES (?, ?, UTC_TIMESTAMP(3)) AS made ON DUPLICATE KEY UPDATE tenants.id = tenants.id",
      [TENANT, TENANT],
    ],
  ];
  try {
    const options = {
      uri: mysqlUrl,
      database: controlDatabase(databasePrefix),
      connectTimeout: STATEMENT_MS,
    };
    const connection = await createConnection(options);
    try {
      for (const [sql, values] of statements) {
        await connection.query({ sql, values, timeout: STATEMENT_MS });
      }
    } finally {
      connection.destroy();
    }
  } catch (error) {
    // The driver's message carries the statement with its values: only its code is shown.
    const { code = "no code" } = error as { code?: string };
    throw new SetupError(`tenant ${TENANT} could not be made (${code}): is MySQL up?`, {
      cause: error,
    });
  }
}
