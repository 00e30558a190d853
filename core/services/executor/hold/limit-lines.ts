/**
 * Limited jobs in this executor's hands, line by line: who may call now.
 *
 * A line is the limit key of its jobs; a job is held to the limit of its line and to its tenant's. It goes on when both have a
 * slot free: fewer calls under way than slots held (slots are this executor's part of a limit, handed out by the store). Its end, whatever
 * it is, frees what it had. Where a rate holds, each call needs an instant too, from the store as well, so that executors together keep
 * to it: its time brings a job on, and the call starts with it, or not at all. One that no call starts with soon after its time is
 * lost, and another asked for; who has waited so long for a slot, or for what its call needs, stands in line again. The queues of a line
 * share what it lets go by their weights, drawn by lot (queue-lots.ts); so do those of a tenant's lines its own slots, where these are
 * short. In a queue the longest due goes first.
 * Pure: the caller says what time it is, acts on what `admit` returns, and calls it again at `wakeAtMs`.
 */
import { assert } from "#core/domain/assert.ts";
import { type LimitKey, type LimitValues, tenantKeyOf } from "#core/domain/call-limit.ts";
import { LIMIT_IDLE_MS } from "#core/domain/limits.ts";
import { QueueLots } from "#core/domain/queue-lots.ts";
import type { KeptSlots } from "#core/ports/limit-store.ts";
import {
  halveEnded,
  hasSlots,
  isBounded,
  type KeyState,
  type KeyView,
  type Limited,
  type Line,
  lackingStarts,
  lateOf,
  mayGo,
  nextOf,
} from "./limit-line.ts";
import { LineStarts } from "./line-starts.ts";
import { WaitingJobs } from "./waiting-jobs.ts";

/** What this executor may do under a key. */
export interface Grant {
  readonly key: LimitKey;
  /** Null: the key has no limit (any more). */
  readonly limit: LimitValues | null;
  readonly slots: number;
  /** Of the take that granted it. */
  readonly takenAtMs: number;
  /** Instants for calls of the line, where it is one. */
  readonly startsAtMs?: readonly number[];
}

/** What is here of a line. */
export interface LineView {
  readonly own: KeyView;
  /** Null: the line is the tenant's own. */
  readonly tenant: KeyView | null;
  readonly held: number;
  /** Of these, jobs whose call has not started. */
  readonly unstarted: number;
  readonly waiting: number;
  /** The most urgent queue of those that wait. */
  readonly queue: number | null;
  /** Calls for which there is no instant in hand, although a rate asks for one and they will have a slot. */
  readonly lackingStarts: number;
  /** Calls that have ended lately: about as many more are to find a slot until the next take, as far as one can see. */
  readonly ended: number;
  /** How long a call had its slots, on average; null before the first has ended. */
  readonly meanMs: number | null;
}

const MEAN_WEIGHT = 0.1;
const UNKNOWN: KeyView = { limit: undefined, slots: 0 };

export class LimitLines<Item extends Limited> {
  readonly #keys = new Map<LimitKey, KeyState>();
  readonly #lines = new Map<LimitKey, Line<Item>>();
  /** Lines in which somebody waits, by tenant. */
  readonly #waiting = new Map<LimitKey, Set<Line<Item>>>();
  /** Tenants whose lines have to be looked at. */
  readonly #touched = new Set<LimitKey>();
  readonly #wakes = new Map<LimitKey, number>();
  readonly #lots = new QueueLots(0);
  #held = 0;
  /** When each was admitted; of those, whose calls have started. */
  readonly #admitted = new Map<Item, number>();
  readonly #started = new Set<Item>();

  /** Jobs whose turn has not come, those that are not due yet included. */
  get unadmitted(): number {
    return this.#held - this.#admitted.size;
  }

  /** Jobs whose call has not started. */
  get unstarted(): number {
    return this.#held - this.#started.size;
  }

  /** When `admit` may have more although nothing else has happened; null: it will not. */
  get wakeAtMs(): number | null {
    return this.#wakes.size === 0 ? null : Math.min(...this.#wakes.values());
  }

  /** Takes in a job whose time may be still to come. */
  add(item: Item): void {
    const line = this.#lineOf(keyOf(item));
    line.held++;
    this.#held++;
    const { startAtMs = null } = item.job;
    if (startAtMs !== null) line.starts.add([startAtMs]);
  }

  /** The job's time has come: it stands in line. */
  offer(item: Item): void {
    const line = this.#lineOf(keyOf(item));
    assert(!this.#admitted.has(item), "a job is offered once");
    line.waiting.add(item);
    const lines = this.#waiting.get(line.tenantKey);
    if (lines === undefined) this.#waiting.set(line.tenantKey, new Set([line]));
    else lines.add(line);
    this.#touched.add(line.tenantKey);
  }

  /** Whether a job's call needs a slot, which is its executor's only under a live lease. */
  needsSlot(item: Item): boolean {
    return this.#lineOf(keyOf(item)).keys.some(({ limit }) => isBounded(limit));
  }

  /** Whether the call of an admitted job might start now: its rate has an instant that is good. */
  mayStart(item: Item, nowMs: number): boolean {
    const line = this.#lineOf(keyOf(item));
    const lateMs = lateOf(line);
    return lateMs === null || line.starts.isGood(nowMs, lateMs);
  }

  /** The call of an admitted job starts; false: it may not. */
  start(item: Item, nowMs: number): boolean {
    assert(this.#admitted.has(item) && !this.#started.has(item), "who was let go starts once");
    if (!this.mayStart(item, nowMs)) return false;
    const line = this.#lineOf(keyOf(item));
    if (lateOf(line) !== null) line.starts.use();
    line.started++;
    this.#started.add(item);
    return true;
  }

  /** A job that was admitted and has not started stands in line again. */
  offerAgain(item: Item): void {
    assert(this.#admitted.delete(item) && !this.#started.has(item), "its call has not started");
    for (const key of this.#lineOf(keyOf(item)).keys) key.busy--;
    this.offer(item);
  }

  /** The job is gone, from wherever it was: its call has ended, or it is given back or dropped. */
  remove(item: Item, nowMs: number): void {
    const line = this.#lines.get(keyOf(item));
    assert(line !== undefined && line.held > 0, "a job leaves its line once");
    line.held--;
    this.#held--;
    const admittedMs = this.#admitted.get(item);
    if (admittedMs === undefined) this.#withdraw(line, item);
    else {
      this.#admitted.delete(item);
      if (this.#started.delete(item)) {
        line.started--;
        line.ended++;
      }
      for (const key of line.keys) key.busy--;
      const usedMs = Math.max(0, nowMs - admittedMs);
      line.meanMs =
        line.meanMs === null ? usedMs : line.meanMs + MEAN_WEIGHT * (usedMs - line.meanMs);
      this.#touched.add(line.tenantKey);
    }
  }

  /** What the store has answered: from now on these hold. */
  grant(grants: readonly Grant[], nowMs: number): void {
    for (const { key, limit, slots, takenAtMs, startsAtMs = [] } of grants) {
      const state = this.#keyOf(key);
      if (startsAtMs.length > 0) this.#lineOf(key).starts.add(startsAtMs);
      const line = this.#lines.get(key);
      if (line !== undefined) halveEnded(line, takenAtMs - state.takenAtMs);
      state.takenAtMs = takenAtMs;
      state.limit = limit;
      if (slots > state.slots) state.sinceMs = nowMs;
      state.slots = slots;
      this.#touched.add(tenantKeyOf(key));
    }
  }

  /** Others may have the slots by now; answers which they were. Calls under way still count. */
  forgetSlots(): KeptSlots[] {
    const kept: KeptSlots[] = [];
    for (const [key, state] of this.#keys) {
      if (state.slots > 0 && isBounded(state.limit))
        kept.push({ key, slots: 0, takenAtMs: state.takenAtMs });
      state.slots = 0;
    }
    return kept;
  }

  /** The clock that `nowMs` is of was set back. */
  forgetTimes(): void {
    for (const { starts } of this.#lines.values()) starts.forget();
    for (const state of this.#keys.values()) state.sinceMs = Number.NEGATIVE_INFINITY;
    this.#wakes.clear();
  }

  /** Jobs that may go on now, in the order in which they do; each has its slots until it is removed. */
  admit(nowMs: number): Item[] {
    for (const [tenantKey, atMs] of this.#wakes) if (atMs <= nowMs) this.#touched.add(tenantKey);
    const admitted: Item[] = [];
    for (const tenantKey of this.#touched) {
      this.#wakes.delete(tenantKey);
      const lines = this.#waiting.get(tenantKey);
      if (lines !== undefined) this.#admitOf(tenantKey, lines, nowMs, admitted);
    }
    this.#touched.clear();
    return admitted;
  }

  #admitOf(tenantKey: LimitKey, lines: Set<Line<Item>>, nowMs: number, into: Item[]): void {
    for (;;) {
      const open = [...lines].filter((line) => mayGo(line, nowMs));
      if (open.length === 0) break;
      const rivals = this.#isShort(tenantKey, open.length) ? [open] : open.map((line) => [line]);
      for (const some of rivals) into.push(this.#admitOne(some, nowMs));
      for (const line of open) if (line.waiting.size === 0) lines.delete(line);
    }
    if (lines.size === 0) this.#waiting.delete(tenantKey);
    let wakeMs = Number.POSITIVE_INFINITY;
    for (const line of lines) if (hasSlots(line)) wakeMs = Math.min(wakeMs, nextOf(line, nowMs));
    if (Number.isFinite(wakeMs)) this.#wakes.set(tenantKey, wakeMs);
  }

  /** Whether there is not a slot of the tenant's for each of so many lines. */
  #isShort(tenantKey: LimitKey, lines: number): boolean {
    const { limit, slots, busy } = this.#keyOf(tenantKey);
    return isBounded(limit) && slots - busy < lines;
  }

  /** The longest due of these lines in the queue that is drawn; of jobs that were due at the same moment any line's. */
  #admitOne(lines: readonly Line<Item>[], nowMs: number): Item {
    const queue = this.#lots.draw([...new Set(lines.flatMap(({ waiting }) => waiting.queues))]);
    const firsts = lines.flatMap((line) => {
      const item = line.waiting.firstOf(queue);
      return item === undefined ? [] : [{ line, item }];
    });
    const firstMs = Math.min(...firsts.map(({ item }) => item.job.runAtMs));
    const { line, item } = this.#lots.oneOf(
      firsts.filter((first) => first.item.job.runAtMs === firstMs),
    );
    line.waiting.remove(item);
    this.#admitted.set(item, nowMs);
    if (lateOf(line) !== null) line.starts.pass();
    for (const key of line.keys) {
      key.busy++;
      key.peak = Math.max(key.peak, key.busy);
    }
    return item;
  }

  lookAt(key: LimitKey): LineView {
    const line = this.#lines.get(key);
    const [own = this.#keys.get(key) ?? UNKNOWN] = line?.keys ?? [];
    const tenantKey = tenantKeyOf(key);
    return {
      own,
      tenant: key === tenantKey ? null : (this.#keys.get(tenantKey) ?? UNKNOWN),
      held: line?.held ?? 0,
      unstarted: line === undefined ? 0 : line.held - line.started,
      queue:
        line === undefined || line.waiting.size === 0 ? null : Math.min(...line.waiting.queues),
      waiting: line?.waiting.size ?? 0,
      lackingStarts: line === undefined ? 0 : lackingStarts(line),
      ended: Math.floor(line?.ended ?? 0),
      meanMs: line?.meanMs ?? null,
    };
  }

  /** Lines in which somebody waits. */
  waitingKeys(): LimitKey[] {
    return [...this.#waiting.values()].flatMap((lines) => [...lines].map(({ key }) => key));
  }

  /**
   * Gives up the slots that have not been used for LIMIT_IDLE_MS and are not about to be, and answers what is left under those keys;
   * forgets keys and lines that nobody needs.
   *
   * An endpoint's slots are given up at once where there is none of the tenant's: whoever has that would wait for this one, and if each
   * of two executors held on to its own for a while, neither would ever have both.
   */
  giveUpIdle(nowMs: number): KeptSlots[] {
    const kept: KeptSlots[] = [];
    const held = new Map<KeyState, number>();
    for (const line of this.#lines.values()) {
      for (const state of line.keys) held.set(state, (held.get(state) ?? 0) + line.held);
      line.starts.lose(nowMs, lateOf(line) ?? 0);
    }
    for (const [key, state] of this.#keys) {
      const isUseless = this.#lacksTenantSlot(key);
      if (!isUseless && nowMs - state.sinceMs < LIMIT_IDLE_MS) continue;
      const needed = isUseless ? state.busy : Math.max(state.peak, held.get(state) ?? 0);
      const slots = Math.min(state.slots, needed);
      if (slots < state.slots && isBounded(state.limit))
        kept.push({ key, slots, takenAtMs: state.takenAtMs });
      state.slots = slots;
      state.peak = state.busy;
      state.sinceMs = nowMs;
    }
    this.#forgetUnused();
    return kept;
  }

  #lacksTenantSlot(key: LimitKey): boolean {
    const tenantKey = tenantKeyOf(key);
    const tenant = tenantKey === key ? undefined : this.#keys.get(tenantKey);
    return tenant !== undefined && isBounded(tenant.limit) && tenant.slots === 0;
  }

  /** Gives up every slot beyond the calls under way, of these keys or of all. */
  giveUpUnused(keys?: ReadonlySet<LimitKey>): KeptSlots[] {
    const kept: KeptSlots[] = [];
    for (const [key, state] of this.#keys) {
      if (keys !== undefined && !keys.has(key)) continue;
      if (state.slots <= state.busy || !isBounded(state.limit)) continue;
      state.slots = state.busy;
      kept.push({ key, slots: state.slots, takenAtMs: state.takenAtMs });
    }
    return kept;
  }

  #forgetUnused(): void {
    for (const [key, line] of this.#lines)
      if (line.held === 0 && line.keys.every(({ slots }) => slots === 0)) this.#lines.delete(key);
    const used = new Set([...this.#lines.values()].flatMap(({ keys }) => keys));
    for (const [key, state] of this.#keys)
      if (state.slots === 0 && !used.has(state)) this.#keys.delete(key);
  }

  #withdraw(line: Line<Item>, item: Item): void {
    if (!line.waiting.remove(item) || line.waiting.size > 0) return;
    const lines = this.#waiting.get(line.tenantKey);
    lines?.delete(line);
    if (lines?.size === 0) this.#waiting.delete(line.tenantKey);
  }

  #lineOf(key: LimitKey): Line<Item> {
    const known = this.#lines.get(key);
    if (known !== undefined) return known;
    const tenantKey = tenantKeyOf(key);
    const keys =
      key === tenantKey ? [this.#keyOf(key)] : [this.#keyOf(key), this.#keyOf(tenantKey)];
    const line: Line<Item> = {
      ...{ key, keys, tenantKey, waiting: new WaitingJobs<Item>(), starts: new LineStarts() },
      ...{ held: 0, started: 0, ended: 0, meanMs: null },
    };
    this.#lines.set(key, line);
    return line;
  }

  #keyOf(key: LimitKey): KeyState {
    const known = this.#keys.get(key);
    if (known !== undefined) return known;
    const state: KeyState = {
      ...{ limit: undefined, slots: 0, takenAtMs: 0, busy: 0, peak: 0 },
      sinceMs: Number.NEGATIVE_INFINITY,
    };
    this.#keys.set(key, state);
    return state;
  }
}

function keyOf({ job }: Limited): LimitKey {
  assert(job.limitKey !== null, "only limited jobs stand in line");
  return job.limitKey;
}
