import type { CallLimit, LimitKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { LIMIT_WAITING_COUNTED_MAX } from "#core/domain/limits.ts";
import type { Shards } from "#core/ports/shards.ts";

export interface LimitWithWaiting {
  readonly limit: CallLimit;
  /** Jobs that are due and wait in its line, counted up to LIMIT_WAITING_COUNTED_MAX. */
  readonly waiting: number;
}

/** A tenant's limits, its own first, then by endpoint: those after `after`, at most `max`, and whether there are more. */
export async function listLimits(
  { shards }: { readonly shards: Shards },
  tenantId: TenantId,
  after: LimitKey | null,
  max: number,
): Promise<{ readonly items: readonly LimitWithWaiting[]; readonly more: boolean }> {
  const { limits } = shards.forTenant(tenantId);
  const found = await limits.list(tenantId, after, max + 1);
  const page = found.slice(0, max);
  const keys = page.map(({ key }) => key);
  const waiting = await limits.countWaiting(keys, LIMIT_WAITING_COUNTED_MAX);
  const items = page.map((limit) => ({ limit, waiting: waiting.get(limit.key) ?? 0 }));
  return { items, more: found.length > max };
}
