/**
 * Warm connections by tenant and origin: a tenant's request never travels on another tenant's connection. Only idle ones are
 * in here, so that memory does not grow with the number of origins; beyond IDLE_MAX the origin that was used longest ago
 * loses its oldest.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { Connection } from "./connection.ts";

const SWEEP_MS = 1_000;

export class IdleConnections {
  /** Least recently used key first; every list has an entry. */
  readonly #byKey = new Map<string, Connection[]>();
  readonly #max: number;
  readonly #clock: Clock;
  #size = 0;
  #closed = false;
  #cancelSweep: (() => void) | null = null;

  constructor(max: number, clock: Clock) {
    this.#max = max;
    this.#clock = clock;
  }

  get size(): number {
    return this.#size;
  }

  /** The connection that was used last, as the most likely to be alive; null when there is none. */
  take(key: string): Connection | null {
    const list = this.#byKey.get(key);
    for (let next = list?.pop(); next !== undefined; next = list?.pop()) {
      this.#size--;
      if (list?.length === 0) this.#byKey.delete(key);
      if (next.isReady()) return next;
      next.destroy();
    }
    return null;
  }

  /** Keeps a connection whose answer has been read; one that has ended, or is one too many, is destroyed. */
  put(connection: Connection): void {
    if (this.#closed || !connection.isReady()) {
      connection.destroy();
      return;
    }
    const { key } = connection;
    const list = this.#byKey.get(key) ?? [];
    list.push(connection);
    this.#size++;
    this.#byKey.delete(key);
    this.#byKey.set(key, list);
    connection.onGone = this.#remove;
    while (this.#size > this.#max) this.#evict();
    this.#cancelSweep ??= this.#clock.setTimer(SWEEP_MS, () => this.#sweep());
  }

  close(): void {
    this.#closed = true;
    this.#cancelSweep?.();
    while (this.#size > 0) this.#evict();
  }

  #remove = (connection: Connection): void => {
    const list = this.#byKey.get(connection.key) ?? [];
    const index = list.indexOf(connection);
    if (index < 0) return;
    list.splice(index, 1);
    this.#size--;
    if (list.length === 0) this.#byKey.delete(connection.key);
  };

  /** Closes what has been idle for too long. */
  #sweep(): void {
    for (const list of [...this.#byKey.values()])
      for (const connection of [...list]) if (!connection.isReady()) connection.destroy();
    this.#cancelSweep =
      this.#size === 0 ? null : this.#clock.setTimer(SWEEP_MS, () => this.#sweep());
  }

  #evict(): void {
    for (const list of this.#byKey.values()) {
      const oldest = list[0];
      if (oldest === undefined) continue;
      this.#remove(oldest);
      oldest.destroy();
      return;
    }
  }
}
