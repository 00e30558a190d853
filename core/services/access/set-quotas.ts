import type { TenantId } from "#core/domain/ids.ts";
import type { ChosenQuotas, Quotas } from "#core/domain/quotas.ts";
import { QUOTA_BOUNDS } from "#core/domain/quotas.ts";
import type { ControlStore, Tenant } from "#core/ports/control-store.ts";

export type QuotasSet =
  | { readonly kind: "set"; readonly tenant: Tenant }
  | { readonly kind: "no-such-tenant" }
  | {
      readonly kind: "out-of-bounds";
      readonly quota: keyof Quotas;
      readonly bounds: readonly [min: number, max: number];
    };

/** Sets the quotas that are given, null back to the default; the others stay. Nothing is set when one is out of its bounds. */
export async function setQuotas(
  { control }: { readonly control: ControlStore },
  tenantId: TenantId,
  quotas: Partial<ChosenQuotas>,
): Promise<QuotasSet> {
  for (const quota of Object.keys(QUOTA_BOUNDS) as (keyof Quotas)[]) {
    const value = quotas[quota] ?? null;
    const bounds = QUOTA_BOUNDS[quota];
    const inBounds = value === null || (value >= bounds[0] && value <= bounds[1]);
    if (!inBounds || (value !== null && !Number.isInteger(value))) {
      return { kind: "out-of-bounds", quota, bounds };
    }
  }
  const tenant = await control.setQuotas(tenantId, quotas);
  return tenant === null ? { kind: "no-such-tenant" } : { kind: "set", tenant };
}
