/** The API as a process of its own on a free port, with a tenant that may do everything. */
import { createHash, randomBytes } from "node:crypto";
import { createConnection } from "mysql2/promise";
import { controlDatabase } from "#adapters/mysql/database-names.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { type ApiClient, openClient } from "./api-client.ts";
import { startProcess } from "./worker-process.ts";

export interface Gateway extends AsyncDisposable {
  readonly tenantId: TenantId;
  /** Calls as the tenant. */
  readonly api: ApiClient;
}

export interface GatewaySettings {
  readonly mysqlUrl: string;
  readonly databasePrefix: string;
  /** Where Cassandra is, and what else the functions are told. */
  readonly env: Readonly<Record<string, string>>;
}

const UP_MS = 20_000;

export async function startGateway(settings: GatewaySettings): Promise<Gateway> {
  const { mysqlUrl, databasePrefix, env } = settings;
  const tenantId = `t${randomBytes(6).toString("hex")}` as TenantId;
  const key = randomBytes(16).toString("hex");
  const database = controlDatabase(databasePrefix);
  const connection = await createConnection({ uri: mysqlUrl, database });
  try {
    await connection.query(
      "INSERT INTO tenants (id, name, created_at) VALUES (?, ?, UTC_TIMESTAMP(3))",
      [tenantId, tenantId],
    );
    await connection.query(
      "INSERT INTO api_keys (key_hash, tenant_id, scopes, created_at) VALUES (?, ?, ?, UTC_TIMESTAMP(3))",
      [
        createHash("sha256").update(key).digest(),
        tenantId,
        JSON.stringify(["read", "write", "admin"]),
      ],
    );
  } finally {
    await connection.end();
  }
  const process = startProcess("local/gateway.ts", {
    MYSQL_URL: mysqlUrl,
    DATABASE_PREFIX: databasePrefix,
    API_PORT: "0",
    LOG_LEVEL: "silent",
    ...env,
  });
  const line = await process.line("gateway listening on", UP_MS);
  return {
    tenantId,
    api: openClient(line.replace(/^.* on /, ""), key),
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}
