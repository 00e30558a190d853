/**
 * Gets ready what calls need of the network before their second, so that at it they leave at the machine's speed: whoever holds
 * jobs that are still early has their names resolved and a connection opened to each of the first origins.
 */
import type { Caller } from "#core/ports/caller.ts";
import type { DatabaseClock } from "./database-clock.ts";
import { type Claimed, connectionOf } from "./held-jobs.ts";

/** Later than this, the call itself is as soon. */
const EARLY_MS = 50;

export class CallPreparation {
  readonly #caller: Pick<Caller, "prepare">;
  readonly #database: DatabaseClock;
  readonly #connectionsMax: number;

  constructor(caller: Pick<Caller, "prepare">, database: DatabaseClock, connectionsMax: number) {
    this.#caller = caller;
    this.#database = database;
    this.#connectionsMax = connectionsMax;
  }

  /** For the early ones of a claim, as many connections as are used at once. */
  prepare(claimed: readonly Claimed[]): void {
    const fromMs = this.#database.nowMs() + EARLY_MS;
    const seen = new Set<string>();
    for (const { job, version } of claimed) {
      if (job.runAtMs < fromMs) continue;
      const { url } = version.request;
      const connection = connectionOf(job, url);
      if (seen.has(connection)) continue;
      if (seen.size >= this.#connectionsMax) return;
      seen.add(connection);
      this.#caller.prepare?.(job.tenantId, url);
    }
  }
}
