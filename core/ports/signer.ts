import type { Secret } from "#core/domain/secret.ts";

export interface Signer {
  /**
   * HMAC-SHA256 in base64 over `head` and the body's bytes (text as UTF-8, null as nothing), under a secret as tenants get it:
   * `whsec_` and the key in base64.
   */
  sign(secret: Secret, head: string, body: Uint8Array | string | null): string;
}
