/** A tenant's call limits: listed, set, taken away. */
import { endpointKey, endpointOf, type LimitKey, tenantKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { OverQuota } from "#core/ports/task-store.ts";
import { type LimitWithWaiting, listLimits } from "#core/services/limits/list-limits.ts";
import { putLimit } from "#core/services/limits/put-limit.ts";
import { removeLimit } from "#core/services/limits/remove-limit.ts";
import type { ApiAnswer, ApiRequest } from "../_shared/api-event.ts";
import { readCursor, writeCursor } from "../_shared/cursor.ts";
import { noQuery } from "../_shared/field-types.ts";
import { deleteLimitQuery, limitSchema, listLimitsQuery } from "../_shared/limit-schema.ts";
import { writePage } from "../_shared/page.ts";
import { isoInstant } from "../_shared/present-request.ts";
import { fieldsProblem, HttpProblem } from "../_shared/problem.ts";
import { queryOf } from "../_shared/read-request.ts";
import { validate } from "../_shared/validate.ts";
import { QUOTA_RETRY_AFTER } from "./present-task.ts";

interface LimitDeps {
  readonly shards: Shards;
}

export async function listLimitsOperation(
  deps: LimitDeps,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const { limit, cursor } = validate(listLimitsQuery, queryOf(request));
  const { tenantId } = request.principal;
  const scope = { tenantId, list: "limits", filter: {} };
  const after = readCursor<LimitKey>(scope, cursor, (text) => readPlace(tenantId, text));
  const page = await listLimits(deps, tenantId, after, limit);
  const text = writePage(page, present, ({ limit: { key } }) => writeCursor(scope, key));
  return { status: 200, body: { text } };
}

export async function putLimitOperation(deps: LimitDeps, request: ApiRequest): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const { endpoint, ...values } = validate(limitSchema, request.json);
  const key = keyOf(request.principal.tenantId, endpoint);
  const put = await putLimit(deps, key, values);
  if (put.kind === "quota") throw tooManyLimits(put);
  return { status: 200, body: { json: present(put) } };
}

export async function deleteLimitOperation(
  deps: LimitDeps,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const { endpoint = null } = validate(deleteLimitQuery, queryOf(request));
  const removed = await removeLimit(deps, keyOf(request.principal.tenantId, endpoint));
  if (!removed) throw new HttpProblem(404, "there is no such limit");
  return { status: 204, body: null };
}

function tooManyLimits({ used, limit }: OverQuota): HttpProblem {
  const detail = `the tenant has set ${used} limits, of at most ${limit}: take one away`;
  return new HttpProblem(429, detail, { headers: QUOTA_RETRY_AFTER });
}

function keyOf(tenantId: TenantId, endpoint: string | null): LimitKey {
  if (endpoint === null) return tenantKey(tenantId);
  const key = endpointKey(tenantId, endpoint);
  if (key !== null) return key;
  throw fieldsProblem([{ field: "endpoint", message: "has no host name, or one too long" }]);
}

/** A place in the list, as a cursor has it: null where it is no key of the tenant's. */
function readPlace(tenantId: TenantId, text: string): LimitKey | null {
  const own = tenantKey(tenantId);
  if (text === own) return own;
  const key = endpointKey(tenantId, text.slice(own.length + 1));
  return key === text ? key : null;
}

function present({ limit, waiting }: LimitWithWaiting): unknown {
  const { key, concurrency, perSecond, maxConcurrency, maxPerSecond, updatedAtMs } = limit;
  return {
    endpoint: endpointOf(key),
    ...{ concurrency, perSecond, maxConcurrency, maxPerSecond, waiting },
    updatedAt: isoInstant(updatedAtMs),
  };
}
