/** Tenants and their keys, in the control database. */

import type { ControlStore, Scope } from "#core/ports/control-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import { readTenantId } from "./cells.ts";
import { controlDatabase, DATABASE_PREFIX } from "./database-names.ts";
import { findPrincipalSql } from "./statements/find-principal.ts";
import { openDatabase } from "./transaction.ts";

export interface ControlStoreOptions {
  /** `mysql://user:password@host:port`, without a database. */
  readonly mysqlUrl: string;
  readonly logger?: Logger;
  readonly databasePrefix?: string;
}

const POOL_SIZE = 2;

/** Opens the store; connects when it is first used. */
export function openControlStore(
  options: ControlStoreOptions,
): ControlStore & { close(): Promise<void> } {
  const { mysqlUrl, logger = null, databasePrefix = DATABASE_PREFIX } = options;
  const database = openDatabase({
    mysqlUrl,
    database: controlDatabase(databasePrefix),
    poolSize: POOL_SIZE,
    logger,
  });
  return {
    async findPrincipalByKeyHash(keyHash) {
      if (!/^[0-9a-f]{64}$/.test(keyHash)) return null;
      const [row] = await database.select(findPrincipalSql(Buffer.from(keyHash, "hex")));
      if (row === undefined) return null;
      return { tenantId: readTenantId(row[0]), scopes: row[1] as Scope[] };
    },
    close: () => database.close(),
  };
}
