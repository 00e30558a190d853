/** The account that APIs, ticks and workers use: rows only, in our databases only. */
import { createConnection } from "mysql2/promise";
import { controlDatabase, SHARD_NAMES, shardDatabase } from "#adapters/mysql/database-names.ts";
import { readFault, translate } from "#adapters/mysql/errors.ts";
import type { DatabaseAccount } from "#core/ports/database-account.ts";

export interface AppAccountOptions {
  /** `mysql://user:password@host:port` of an account that may create users and grant. */
  readonly mysqlUrl: string;
  readonly databasePrefix?: string;
  /** As its secret has it now. */
  readonly account: DatabaseAccount;
}

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_MS = 10_000;
/** What the statements in adapters/mysql do. */
const RIGHTS = "SELECT, INSERT, UPDATE, DELETE";

/**
 * Makes the account when it is missing, gives it its password and its rights. May be repeated. Throws StoreUnavailable,
 * StoreRefused; never with the statement, which has the password.
 */
export async function prepareAppAccount(options: AppAccountOptions): Promise<void> {
  const { mysqlUrl, databasePrefix, account } = options;
  const { user } = account;
  const password = account.password.reveal();
  const databases = [
    controlDatabase(databasePrefix),
    ...SHARD_NAMES.map((shard) => shardDatabase(shard, databasePrefix)),
  ];
  const statements: [string, string[]][] = [
    ["CREATE USER IF NOT EXISTS ?@'%' IDENTIFIED BY ?", [user, password]],
    // A secret that was made anew: open connections stay.
    ["ALTER USER ?@'%' IDENTIFIED BY ?", [user, password]],
    ...databases.map((database): [string, string[]] => [
      // In a grant `_` stands for any character.
      `GRANT ${RIGHTS} ON \`${database.replaceAll("_", "\\_")}\`.* TO ?@'%'`,
      [user],
    ]),
  ];
  try {
    const connection = await createConnection({
      uri: mysqlUrl,
      connectTimeout: CONNECT_TIMEOUT_MS,
    });
    try {
      for (const [sql, values] of statements)
        await connection.query({ sql, values, timeout: STATEMENT_MS });
    } finally {
      connection.destroy();
    }
  } catch (error) {
    const fault = readFault(error);
    throw fault === null ? error : translate(fault, false);
  }
}
