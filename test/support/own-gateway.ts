/** The API as production runs it, for one test file: the gateway as a process of its own on databases of the file's own. */
import { createHash, randomBytes } from "node:crypto";
import { createConnection } from "mysql2/promise";
import { controlDatabase } from "#adapters/mysql/database-names.ts";
import type { Scope } from "#core/ports/control-store.ts";
import { type OwnProcess, startProcess } from "./worker-process.ts";

const UP_MS = 20_000;
const ALL_SCOPES: readonly Scope[] = ["read", "write", "admin"];

export interface Databases {
  readonly mysqlUrl: string;
  readonly databasePrefix: string;
}

export interface OwnGateway extends AsyncDisposable {
  readonly url: string;
  readonly process: OwnProcess;
}

/** Starts it on a free port; `env` says where history is. */
export async function startGateway(
  { mysqlUrl, databasePrefix }: Databases,
  env: Readonly<Record<string, string>>,
): Promise<OwnGateway> {
  const process = startProcess("local/gateway.ts", {
    MYSQL_URL: mysqlUrl,
    DATABASE_PREFIX: databasePrefix,
    API_PORT: "0",
    LOG_LEVEL: "error",
    ...env,
  });
  try {
    const url = (await process.line("gateway listening on", UP_MS)).replace(/^.* on /, "");
    return { url, process, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
  } catch (error) {
    await process[Symbol.asyncDispose]();
    throw error;
  }
}

export interface OwnTenant {
  readonly tenant: string;
  readonly key: string;
  /** Makes another key of the tenant. */
  addKey(scopes: readonly Scope[]): Promise<string>;
}

/** Makes a tenant with a key that may do everything. */
export async function addTenant(
  { mysqlUrl, databasePrefix }: Databases,
  name: string,
): Promise<OwnTenant> {
  const database = controlDatabase(databasePrefix);
  const tenant = `${name}-${randomBytes(5).toString("hex")}`;
  const write = async (sql: string, values: readonly (string | Buffer)[]) => {
    const connection = await createConnection({ uri: mysqlUrl, database });
    try {
      await connection.query(sql, [...values]);
    } finally {
      await connection.end();
    }
  };
  const addKey = async (scopes: readonly Scope[]) => {
    const key = `${tenant}-${randomBytes(8).toString("hex")}`;
    const hash = createHash("sha256").update(key).digest();
    await write(
      "INSERT INTO api_keys (key_hash, tenant_id, scopes, created_at) VALUES (?, ?, ?, UTC_TIMESTAMP(3))",
      [hash, tenant, JSON.stringify(scopes)],
    );
    return key;
  };
  await write("INSERT INTO tenants (id, name, created_at) VALUES (?, ?, UTC_TIMESTAMP(3))", [
    tenant,
    name,
  ]);
  return { tenant, key: await addKey(ALL_SCOPES), addKey };
}
