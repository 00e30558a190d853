/** One line of limited jobs as an executor has it, with what it may do under the line's keys: whether its next job may go. */
import type { LimitKey, LimitValues } from "#core/domain/call-limit.ts";
import { type LineStarts, lateMsAt } from "./line-starts.ts";
import type { WaitingJobs } from "./waiting-jobs.ts";

/** A job as lines see it. */
export interface Limited {
  readonly job: {
    readonly limitKey: LimitKey | null;
    readonly queue: number;
    readonly runAtMs: number;
    /** With a rate: an instant for one call of its line. */
    readonly startAtMs?: number | null;
  };
}

/** What is known here of a key. */
export interface KeyView {
  /** Undefined until it was granted; null: it has none. */
  readonly limit: LimitValues | null | undefined;
  readonly slots: number;
}

export interface KeyState extends KeyView {
  /** Undefined until the first grant: nothing goes. */
  limit: LimitValues | null | undefined;
  slots: number;
  takenAtMs: number;
  busy: number;
  /** Most calls under way since `sinceMs`. */
  peak: number;
  sinceMs: number;
}

export interface Line<Item extends Limited> {
  readonly key: LimitKey;
  readonly keys: readonly KeyState[];
  readonly tenantKey: LimitKey;
  readonly waiting: WaitingJobs<Item>;
  /** All of the line that are here: not due, waiting, or let go; of those, calls that have started. */
  held: number;
  started: number;
  /** Calls that have ended: one that did so ENDED_HALF_MS before the last answer counts half, one twice as long before it a quarter. */
  ended: number;
  readonly starts: LineStarts;
  /** How long a call had its slots, on average; null before the first end. */
  meanMs: number | null;
}

/** About as long as takes go ahead, so that as many calls count as will end until what is taken has started. */
const ENDED_HALF_MS = 2_000;

/** The line is answered again, so long after the last time. */
export function halveEnded(line: Line<Limited>, afterMs: number): void {
  line.ended *= 0.5 ** (Math.max(0, afterMs) / ENDED_HALF_MS);
}

export function isBounded(limit: LimitValues | null | undefined): boolean {
  return (limit?.concurrency ?? null) !== null;
}

export function hasSlots({ keys }: Line<Limited>): boolean {
  return keys.every(
    ({ limit, busy, slots }) => limit !== undefined && (!isBounded(limit) || busy < slots),
  );
}

/** How late an instant may be used where rates hold for the line, by the fastest of them: all are to be kept. Null: none holds. */
export function lateOf({ keys }: Line<Limited>): number | null {
  let perSecond = 0;
  for (const { limit } of keys) perSecond = Math.max(perSecond, limit?.perSecond ?? 0);
  return perSecond === 0 ? null : lateMsAt(perSecond);
}

/**
 * How many instants a line lacks: one for each job whose call has not started, but no more than will find a slot of its own limit, as far
 * as one can see: those that are free, and as many as came free lately. More would be lost, to the tenant's other lines too where the
 * rate is the tenant's.
 */
export function lackingStarts(line: Line<Limited>): number {
  const [own] = line.keys;
  if (own === undefined || lateOf(line) === null) return 0;
  const unstarted = line.held - line.started;
  const slots = isBounded(own.limit)
    ? own.slots - line.started + Math.floor(line.ended)
    : unstarted;
  return Math.max(0, Math.min(unstarted, slots) - line.starts.count);
}

/** When the line's next job may go by its rate: -Infinity without one, Infinity without an instant. */
export function nextOf(line: Line<Limited>, nowMs: number): number {
  const lateMs = lateOf(line);
  return lateMs === null ? Number.NEGATIVE_INFINITY : line.starts.nextMs(nowMs, lateMs);
}

export function mayGo(line: Line<Limited>, nowMs: number): boolean {
  return hasSlots(line) && nextOf(line, nowMs) <= nowMs;
}
