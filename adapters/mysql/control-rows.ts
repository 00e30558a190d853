/** Rows of the control database as the ports' values. */
import { assert } from "#core/domain/assert.ts";
import { isSet, type LimitValues } from "#core/domain/call-limit.ts";
import { keyIdOfHash } from "#core/domain/key-id.ts";
import type { ChosenQuotas } from "#core/domain/quotas.ts";
import { effectiveQuotas } from "#core/domain/quotas.ts";
import type {
  ApiKey,
  KnownPrincipal,
  MappedPrincipal,
  Scope,
  Tenant,
  TenantStatus,
} from "#core/ports/control-store.ts";
import { readInstant, readInstantOrNull, readTenantId } from "./cells.ts";
import type { Cell, Row } from "./pool.ts";

/** Of findPrincipalByKeySql and findPrincipalByArnSql. */
export function readKnownPrincipal([tenantId, scopes, status, ...rest]: Row): KnownPrincipal {
  const [atOnce, perSecond, weight, ...quotas] = rest;
  return {
    tenantId: readTenantId(tenantId),
    scopes: scopes as Scope[],
    tenantStatus: readStatus(status),
    quotas: {
      ...effectiveQuotas(readQuotas(quotas)),
      ...readEndpointLimit(atOnce, perSecond),
      ...readWeight(weight),
    },
  };
}

export function readTenant([id, name, createdAt, status, ...rest]: Row): Tenant {
  const [atOnce, perSecond, weight, ...quotas] = rest;
  return {
    id: readTenantId(id),
    name: String(name),
    status: readStatus(status),
    quotas: readQuotas(quotas),
    ...readEndpointLimit(atOnce, perSecond),
    ...readWeight(weight),
    createdAtMs: readInstant(createdAt),
  };
}

export function readApiKey([hash, tenantId, scopes, createdAt, revokedAt]: Row): ApiKey {
  return {
    id: keyIdOfHash((hash as Buffer).toString("hex")),
    tenantId: readTenantId(tenantId),
    scopes: scopes as Scope[],
    createdAtMs: readInstant(createdAt),
    revokedAtMs: readInstantOrNull(revokedAt),
  };
}

export function readMappedPrincipal([arn, tenantId, scopes, createdAt]: Row): MappedPrincipal {
  return {
    arn: String(arn),
    tenantId: readTenantId(tenantId),
    scopes: scopes as Scope[],
    createdAtMs: readInstant(createdAt),
  };
}

/** Another word than the two was written by nobody of ours: the caller is not served. */
function readStatus(cell: Cell | undefined): TenantStatus {
  assert(cell === "active" || cell === "disabled", "a tenant's status is active or disabled");
  return cell;
}

function readQuotas([tasksMax, bodyBytesMax, minIntervalSeconds]: readonly Cell[]): ChosenQuotas {
  return {
    tasksMax: readNumber(tasksMax),
    bodyBytesMax: readNumber(bodyBytesMax),
    minIntervalSeconds: readNumber(minIntervalSeconds),
  };
}

function readEndpointLimit(
  atOnce: Cell | undefined,
  perSecond: Cell | undefined,
): Pick<Tenant, "endpointLimit"> {
  const endpointLimit = readLimit([atOnce, perSecond]);
  return isSet(endpointLimit) ? { endpointLimit } : {};
}

/** Of selectDefaultLimitSql; no row: nothing is set. */
export function readLimit([atOnce = null, perSecond = null]: readonly (
  | Cell
  | undefined
)[]): LimitValues {
  return { concurrency: readNumber(atOnce), perSecond: readNumber(perSecond) };
}

function readWeight(cell: Cell | undefined): Pick<Tenant, "weight"> {
  const weight = readNumber(cell);
  return weight === null ? {} : { weight };
}

function readNumber(cell: Cell | undefined): number | null {
  return cell === null ? null : Number(cell);
}
