/**
 * TLS sessions by tenant and origin, as connections are, so that a new connection need not begin with a whole handshake. The newest
 * of each; a server that does not know it any more, or does not want it, goes on with a whole handshake.
 *
 * Where one is taken up, neither OpenSSL nor Node looks at a certificate. So it is worth what the whole handshake behind it has
 * proved, and no more: to this caller, whose authorities do not change, of that host, and for an hour, however many tickets its server
 * has given since.
 */
import type { Clock } from "#core/ports/clock.ts";

const AGE_MS_MAX = 3_600_000;

export interface TlsSession {
  /** With its keys. */
  readonly bytes: Buffer;
  /** When the certificate was looked at, on the monotonic clock. */
  readonly verifiedMs: number;
}

export class TlsSessions {
  /** Least recently used key first. */
  readonly #kept = new Map<string, TlsSession>();
  readonly #max: number;
  readonly #clock: Clock;

  constructor(max: number, clock: Clock) {
    this.#max = max;
    this.#clock = clock;
  }

  get size(): number {
    return this.#kept.size;
  }

  find(key: string): TlsSession | null {
    const session = this.#kept.get(key);
    this.#kept.delete(key);
    if (session === undefined || this.#isOld(session)) return null;
    this.#kept.set(key, session);
    return session;
  }

  keep(key: string, bytes: Buffer, verifiedMs: number): void {
    // In memory of its own: as it comes it is a part of 64 KiB, all of which would stay with it.
    const own = Buffer.allocUnsafeSlow(bytes.length);
    bytes.copy(own);
    this.#kept.delete(key);
    this.#kept.set(key, { bytes: own, verifiedMs });
    for (const [first, session] of this.#kept) {
      if (this.#kept.size <= this.#max && !this.#isOld(session)) break;
      this.#kept.delete(first);
    }
  }

  forget(key: string): void {
    this.#kept.delete(key);
  }

  #isOld({ verifiedMs }: TlsSession): boolean {
    return this.#clock.monotonicMs() - verifiedMs >= AGE_MS_MAX;
  }
}
