/** Crockford base32, lower case, no padding: zero bits in front, so that text sorts like the bytes. */
import { assert } from "./assert.ts";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const VALUES = new Int8Array(128).fill(-1);
for (let i = 0; i < ALPHABET.length; i++) VALUES[ALPHABET.charCodeAt(i)] = i;

/** Encodes `bytes` as `ceil(8 * length / 5)` characters. */
export function encodeBase32(bytes: Uint8Array): string {
  const length = Math.ceil((bytes.length * 8) / 5);
  let text = "";
  let bits = length * 5 - bytes.length * 8;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(value >>> bits) & 31];
    }
  }
  assert(text.length === length && bits === 0, "base32 wrote every bit");
  return text;
}

/** Decodes what `encodeBase32` wrote for `byteLength` bytes; null for any other text. */
export function decodeBase32(text: string, byteLength: number): Uint8Array | null {
  const length = Math.ceil((byteLength * 8) / 5);
  if (text.length !== length) return null;
  const bytes = new Uint8Array(byteLength);
  let skip = length * 5 - byteLength * 8;
  let value = 0;
  let bits = 0;
  let at = 0;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    const digit = code < 128 ? (VALUES[code] ?? -1) : -1;
    if (digit < 0) return null;
    let fresh = 5;
    if (skip > 0) {
      if (digit >>> (5 - skip) !== 0) return null;
      fresh = 5 - skip;
      skip = 0;
    }
    value = ((value << fresh) | digit) & 0xffff;
    bits += fresh;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (value >>> bits) & 255;
    }
  }
  return bytes;
}
