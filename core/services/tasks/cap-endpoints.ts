import { endpointKey, type LimitKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { Allowance } from "#core/domain/quotas.ts";
import type { Shards } from "#core/ports/shards.ts";

/**
 * Before tasks of a tenant with caps for each endpoint are written: those of these URLs get them, so that the tasks' jobs are limited from
 * the first. An endpoint that has caps keeps them. Without caps nothing is asked of the store.
 */
export async function capEndpoints(
  { shards }: { readonly shards: Shards },
  tenantId: TenantId,
  urls: readonly string[],
  allowance: Allowance | null,
): Promise<void> {
  const caps = allowance?.endpointLimit;
  if (caps === undefined) return;
  const { limits } = shards.forTenant(tenantId);
  const keys = new Set(urls.map((url) => endpointKey(tenantId, url)));
  for (const key of keys) if (key !== null) await capOne(key);

  async function capOne(key: LimitKey): Promise<void> {
    const known = await limits.find(key);
    if (known !== null && (known.maxConcurrency !== null || known.maxPerSecond !== null)) return;
    const { concurrency: maxConcurrency, perSecond: maxPerSecond } = caps ?? {};
    await limits.put(key, {
      maxConcurrency: maxConcurrency ?? null,
      maxPerSecond: maxPerSecond ?? null,
    });
  }
}
