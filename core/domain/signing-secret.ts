/** What a tenant's calls are signed with, as Standard Webhooks writes it: `whsec_` and a key in base64. */
import { assert } from "./assert.ts";
import type { TenantId } from "./ids.ts";
import { SIGNING_SECRET_BYTES } from "./limits.ts";
import { Secret } from "./secret.ts";

export const SIGNING_ID_BYTES = 8;
const PREFIX = "whsec_";

export interface NewSigningSecret {
  /** 16 hex digits. */
  readonly id: string;
  readonly secret: Secret;
}

/** From random bytes: SIGNING_SECRET_BYTES of the key, SIGNING_ID_BYTES of the id. */
export function newSigningSecret(key: Uint8Array, id: Uint8Array): NewSigningSecret {
  assert(key.length === SIGNING_SECRET_BYTES, "a signing key has its length");
  assert(id.length === SIGNING_ID_BYTES, "the id of a signing secret has its length");
  return {
    id: Array.from(id, (byte) => byte.toString(16).padStart(2, "0")).join(""),
    secret: new Secret(PREFIX + btoa(String.fromCharCode(...key))),
  };
}

/** What the secret of this id is sealed for. */
export function signingPlace(tenantId: TenantId, id: string) {
  return { tenantId, owner: "tenant", field: `signing:${id}` } as const;
}
