/** What one take of limited jobs comes to: slots per key, and which jobs may start when. Pure: the adapters read, ask and write. */
import { assert } from "./assert.ts";
import { type LimitKey, type LimitValues, tenantKeyOf } from "./call-limit.ts";
import { CLAIM_AHEAD_MS, LIMIT_START_AHEAD_MS, POLL_PERIOD_MS_MAX } from "./limits.ts";
import { QueueLots } from "./queue-lots.ts";

/** No take goes further ahead. */
const TAKEN_AHEAD_MS_MAX = POLL_PERIOD_MS_MAX + CLAIM_AHEAD_MS + LIMIT_START_AHEAD_MS;

/** When calls of a rate may start: evenly spaced, one after the other, whoever takes them. */
export class CallTimes {
  readonly #spacingMs: number;
  #nextMs: number;

  /** `nextMs`: when the next call may start at the earliest. */
  constructor(perSecond: number, nextMs: number) {
    this.#spacingMs = 1_000 / perSecond;
    this.#nextMs = nextMs;
  }

  get nextMs(): number {
    return this.#nextMs;
  }

  /** How many calls may start up to `untilMs`. */
  countUntil(untilMs: number): number {
    return Math.max(0, Math.floor((untilMs - this.#nextMs) / this.#spacingMs) + 1);
  }

  /** A call starts at `atMs`, which is not before `nextMs`. */
  take(atMs: number): void {
    this.#nextMs = atMs + this.#spacingMs;
  }
}

/**
 * When the next call may start at the earliest, by what the last take has noted. What is later than any take of this rate notes is of a
 * slower one, or of before the database's clock was set back: what was taken then starts by `untilMs`, up to where this one takes.
 */
export function nextCallMs(
  notedMs: number,
  perSecond: number,
  { nowMs, untilMs }: { readonly nowMs: number; readonly untilMs: number },
): number {
  const latestMs = nowMs + TAKEN_AHEAD_MS_MAX + 1_000 / perSecond;
  return notedMs > latestMs ? untilMs : Math.max(nowMs, notedMs);
}

/** A line as an executor asks for it. */
interface WantedLine {
  readonly key: LimitKey;
  readonly slotsMax: number;
  readonly tenantSlotsMax: number;
  readonly jobsMax: number;
  readonly startsMax?: number;
}

/** How many slots are wanted of each key that the lines are held to, in the order of the keys: whoever locks them does it in that. */
export function slotsWanted(lines: readonly WantedLine[]): Map<LimitKey, number> {
  const wanted = new Map<LimitKey, number>();
  const want = (key: LimitKey, slots: number) =>
    wanted.set(key, Math.max(slots, wanted.get(key) ?? 0));
  for (const { key, slotsMax, tenantSlotsMax } of lines) {
    want(key, slotsMax);
    const tenant = tenantKeyOf(key);
    if (tenant !== key) want(tenant, tenantSlotsMax);
  }
  return new Map([...wanted].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Slots in a worker's hands; `limit` null: the key has none. */
interface Held {
  readonly limit: LimitValues | null;
  readonly slots: number;
}

/** Whether jobs of a line may be taken: it has a limit, and there is a slot of that and of its tenant's. */
export function mayTake(key: LimitKey, heldOf: (key: LimitKey) => Held): boolean {
  const line = heldOf(key);
  const tenant = heldOf(tenantKeyOf(key));
  return line.limit !== null && line.slots > 0 && (tenant.limit === null || tenant.slots > 0);
}

interface Candidate {
  readonly key: LimitKey;
  readonly queue: number;
  readonly dueAtMs: number;
}

export interface PlannedCall<Item> {
  readonly item: Item;
  /** Whole ms; null where no rate holds. */
  readonly startAtMs: number | null;
}

/**
 * Which of the candidates are taken, in their order: at most `jobsMax` of each line, none that would start after `untilMs`. Those that are
 * due share what their line's limits let go by the weights of their queues, and so they do what is left of their tenant's rate; whoever
 * has been due for longest goes first in a queue. Then those that will be due, by time, so that none of a rate waits for one whose time
 * has not come.
 */
export function planCalls<Item extends Candidate>(
  candidates: readonly Item[],
  lines: readonly WantedLine[],
  rates: ReadonlyMap<LimitKey, CallTimes>,
  { nowMs, untilMs }: { readonly nowMs: number; readonly untilMs: number },
): PlannedCall<Item>[] {
  const lots = new QueueLots(nowMs);
  const ofLine = Map.groupBy(candidates, ({ key }) => key);
  const wanted = lines.flatMap(({ key, jobsMax }) => {
    const most = Math.min(jobsMax, callsWithin(key, rates, untilMs));
    return inOrder(ofLine.get(key) ?? [], most, nowMs, lots);
  });
  const ofTenant = Map.groupBy(wanted, ({ key }) => tenantKeyOf(key));
  const ordered = [...ofTenant.values()].flatMap((all) => inOrder(all, all.length, nowMs, lots));
  return ordered.flatMap((item) => {
    const own = ratesOf(item.key, rates);
    const atMs = Math.max(item.dueAtMs, nowMs, ...own.map(({ nextMs }) => nextMs));
    if (atMs > untilMs) return [];
    for (const rate of own) rate.take(atMs);
    return [{ item, startAtMs: own.length === 0 ? null : Math.ceil(atMs) }];
  });
}

/** The first `most` of them. */
function inOrder<Item extends Candidate>(
  items: readonly Item[],
  most: number,
  nowMs: number,
  lots: QueueLots,
): Item[] {
  const byTime = [...items].sort((a, b) => a.dueAtMs - b.dueAtMs || a.queue - b.queue);
  const due = byTime.filter(({ dueAtMs }) => dueAtMs <= nowMs);
  const queues = Map.groupBy(due, ({ queue }) => queue);
  const drawn = due.slice(0, most).map(() => {
    const queue = lots.draw([...queues.keys()]);
    const left = queues.get(queue);
    const first = left?.shift();
    assert(left !== undefined && first !== undefined, "a queue that is drawn has a job");
    if (left.length === 0) queues.delete(queue);
    return first;
  });
  return [...drawn, ...byTime.slice(due.length)].slice(0, most);
}

/** Instants in whole ms for jobs that a worker has already: at most `startsMax` of each line, as far as its rates allow up to `untilMs`. */
export function planStarts(
  lines: readonly WantedLine[],
  rates: ReadonlyMap<LimitKey, CallTimes>,
  { nowMs, untilMs }: { readonly nowMs: number; readonly untilMs: number },
): Map<LimitKey, number[]> {
  const starts = new Map<LimitKey, number[]>();
  for (const { key, startsMax = 0 } of lines) {
    const own = ratesOf(key, rates);
    const atMs: number[] = [];
    while (own.length > 0 && atMs.length < startsMax) {
      const nextMs = Math.max(nowMs, ...own.map((rate) => rate.nextMs));
      if (nextMs > untilMs) break;
      for (const rate of own) rate.take(nextMs);
      atMs.push(Math.ceil(nextMs));
    }
    if (atMs.length > 0) starts.set(key, atMs);
  }
  return starts;
}

/** How many calls of a line its rates let start up to `untilMs`, Infinity where there is none. */
export function callsWithin(
  key: LimitKey,
  rates: ReadonlyMap<LimitKey, CallTimes>,
  untilMs: number,
): number {
  return Math.min(Infinity, ...ratesOf(key, rates).map((rate) => rate.countUntil(untilMs)));
}

function ratesOf(key: LimitKey, rates: ReadonlyMap<LimitKey, CallTimes>): CallTimes[] {
  const tenant = tenantKeyOf(key);
  const own = rates.get(key);
  const shared = tenant === key ? undefined : rates.get(tenant);
  return [own, shared].filter((rate) => rate !== undefined);
}
