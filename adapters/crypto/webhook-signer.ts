import { createHmac } from "node:crypto";
import type { Secret } from "#core/domain/secret.ts";
import type { Signer } from "#core/ports/signer.ts";

const PREFIX = "whsec_";

/** Signs as Standard Webhooks says. The bytes of a key are kept for as long as its secret is. */
export function openSigner(): Signer {
  const keys = new WeakMap<Secret, Uint8Array>();
  return {
    sign(secret, head, body) {
      let key = keys.get(secret);
      if (key === undefined) {
        key = Buffer.from(secret.reveal().slice(PREFIX.length), "base64");
        keys.set(secret, key);
      }
      const hmac = createHmac("sha256", key).update(head, "utf8");
      if (typeof body === "string") hmac.update(body, "utf8");
      else if (body !== null) hmac.update(body);
      return hmac.digest("base64");
    },
  };
}
