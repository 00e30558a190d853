import type { Priority } from "#core/domain/queue.ts";

/** What waits of one priority. */
export interface PriorityBacklog {
  /** Pending jobs that are due, counted up to a maximum. */
  readonly due: number;
  /** When the one of them was due that waits longest; null: none waits. */
  readonly oldestDueAtMs: number | null;
  /** The earliest run that is due and no job yet; null: there is none. */
  readonly unmadeSinceMs: number | null;
}

export interface Backlog {
  /** The database's now. */
  readonly nowMs: number;
  readonly priorities: ReadonlyMap<Priority, PriorityBacklog>;
  /** Pending jobs of all priorities that are due or will be soon, counted up to a maximum of its own. */
  readonly dueSoon: number;
  /** Jobs that are due and wait under a limit, counted up to a maximum. */
  readonly limitsWaiting: number;
  /** Executors with a live lease. */
  readonly liveWorkers: number;
}

/** How much of a shard's work waits, for whoever watches: no service decides by it. */
export interface BacklogStore {
  /**
   * Reads at most `countedMax` entries for each count, and `soonCountedMax` for that of what is due by `soonMs` after the database's now:
   * some ms, whatever waits.
   */
  measure(countedMax: number, soonMs: number, soonCountedMax: number): Promise<Backlog>;
}
