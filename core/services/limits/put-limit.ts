import { assert } from "#core/domain/assert.ts";
import type { LimitKey, LimitValues } from "#core/domain/call-limit.ts";
import { tenantOf } from "#core/domain/call-limit.ts";
import { LIMIT_WAITING_COUNTED_MAX } from "#core/domain/limits.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { LimitWithWaiting } from "./list-limits.ts";

/** Sets what the tenant wants of a limit, at least one of the two; the operator's caps stay. */
export async function putLimit(
  { shards }: { readonly shards: Shards },
  key: LimitKey,
  values: LimitValues,
): Promise<LimitWithWaiting> {
  assert(values.concurrency !== null || values.perSecond !== null, "a limit says something");
  const { limits } = shards.forTenant(tenantOf(key));
  const limit = await limits.put(key, values);
  assert(limit !== null, "a limit that says something is kept");
  const waiting = await limits.countWaiting([key], LIMIT_WAITING_COUNTED_MAX);
  return { limit, waiting: waiting.get(key) ?? 0 };
}
