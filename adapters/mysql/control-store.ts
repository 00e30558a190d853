/** Tenants, their keys and their IAM principals, in the control database. */
import { assert } from "#core/domain/assert.ts";
import { KEYS_LISTED_MAX, LIVE_KEYS_MAX } from "#core/domain/limits.ts";
import type { ControlStore, Tenant } from "#core/ports/control-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { RotatingAccount } from "./account.ts";
import { readTenantId } from "./cells.ts";
import {
  readApiKey,
  readKnownPrincipal,
  readLimit,
  readMappedPrincipal,
  readTenant,
} from "./control-rows.ts";
import { controlDatabase, DATABASE_PREFIX } from "./database-names.ts";
import * as apiKeys from "./statements/api-keys.ts";
import * as defaults from "./statements/default-limits.ts";
import { findPrincipalByArnSql, findPrincipalByKeySql } from "./statements/find-principal.ts";
import * as principals from "./statements/principals.ts";
import * as tenants from "./statements/tenants.ts";
import { type Database, openDatabase } from "./transaction.ts";

export interface ControlStoreOptions {
  /** `mysql://user:password@host:port`, without a database. */
  readonly mysqlUrl: string;
  /** Takes the place of the account in `mysqlUrl`. */
  readonly account?: RotatingAccount | null;
  readonly logger?: Logger;
  readonly databasePrefix?: string;
}

const POOL_SIZE = 2;

/** Opens the store; connects when it is first used. */
export function openControlStore(
  options: ControlStoreOptions,
): ControlStore & { close(): Promise<void> } {
  const { mysqlUrl, account = null, logger = null, databasePrefix = DATABASE_PREFIX } = options;
  const database = openDatabase({
    mysqlUrl,
    account,
    database: controlDatabase(databasePrefix),
    poolSize: POOL_SIZE,
    logger,
  });
  return {
    async findPrincipalByKeyHash(keyHash) {
      if (!/^[0-9a-f]{64}$/.test(keyHash)) return null;
      const [row] = await database.select(findPrincipalByKeySql(Buffer.from(keyHash, "hex")));
      return row === undefined ? null : readKnownPrincipal(row);
    },
    async findPrincipalByArn(arn) {
      // The column is ASCII: other text is in no row, and could not be compared.
      if (!/^[\x21-\x7e]+$/.test(arn)) return null;
      const [row] = await database.select(findPrincipalByArnSql(arn));
      return row === undefined ? null : readKnownPrincipal(row);
    },
    ...tenantVerbs(database),
    ...keyVerbs(database),
    ...principalVerbs(database),
    close: () => database.close(),
  };
}

function tenantVerbs(
  database: Database,
): Pick<
  ControlStore,
  | "createTenant"
  | "listTenants"
  | "listWeights"
  | "setQuotas"
  | "setEndpointLimit"
  | "setDefaultEndpointLimit"
  | "setWeight"
  | "setTenantStatus"
> {
  const update = (id: Tenant["id"], sql: string): Promise<Tenant | null> =>
    database.transaction(async (session) => {
      await session.write(sql);
      const [row] = await session.select(tenants.selectTenantSql(id));
      return row === undefined ? null : readTenant(row);
    });
  return {
    createTenant: (id, name) =>
      database.transaction(async (session) => {
        const added = await session.write(tenants.insertTenantSql(id, name));
        if (added === 0) return null;
        const [row] = await session.select(tenants.selectTenantSql(id));
        assert(row !== undefined, "a tenant that was added is there");
        return readTenant(row);
      }),
    async listTenants(after, limit) {
      return (await database.select(tenants.listTenantsSql(after, limit))).map(readTenant);
    },
    async listWeights(limit) {
      const rows = await database.select(tenants.listWeightsSql(limit));
      return new Map(rows.map(([id, weight]) => [readTenantId(id), Number(weight)]));
    },
    setQuotas: (id, quotas) => update(id, tenants.updateQuotasSql(id, quotas)),
    setEndpointLimit: (id, limit) => update(id, tenants.updateEndpointLimitSql(id, limit)),
    setDefaultEndpointLimit: (limit) =>
      database.transaction(async (session) => {
        if (Object.values(limit).some((value) => value !== undefined))
          await session.write(defaults.putDefaultLimitSql(limit));
        const [row = []] = await session.select(defaults.selectDefaultLimitSql());
        return readLimit(row);
      }),
    setWeight: (id, weight) => update(id, tenants.updateWeightSql(id, weight)),
    setTenantStatus: (id, status) => update(id, tenants.updateTenantStatusSql(id, status)),
  };
}

function keyVerbs(database: Database): Pick<ControlStore, "createKey" | "listKeys" | "revokeKey"> {
  return {
    createKey: (keyHash, tenantId, scopes) =>
      database.transaction(async (session) => {
        // The lock makes the count hold until the new key is there.
        const owners = await session.select(tenants.selectTenantSql(tenantId, "update"));
        if (owners.length === 0) return { kind: "no-such-tenant" };
        const rows = await session.select(apiKeys.listLiveKeysSql(tenantId, scopes));
        if (rows.length >= LIVE_KEYS_MAX) return { kind: "too-many", live: rows.map(readApiKey) };
        const hash = Buffer.from(keyHash, "hex");
        await session.write(apiKeys.insertKeySql(hash, tenantId, scopes));
        const live = await session.select(apiKeys.listLiveKeysSql(tenantId, scopes));
        const row = live.find(([cell]) => hash.equals(cell as Buffer));
        assert(row !== undefined, "a key that was added is there");
        return { kind: "created", key: readApiKey(row) };
      }),
    async listKeys(tenantId) {
      const rows = await database.select(apiKeys.listKeysSql(tenantId, KEYS_LISTED_MAX));
      if (rows.length > 0) return rows.map(readApiKey);
      const owners = await database.select(tenants.selectTenantSql(tenantId));
      return owners.length === 0 ? null : [];
    },
    revokeKey: (id) =>
      database.transaction(async (session) => {
        // Two keys of one id never happen by chance; then it is unknown which one is meant.
        const found = await session.select(apiKeys.selectKeySql(id));
        assert(found.length <= 1, "an id names one key");
        const revoked = await session.write(apiKeys.revokeKeySql(id));
        const [row] = await session.select(apiKeys.selectKeySql(id));
        if (row === undefined) return { kind: "not-found" };
        return { kind: revoked === 1 ? "revoked" : "revoked-before", key: readApiKey(row) };
      }),
  };
}

function principalVerbs(
  database: Database,
): Pick<ControlStore, "mapPrincipal" | "unmapPrincipal" | "listPrincipals"> {
  return {
    mapPrincipal: (arn, tenantId, scopes) =>
      database.transaction(async (session) => {
        const owners = await session.select(tenants.selectTenantSql(tenantId, "update"));
        if (owners.length === 0) return { kind: "no-such-tenant" };
        await session.write(principals.upsertPrincipalSql(arn, tenantId, scopes));
        const [row] = await session.select(principals.selectPrincipalSql(arn));
        assert(row !== undefined, "a principal that was mapped is there");
        const principal = readMappedPrincipal(row);
        return principal.tenantId === tenantId
          ? { kind: "mapped", principal }
          : { kind: "taken", by: principal.tenantId };
      }),
    async unmapPrincipal(arn) {
      return (await database.write(principals.deletePrincipalSql(arn))) === 1;
    },
    async listPrincipals(after, limit) {
      const rows = await database.select(principals.listPrincipalsSql(after, limit));
      return rows.map(readMappedPrincipal);
    },
  };
}
