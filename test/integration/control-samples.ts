/** The statements on the control database, with values that a busy cell would send. */
import * as apiKeys from "#adapters/mysql/statements/api-keys.ts";
import * as defaults from "#adapters/mysql/statements/default-limits.ts";
import {
  findPrincipalByArnSql,
  findPrincipalByKeySql,
} from "#adapters/mysql/statements/find-principal.ts";
import * as principals from "#adapters/mysql/statements/principals.ts";
import * as tenants from "#adapters/mysql/statements/tenants.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { keyIdOfHash } from "#core/domain/key-id.ts";
import type { Sample } from "./statement-samples.ts";

const TENANT = "tenant-7" as TenantId;

/** Statements on the control database. */
export function controlSamples(): Sample[] {
  const keyHash = new Uint8Array(32);
  const keyId = keyIdOfHash("00".repeat(32));
  const scopes = ["read", "write"] as const;
  const arn = "arn:aws:iam::123456789012:role/Caller";
  const statements = {
    findPrincipalByKeySql: findPrincipalByKeySql(keyHash),
    findPrincipalByArnSql: findPrincipalByArnSql(arn),
    insertTenantSql: tenants.insertTenantSql(TENANT, "name"),
    selectTenantSql: tenants.selectTenantSql(TENANT, "update"),
    listTenantsSql: tenants.listTenantsSql(TENANT, 100),
    updateQuotasSql: tenants.updateQuotasSql(TENANT, { tasksMax: 7, bodyBytesMax: null }),
    updateEndpointLimitSql: tenants.updateEndpointLimitSql(TENANT, {
      concurrency: 5,
      perSecond: 0.5,
    }),
    putDefaultLimitSql: defaults.putDefaultLimitSql({ concurrency: 5, perSecond: null }),
    selectDefaultLimitSql: defaults.selectDefaultLimitSql(),
    updateWeightSql: tenants.updateWeightSql(TENANT, 2.5),
    listWeightsSql: tenants.listWeightsSql(1_000),
    updateTenantStatusSql: tenants.updateTenantStatusSql(TENANT, "disabled"),
    insertKeySql: apiKeys.insertKeySql(keyHash, TENANT, scopes),
    listLiveKeysSql: apiKeys.listLiveKeysSql(TENANT, scopes),
    listKeysSql: apiKeys.listKeysSql(TENANT, 100),
    selectKeySql: apiKeys.selectKeySql(keyId),
    revokeKeySql: apiKeys.revokeKeySql(keyId),
    upsertPrincipalSql: principals.upsertPrincipalSql(arn, TENANT, scopes),
    selectPrincipalSql: principals.selectPrincipalSql(arn),
    listPrincipalsSql: principals.listPrincipalsSql(arn, 100),
    deletePrincipalSql: principals.deletePrincipalSql(arn),
  };
  return Object.entries(statements).map(([name, sql]) => ({ name, sql }));
}
