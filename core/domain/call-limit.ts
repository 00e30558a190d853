/**
 * Limits of calls: how many at once, and how many a second, to one endpoint of a tenant or of all its calls. A job that is
 * limited stands in one line, under its limit key: see docs/decisions/0010-call-limits.md.
 */
import type { TenantId } from "./ids.ts";
import { originOf } from "./origin.ts";

declare const brand: unique symbol;
/** A tenant's id (all of its calls), or that, `|` and an endpoint: `acme|https://api.example.com:443`. ASCII. */
export type LimitKey = string & { readonly [brand]: "LimitKey" };

export const LIMIT_KEY_LENGTH_MAX = 300;

/** What was set for a key: by the tenant, and by the operator as caps. Null: nothing. */
export interface CallLimit {
  readonly key: LimitKey;
  /** Calls under way at once. */
  readonly concurrency: number | null;
  /** Calls that start in a second. */
  readonly perSecond: number | null;
  readonly maxConcurrency: number | null;
  readonly maxPerSecond: number | null;
  readonly updatedAtMs: number;
}

/** What holds of a limit: the smaller of what the tenant and what the operator has set. Null: any number. */
export interface LimitValues {
  readonly concurrency: number | null;
  readonly perSecond: number | null;
}

/** The key of all calls of a tenant. */
export function tenantKey(tenantId: TenantId): LimitKey {
  return tenantId as string as LimitKey;
}

/** The key of a tenant's calls to the origin of `url`; null where it has none, or one longer than keys are. */
export function endpointKey(tenantId: TenantId, url: string): LimitKey | null {
  const origin = originOf(url);
  const key = `${tenantId}|${origin}`;
  return origin === null || key.length > LIMIT_KEY_LENGTH_MAX ? null : (key as LimitKey);
}

/** Whose key it is. */
export function tenantOf(key: LimitKey): TenantId {
  const end = key.indexOf("|");
  return (end < 0 ? key : key.slice(0, end)) as string as TenantId;
}

/** The key of all calls of the same tenant: itself where it is that. */
export function tenantKeyOf(key: LimitKey): LimitKey {
  return tenantKey(tenantOf(key));
}

/** The endpoint of a key as a URL is written, without a port that goes without saying; null where it is a tenant's. */
export function endpointOf(key: LimitKey): string | null {
  const end = key.indexOf("|");
  return end < 0 ? null : new URL(key.slice(end + 1)).origin;
}

export function effectiveLimit(
  limit: Pick<CallLimit, "concurrency" | "perSecond" | "maxConcurrency" | "maxPerSecond">,
): LimitValues {
  return {
    concurrency: smaller(limit.concurrency, limit.maxConcurrency),
    perSecond: smaller(limit.perSecond, limit.maxPerSecond),
  };
}

/** What holds of an operator's limit, number by number: its own, else the default. */
export function orDefault(own: LimitValues | undefined, byDefault: LimitValues): LimitValues {
  return {
    concurrency: own?.concurrency ?? byDefault.concurrency,
    perSecond: own?.perSecond ?? byDefault.perSecond,
  };
}

/** Whether anything of it is set. */
export function isSet({ concurrency, perSecond }: LimitValues): boolean {
  return concurrency !== null || perSecond !== null;
}

function smaller(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

/**
 * Slots that a worker may hold of a limit, of which `others` are in other workers' hands; so many as it asks for where calls at
 * once are not limited. Never negative: a limit that was lowered may be exceeded by what others still hold.
 */
export function slotsWithin(limit: LimitValues, others: number, slotsMax: number): number {
  if (limit.concurrency === null) return slotsMax;
  return Math.max(0, Math.min(slotsMax, limit.concurrency - others));
}
