export interface Digest {
  /** SHA-256 of the text's UTF-8 bytes, as 64 lower-case hex digits. */
  sha256Hex(text: string): string;
}
