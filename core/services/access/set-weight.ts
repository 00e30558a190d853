import type { TenantId } from "#core/domain/ids.ts";
import { isTenantWeight } from "#core/domain/tenant-weight.ts";
import type { ControlStore, Tenant } from "#core/ports/control-store.ts";

export type WeightSet =
  | { readonly kind: "set"; readonly tenant: Tenant }
  | { readonly kind: "no-such-tenant" | "out-of-bounds" };

/** Sets how much of a share a tenant's jobs have beside others', null back to the default. */
export async function setWeight(
  { control }: { readonly control: ControlStore },
  tenantId: TenantId,
  weight: number | null,
): Promise<WeightSet> {
  if (weight !== null && !isTenantWeight(weight)) return { kind: "out-of-bounds" };
  const tenant = await control.setWeight(tenantId, weight);
  return tenant === null ? { kind: "no-such-tenant" } : { kind: "set", tenant };
}
