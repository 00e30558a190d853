/**
 * Connections by tenant and origin: a tenant's request never travels on another tenant's connection. Idle ones are kept, so that
 * memory does not grow with the number of origins; beyond a bound the origin that was used longest ago loses its oldest.
 *
 * A call that finds none idle opens one, unless one of those in use is likely to be free sooner than a new one is worth: a burst of
 * short calls of one tenant would else open a connection for each that is under way, and use most of them once.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { Connection } from "./connection.ts";

const SWEEP_MS = 1_000;
/** Longest wait for a connection in use, and how many may wait for each of them. */
const WAIT_MS = 20;
const WAITING_PER_CONNECTION = 4;

/** What is in use or waited for under one key. */
interface InUse {
  count: number;
  /** How long the last call took; 0 before any has ended, infinite where it took its connection with it. */
  lastMs: number;
  readonly waiting: Set<(connection: Connection | null) => void>;
}

export class Connections {
  /** Idle ones. Least recently used key first; every list has an entry. */
  readonly #idle = new Map<string, Connection[]>();
  readonly #inUse = new Map<string, InUse>();
  readonly #idleMax: number;
  readonly #clock: Clock;
  #size = 0;
  #closed = false;
  #cancelSweep: (() => void) | null = null;

  constructor(idleMax: number, clock: Clock) {
    this.#idleMax = idleMax;
    this.#clock = clock;
  }

  /** How many are idle. */
  get size(): number {
    return this.#size;
  }

  /**
   * A connection for a call, or null where one has to be opened; both count as in use until `put` or `drop`. The one that was
   * used last, as the most likely to be alive. With `mayWait` false none in use is waited for.
   */
  take(key: string, mayWait: boolean = true): Connection | null | Promise<Connection | null> {
    const idle = this.#takeIdle(key);
    const inUse = this.#inUse.get(key);
    if (mayWait && idle === null && inUse !== undefined && this.#isWorthWaiting(inUse))
      return this.#wait(inUse);
    if (inUse !== undefined) inUse.count++;
    else this.#inUse.set(key, { count: 1, lastMs: 0, waiting: new Set() });
    return idle;
  }

  /** Whether a connection that nobody has asked for yet would be of use: there is none, and room for one. */
  lacks(key: string): boolean {
    return (
      !this.#closed &&
      this.#size < this.#idleMax / 2 &&
      !this.#idle.has(key) &&
      !this.#inUse.has(key)
    );
  }

  /** Gives back a connection whose call has ended, after `tookMs`. */
  put(connection: Connection, tookMs: number): void {
    const { key } = connection;
    const isReady = !this.#closed && connection.isReady();
    const inUse = this.#inUse.get(key);
    // Nobody is to wait where connections do not stay.
    if (inUse !== undefined) inUse.lastMs = isReady ? tookMs : Number.POSITIVE_INFINITY;
    if (!isReady) {
      connection.destroy();
      this.drop(key);
      return;
    }
    const [waiting] = inUse?.waiting ?? [];
    if (waiting !== undefined) {
      waiting(connection);
      return;
    }
    this.#release(key);
    this.#keep(connection);
  }

  /** One that was in use, or was to be opened, is gone. */
  drop(key: string): void {
    const [waiting] = this.#inUse.get(key)?.waiting ?? [];
    // In its place, one is opened.
    if (waiting !== undefined) waiting(null);
    else this.#release(key);
  }

  close(): void {
    this.#closed = true;
    this.#cancelSweep?.();
    while (this.#size > 0) this.#evict();
  }

  #isWorthWaiting({ count, lastMs, waiting }: InUse): boolean {
    const before = waiting.size + 1;
    return before <= WAITING_PER_CONNECTION * count && (lastMs * before) / count <= WAIT_MS;
  }

  #wait(inUse: InUse): Promise<Connection | null> {
    return new Promise((resolve) => {
      const go = (connection: Connection | null) => {
        cancel();
        inUse.waiting.delete(go);
        resolve(connection);
      };
      const cancel = this.#clock.setTimer(WAIT_MS, () => {
        inUse.count++;
        go(null);
      });
      inUse.waiting.add(go);
    });
  }

  #release(key: string): void {
    const inUse = this.#inUse.get(key);
    if (inUse !== undefined && --inUse.count === 0) this.#inUse.delete(key);
  }

  #takeIdle(key: string): Connection | null {
    const list = this.#idle.get(key);
    for (let next = list?.pop(); next !== undefined; next = list?.pop()) {
      this.#size--;
      if (list?.length === 0) this.#idle.delete(key);
      if (next.isReady()) return next;
      next.destroy();
    }
    return null;
  }

  #keep(connection: Connection): void {
    const { key } = connection;
    const list = this.#idle.get(key) ?? [];
    list.push(connection);
    this.#size++;
    this.#idle.delete(key);
    this.#idle.set(key, list);
    connection.onGone = this.#remove;
    while (this.#size > this.#idleMax) this.#evict();
    this.#cancelSweep ??= this.#clock.setTimer(SWEEP_MS, () => this.#sweep());
  }

  #remove = (connection: Connection): void => {
    const list = this.#idle.get(connection.key) ?? [];
    const index = list.indexOf(connection);
    if (index < 0) return;
    list.splice(index, 1);
    this.#size--;
    if (list.length === 0) this.#idle.delete(connection.key);
  };

  /** Closes what has been idle for too long. */
  #sweep(): void {
    for (const list of [...this.#idle.values()])
      for (const connection of [...list]) if (!connection.isReady()) connection.destroy();
    this.#cancelSweep =
      this.#size === 0 ? null : this.#clock.setTimer(SWEEP_MS, () => this.#sweep());
  }

  #evict(): void {
    for (const list of this.#idle.values()) {
      const oldest = list[0];
      if (oldest === undefined) continue;
      this.#remove(oldest);
      oldest.destroy();
      return;
    }
  }
}
