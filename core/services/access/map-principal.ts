import type { TenantId } from "#core/domain/ids.ts";
import type { ControlStore, Mapped, Scope } from "#core/ports/control-store.ts";
import { normalizePrincipalArn } from "./principal-arn.ts";

/** Lets an IAM principal act for the tenant; its scopes are replaced when it does already. `arn` is untrusted. */
export async function mapPrincipal(
  { control }: { readonly control: ControlStore },
  arn: string,
  tenantId: TenantId,
  scopes: readonly Scope[],
): Promise<Mapped | { readonly kind: "not-an-arn" }> {
  const normal = normalizePrincipalArn(arn);
  if (normal === null) return { kind: "not-an-arn" };
  return await control.mapPrincipal(normal, tenantId, scopes);
}
