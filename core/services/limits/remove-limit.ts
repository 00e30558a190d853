import type { LimitKey } from "#core/domain/call-limit.ts";
import { isSet, tenantOf } from "#core/domain/call-limit.ts";
import type { Shards } from "#core/ports/shards.ts";

/** Takes away what the tenant has set; the operator's caps stay. False when it has set nothing. */
export async function removeLimit(
  { shards }: { readonly shards: Shards },
  key: LimitKey,
): Promise<boolean> {
  const { limits } = shards.forTenant(tenantOf(key));
  const limit = await limits.find(key);
  if (limit === null || !isSet(limit)) return false;
  await limits.put(key, { concurrency: null, perSecond: null });
  return true;
}
