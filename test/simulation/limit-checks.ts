/**
 * Limits of calls, as who is called counts them: so many at once, so many in a span of time, over all executors. A call whose worker's
 * lease has ended since it began counts no more: others have its slot, which is what a lease is for.
 */
import type { MemoryTables } from "#adapters/memory/memory-tables.ts";
import {
  effectiveLimit,
  endpointKey,
  type LimitKey,
  type LimitValues,
  tenantKey,
} from "#core/domain/call-limit.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import type { SentCall } from "./ledger.ts";

/** Starts are counted over so long. */
const SPAN_MS = 5_000;
/** Calls that a slot or a connection held up may come closer together, in each executor for itself. */
const LATE_MS = 1_500;

interface Seen {
  open: SentCall[];
  startsMs: number[];
}

export interface LimitChecksOptions {
  readonly tables: MemoryTables;
  readonly databaseNowMs: () => number;
  /** True time. */
  readonly nowMs: () => number;
  readonly violate: (rule: string, detail: string, job: Job) => void;
}

export class LimitChecks {
  readonly #options: LimitChecksOptions;
  readonly #seen = new Map<LimitKey, Seen>();
  /** Limits that somebody has changed: when who learns of it is tried elsewhere. */
  readonly #changed = new Set<LimitKey>();
  /** When a worker's lease last ended without a renewal in time. */
  readonly #lapsedMs = new Map<WorkerId, number>();

  constructor(options: LimitChecksOptions) {
    this.#options = options;
    this.#watch();
  }

  /** A limited call begins. */
  sent(call: SentCall, job: Job, url: string): void {
    const { callLimits } = this.#options.tables;
    if (callLimits.size === 0) return;
    for (const key of [endpointKey(job.tenantId, url), tenantKey(job.tenantId)]) {
      if (key === null) continue;
      const row = callLimits.get(key);
      const seen = this.#seen.get(key) ?? { open: [], startsMs: [] };
      this.#seen.set(key, seen);
      seen.open = seen.open.filter((other) => this.#counts(other));
      seen.startsMs = seen.startsMs.filter((atMs) => atMs > call.atMs - SPAN_MS);
      seen.open.push(call);
      seen.startsMs.push(call.atMs);
      if (row !== undefined && !this.#changed.has(key))
        this.#check(key, effectiveLimit(row.limit), seen, job);
    }
  }

  #check(key: LimitKey, { concurrency, perSecond }: LimitValues, seen: Seen, job: Job): void {
    const { violate } = this.#options;
    if (concurrency !== null && seen.open.length > concurrency)
      violate(
        "more calls at once than the limit",
        `${seen.open.length} of ${concurrency}: ${key}`,
        job,
      );
    if (perSecond === null) return;
    const allowed = Math.ceil((perSecond * (SPAN_MS + LATE_MS)) / 1_000) + 1;
    if (seen.startsMs.length > allowed)
      violate("more calls than the rate", `${seen.startsMs.length} in ${SPAN_MS} ms: ${key}`, job);
  }

  #counts({ ended, process, workerId, atMs }: SentCall): boolean {
    if (ended || !process.alive || workerId === null) return false;
    const lease = this.#options.tables.workers.get(workerId);
    if (lease === undefined || lease.fencedAtMs !== null) return false;
    if (lease.leaseUntilMs <= this.#options.databaseNowMs()) return false;
    return (this.#lapsedMs.get(workerId) ?? Number.NEGATIVE_INFINITY) < atMs;
  }

  #watch(): void {
    const { tables, databaseNowMs, nowMs } = this.#options;
    const { workers, callLimits } = tables;
    const setWorker = workers.set.bind(workers);
    workers.set = (id, row) => {
      const before = workers.get(id);
      if (before !== undefined && before.leaseUntilMs <= databaseNowMs())
        this.#lapsedMs.set(id, nowMs());
      return setWorker(id, row);
    };
    const setLimit = callLimits.set.bind(callLimits);
    callLimits.set = (key, row) => {
      const before = callLimits.get(key)?.limit;
      if (before !== undefined && before !== row.limit) this.#changed.add(key);
      return setLimit(key, row);
    };
    const removeLimit = callLimits.delete.bind(callLimits);
    callLimits.delete = (key) => {
      this.#changed.add(key);
      return removeLimit(key);
    };
  }
}
