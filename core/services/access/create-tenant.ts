import { parseTenantId } from "#core/domain/ids.ts";
import { NAME_LENGTH_MAX } from "#core/domain/limits.ts";
import type { ControlStore, Tenant } from "#core/ports/control-store.ts";

export type TenantCreated =
  | { readonly kind: "created"; readonly tenant: Tenant }
  | { readonly kind: "exists" }
  | { readonly kind: "invalid"; readonly message: string };

/** Makes an active tenant with the default quotas. `id` and `name` are untrusted; without a name it is called by its id. */
export async function createTenant(
  { control }: { readonly control: ControlStore },
  id: string,
  name: string = id,
): Promise<TenantCreated> {
  const tenantId = parseTenantId(id);
  if (tenantId === null) {
    const message =
      "a tenant's id has 1 to 64 of a-z, 0-9, - and _, and begins with a letter or a digit";
    return { kind: "invalid", message };
  }
  const isLine = name.trim() === name && name !== "" && !/\p{Cc}/u.test(name);
  if (!isLine || name.length > NAME_LENGTH_MAX || !name.isWellFormed()) {
    const message = `a tenant's name is one line of 1 to ${NAME_LENGTH_MAX} characters without blanks around it`;
    return { kind: "invalid", message };
  }
  const tenant = await control.createTenant(tenantId, name);
  return tenant === null ? { kind: "exists" } : { kind: "created", tenant };
}
