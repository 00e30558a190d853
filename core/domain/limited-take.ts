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
 * Which of the candidates are taken, in their order: at most `jobsMax` of each line, none that would start after `untilMs`. Lines of a
 * tenant that has a rate share it; every other is by itself. The next call is of a line that can start first, so that none of a rate waits
 * for a slower one, or for one whose time has not come. Of the jobs there that are due a queue is drawn by its weight, and in it whoever
 * has been due for longest goes; where none is due, whoever will be first.
 */
export function planCalls<Item extends Candidate>(
  candidates: readonly Item[],
  lines: readonly WantedLine[],
  rates: ReadonlyMap<LimitKey, CallTimes>,
  { nowMs, untilMs }: { readonly nowMs: number; readonly untilMs: number },
): PlannedCall<Item>[] {
  const lots = new QueueLots(nowMs);
  const itemsOf = Map.groupBy(candidates, ({ key }) => key);
  const sharing = Map.groupBy(lines, ({ key }) =>
    rates.has(tenantKeyOf(key)) ? tenantKeyOf(key) : key,
  );
  const planned: PlannedCall<Item>[] = [];
  for (const rivals of sharing.values()) {
    const left = rivals.map(
      ({ key, jobsMax }) =>
        new LineJobs(itemsOf.get(key) ?? [], jobsMax, ratesOf(key, rates), nowMs),
    );
    for (;;) {
      const { lines: first, atMs } = firstToStart(left);
      if (atMs > untilMs) break;
      planned.push(takeOne(first, atMs, lots));
    }
  }
  return planned;
}

/** What is left of the candidates of a line. */
class LineJobs<Item extends Candidate> {
  readonly #nowMs: number;
  readonly #rates: readonly CallTimes[];
  /** By queue, none of which is empty. */
  readonly #due: Map<number, Item[]>;
  readonly #later: Item[];
  #jobsMax: number;

  constructor(items: readonly Item[], jobsMax: number, rates: readonly CallTimes[], nowMs: number) {
    const byTime = [...items].sort((a, b) => a.dueAtMs - b.dueAtMs || a.queue - b.queue);
    const later = byTime.findIndex(({ dueAtMs }) => dueAtMs > nowMs);
    const due = later < 0 ? byTime : byTime.slice(0, later);
    this.#due = Map.groupBy(due, ({ queue }) => queue);
    this.#later = byTime.slice(due.length);
    this.#jobsMax = jobsMax;
    this.#rates = rates;
    this.#nowMs = nowMs;
  }

  /** When its next call can start; Infinity: it has none. */
  get startMs(): number {
    if (this.#jobsMax < 1) return Number.POSITIVE_INFINITY;
    let startMs = this.#due.size > 0 ? this.#nowMs : this.dueMs(null);
    for (const { nextMs } of this.#rates) startMs = Math.max(startMs, nextMs);
    return startMs;
  }

  /** Of the jobs that are due. */
  get queues(): MapIterator<number> {
    return this.#due.keys();
  }

  /** When the first of a queue was due; null: when the first of those that will be is. Infinity: there is none. */
  dueMs(queue: number | null): number {
    return this.#itemsOf(queue)?.[0]?.dueAtMs ?? Number.POSITIVE_INFINITY;
  }

  take(queue: number | null, atMs: number): PlannedCall<Item> {
    const items = this.#itemsOf(queue);
    const item = items?.shift();
    assert(item !== undefined, "a line that is drawn has a job");
    if (queue !== null && items?.length === 0) this.#due.delete(queue);
    this.#jobsMax--;
    for (const rate of this.#rates) rate.take(atMs);
    return { item, startAtMs: this.#rates.length === 0 ? null : Math.ceil(atMs) };
  }

  #itemsOf(queue: number | null): Item[] | undefined {
    return queue === null ? this.#later : this.#due.get(queue);
  }
}

/** The lines whose next call can start before any other's, and when. */
function firstToStart<Item extends Candidate>(lines: readonly LineJobs<Item>[]) {
  let atMs = Number.POSITIVE_INFINITY;
  let first: LineJobs<Item>[] = [];
  for (const line of lines) {
    const { startMs } = line;
    if (startMs > atMs) continue;
    if (startMs < atMs) first = [];
    first.push(line);
    atMs = startMs;
  }
  return { lines: first, atMs };
}

/** The longest due of these lines in the queue that is drawn; of jobs that were due at the same moment any line's. */
function takeOne<Item extends Candidate>(
  lines: readonly LineJobs<Item>[],
  atMs: number,
  lots: QueueLots,
): PlannedCall<Item> {
  const queues = new Set<number>();
  for (const line of lines) for (const queue of line.queues) queues.add(queue);
  const queue = queues.size === 0 ? null : lots.draw([...queues]);
  const firstMs = Math.min(...lines.map((line) => line.dueMs(queue)));
  return lots.oneOf(lines.filter((line) => line.dueMs(queue) === firstMs)).take(queue, atMs);
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
