/**
 * The form of a sealed text: AES-256-GCM under a data key, with what it is bound to as additional data.
 *
 *   1 byte   form, 1
 *   16 bytes id of the data key
 *   12 bytes initialisation vector, random: a data key seals far fewer than 2^32 texts
 *   …        ciphertext
 *   16 bytes tag
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { SecretPlace } from "#core/ports/secrets.ts";

const FORM = 1;
const ID_BYTES = 16;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + ID_BYTES + IV_BYTES;
const CIPHER = "aes-256-gcm";

/** `keyId` is 32 hex digits. */
export function sealText(
  key: Uint8Array,
  keyId: string,
  place: SecretPlace,
  text: string,
): Uint8Array {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundTo(place));
  const sealed = [cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([Buffer.of(FORM), Buffer.from(keyId, "hex"), iv, ...sealed]);
}

/** Which data key it was sealed with; null when it is no sealed text. */
export function keyIdOf(sealed: Uint8Array): string | null {
  if (sealed.length < HEAD_BYTES + TAG_BYTES || sealed[0] !== FORM) return null;
  return Buffer.from(sealed.subarray(1, 1 + ID_BYTES)).toString("hex");
}

/** Null when it was not sealed with this key for this place, as it is. */
export function openText(key: Uint8Array, place: SecretPlace, sealed: Uint8Array): string | null {
  const iv = sealed.subarray(1 + ID_BYTES, HEAD_BYTES);
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(place));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  try {
    const text = decipher.update(sealed.subarray(HEAD_BYTES, sealed.length - TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString("utf8");
  } catch {
    // The tag does not fit; there is no other reason, and none is told.
    return null;
  }
}

/** As JSON: no two places write the same. */
function boundTo({ tenantId, owner, field }: SecretPlace): Buffer {
  return Buffer.from(JSON.stringify(["at-and-cron/secret", FORM, tenantId, owner, field]));
}
