/**
 * A request that its caller may repeat: the first answer is kept in the transaction that made what was asked for, and given again
 * for the same key, as long as it is kept, whatever has become of the thing since. A request that made nothing keeps nothing.
 */
export interface Idempotency<Made> {
  /** Method and path of the route: keys of different routes are different keys. At most 100 ASCII characters. */
  readonly route: string;
  /** As the caller sent it; at most 255 characters. */
  readonly key: string;
  /** Of the request's body, 64 hex digits: its SHA-256, or its fingerprint where it has secrets. */
  readonly bodyHash: string;
  readonly expiresInMs: number;
  /** The answer to keep, given what was made. Pure, and may be called again after a deadlock. */
  answerOf(made: Made): string;
}

/** What becomes of a request whose key is known. */
export type Replay =
  | { readonly kind: "replayed"; readonly answer: string }
  /** The key came with another body before. */
  | { readonly kind: "key-reused" }
  /** The first request with this key has not ended within the lock wait. */
  | { readonly kind: "key-in-work" };
