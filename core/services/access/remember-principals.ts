/**
 * Remembers who callers are, so that a request costs no look into the control database. What is remembered is forgotten after
 * PRINCIPAL_KNOWN_MS, which bounds how long a revoked key still works.
 *
 * Keys are held by their hash, never the secret. Unknown callers are held apart, so that a flood of made-up keys pushes no known one out.
 */
import { forgetOldest } from "#core/domain/bounded-cache.ts";
import {
  PRINCIPAL_KNOWN_MS,
  PRINCIPAL_UNKNOWN_MS,
  PRINCIPALS_KNOWN_MAX,
  PRINCIPALS_UNKNOWN_MAX,
} from "#core/domain/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { KnownPrincipal, PrincipalStore } from "#core/ports/control-store.ts";

type Instants = { readonly wallMs: number; readonly monotonicMs: number };

/** `store`, asked only for what is not remembered. Its errors are passed on and not remembered. */
export function rememberPrincipals(
  store: PrincipalStore,
  clock: Pick<Clock, "nowMs" | "monotonicMs">,
): PrincipalStore {
  const known = new Memory<KnownPrincipal>(PRINCIPALS_KNOWN_MAX, PRINCIPAL_KNOWN_MS);
  const unknown = new Memory<true>(PRINCIPALS_UNKNOWN_MAX, PRINCIPAL_UNKNOWN_MS);

  async function find(
    caller: string,
    ask: () => Promise<KnownPrincipal | null>,
  ): Promise<KnownPrincipal | null> {
    // Before asking: what the store answers was true at some time after this.
    const now: Instants = { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
    const remembered = known.recall(caller, now);
    if (remembered !== null) return remembered;
    if (unknown.recall(caller, now) !== null) return null;
    const found = await ask();
    if (found === null) unknown.keep(caller, true, now);
    else known.keep(caller, found, now);
    return found;
  }

  return {
    findPrincipalByKeyHash: (keyHash) =>
      find(`key ${keyHash}`, () => store.findPrincipalByKeyHash(keyHash)),
    findPrincipalByArn: (arn) => find(`arn ${arn}`, () => store.findPrincipalByArn(arn)),
  };
}

/** At most `entriesMax`, each for `keptMs`; what was recalled longest ago goes first. */
class Memory<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly since: Instants }>();
  readonly #entriesMax: number;
  readonly #keptMs: number;

  constructor(entriesMax: number, keptMs: number) {
    this.#entriesMax = entriesMax;
    this.#keptMs = keptMs;
  }

  recall(key: string, now: Instants): V | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    // A frozen function's monotonic clock may stand still, and a wall clock may be set back: both have to agree.
    const ageMs = now.wallMs - entry.since.wallMs;
    const isFresh =
      ageMs >= 0 &&
      ageMs < this.#keptMs &&
      now.monotonicMs - entry.since.monotonicMs < this.#keptMs;
    if (!isFresh) return null;
    // A Map keeps the order of insertion: put back, it is the youngest.
    this.#entries.set(key, entry);
    return entry.value;
  }

  keep(key: string, value: V, since: Instants): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, since });
    forgetOldest(this.#entries, this.#entriesMax);
  }
}
