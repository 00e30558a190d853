/**
 * Gets ready what calls need before their second, so that at it they leave at the machine's speed: whoever holds jobs that are still
 * early has their tenants' signing keys open, their names resolved and a connection opened to each of the first origins.
 */
import type { Caller } from "#core/ports/caller.ts";
import type { SigningKeys } from "../call/signing-keys.ts";
import type { DatabaseClock } from "../database-clock.ts";
import { type Claimed, connectionOf } from "../hold/held-job.ts";

/** Later than this, the call itself is as soon. */
const EARLY_MS = 50;

export class CallPreparation {
  readonly #caller: Pick<Caller, "prepare">;
  readonly #keys: Pick<SigningKeys, "prepare">;
  readonly #database: DatabaseClock;
  readonly #connectionsMax: number;

  constructor(
    caller: Pick<Caller, "prepare">,
    keys: Pick<SigningKeys, "prepare">,
    database: DatabaseClock,
    connectionsMax: number,
  ) {
    this.#caller = caller;
    this.#keys = keys;
    this.#database = database;
    this.#connectionsMax = connectionsMax;
  }

  /** For the early ones of a claim: all keys, and as many connections as are used at once. */
  prepare(claimed: readonly Claimed[]): void {
    const fromMs = this.#database.nowMs() + EARLY_MS;
    const early = claimed.filter(({ job }) => job.runAtMs >= fromMs);
    for (const tenantId of new Set(early.map(({ job }) => job.tenantId)))
      void this.#keys.prepare(tenantId);
    const seen = new Set<string>();
    for (const { job, version } of early) {
      const { url } = version.request;
      const connection = connectionOf(job, url);
      if (seen.has(connection)) continue;
      if (seen.size >= this.#connectionsMax) return;
      seen.add(connection);
      this.#caller.prepare?.(job.tenantId, url);
    }
  }
}
