export interface Digest {
  /** SHA-256 of bytes, those of a text in UTF-8, as 64 lower-case hex digits. */
  sha256Hex(data: string | Uint8Array): string;
}
