import { encodeBase32 } from "#core/domain/base32.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { API_KEY_BYTES } from "#core/domain/limits.ts";
import { Secret } from "#core/domain/secret.ts";
import type { ApiKey, ControlStore, CreatedKey, Scope } from "#core/ports/control-store.ts";
import type { Digest } from "#core/ports/digest.ts";
import type { Random } from "#core/ports/random.ts";

/** What a key begins with, so that whoever finds one (a person, a scanner of repositories) knows what it is. */
const KEY_PREFIX = "atcron_";

export type KeyCreated =
  | { readonly kind: "created"; readonly key: ApiKey; readonly secret: Secret }
  | Exclude<CreatedKey, { kind: "created" }>;

/** Makes a key of 256 random bits. Only its hash is stored: the secret in the answer is all there ever is of it. */
export async function createKey(
  {
    control,
    random,
    digest,
  }: {
    readonly control: ControlStore;
    readonly random: Random;
    readonly digest: Digest;
  },
  tenantId: TenantId,
  scopes: readonly Scope[],
): Promise<KeyCreated> {
  const text = KEY_PREFIX + encodeBase32(random.bytes(API_KEY_BYTES));
  const created = await control.createKey(digest.sha256Hex(text), tenantId, scopes);
  return created.kind === "created" ? { ...created, secret: new Secret(text) } : created;
}
