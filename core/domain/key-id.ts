/** Which API key is meant, without its secret: `key_` and the first 16 hex digits of the secret's hash. */
import { assert } from "./assert.ts";

declare const brand: unique symbol;
export type KeyId = string & { readonly [brand]: "KeyId" };

const PREFIX = "key_";

/** `keyHash`: SHA-256 in hex. Eight of its bytes tell nothing about 32 random ones, and never meet by chance. */
export function keyIdOfHash(keyHash: string): KeyId {
  assert(/^[0-9a-f]{64}$/.test(keyHash), "a key's hash is 64 hex digits");
  return `${PREFIX}${keyHash.slice(0, 16)}` as KeyId;
}

/** Reads untrusted text; null when it is no key's id. */
export function parseKeyId(text: string): KeyId | null {
  return /^key_[0-9a-f]{16}$/.test(text) ? (text as KeyId) : null;
}

/** What the hash of this key begins with, in hex. */
export function hashPrefixOf(id: KeyId): string {
  return id.slice(PREFIX.length);
}
