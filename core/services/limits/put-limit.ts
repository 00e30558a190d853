import { assert } from "#core/domain/assert.ts";
import type { LimitKey, LimitValues } from "#core/domain/call-limit.ts";
import { isSet, tenantOf } from "#core/domain/call-limit.ts";
import { LIMIT_WAITING_COUNTED_MAX, LIMITS_SET_MAX } from "#core/domain/limits.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { OverQuota } from "#core/ports/task-store.ts";
import type { LimitWithWaiting } from "./list-limits.ts";

/**
 * Sets what the tenant wants of a limit, at least one of the two; the operator's caps stay. Of one more than LIMITS_SET_MAX nothing is
 * set; those that are set at the same time do not count each other.
 */
export async function putLimit(
  { shards }: { readonly shards: Shards },
  key: LimitKey,
  values: LimitValues,
): Promise<({ readonly kind: "put" } & LimitWithWaiting) | OverQuota> {
  assert(isSet(values), "a limit says something");
  const tenantId = tenantOf(key);
  const { limits } = shards.forTenant(tenantId);
  const known = await limits.find(key);
  if (known === null || !isSet(known)) {
    const used = await limits.countSet(tenantId, LIMITS_SET_MAX);
    if (used >= LIMITS_SET_MAX) return { kind: "quota", limit: LIMITS_SET_MAX, used };
  }
  const limit = await limits.put(key, values);
  assert(limit !== null, "a limit that says something is kept");
  const waiting = await limits.countWaiting([key], LIMIT_WAITING_COUNTED_MAX);
  return { kind: "put", limit, waiting: waiting.get(key) ?? 0 };
}
