/**
 * Jobs whose time has come, in the order in which they are sent: queue by queue as `QueueTurns` says, in each queue second by second.
 *
 * What is due in the same second of one queue has no order of its own, so connections decide: a tenant's next call to an origin goes
 * where the last one has just ended, and where no connection waits, tenants take turns instead of one having all slots. A warm
 * connection keeps its place for so many calls in a row while others wait.
 *
 * Whoever takes a job may pass tenants over: then the others are served in the same order as if those had nothing.
 */

import { assert } from "#core/domain/assert.ts";
import { forgetOldest } from "#core/domain/bounded-cache.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { IDLE_CONNECTIONS_MAX } from "#core/domain/limits.ts";
import { QueueTurns } from "#core/domain/queue-turns.ts";
import { Heap } from "./heap.ts";
import type { HeldJob } from "./held-job.ts";

const IN_A_ROW_MAX = 8;

const NOBODY: ReadonlySet<TenantId> = new Set();

/** The jobs of one tenant and origin, in the order in which they came. */
interface Group {
  readonly tenantId: TenantId;
  readonly connection: string;
  jobs: HeldJob[];
  /** The first that has not been taken. */
  at: number;
  inARow: number;
  isWarm: boolean;
}

/** What is due in one second of one queue. */
class Bucket {
  readonly second: number;
  readonly #groups = new Map<string, Group>();
  /** Groups in turn, and those that have an idle connection, the last used one last. Either may name some that are used up. */
  #turns: Group[] = [];
  #turn = 0;
  #begun = false;
  #warm: Group[] = [];

  constructor(second: number) {
    this.second = second;
  }

  add(held: HeldJob, isIdle: (connection: string) => boolean): void {
    const { connection, job } = held;
    let group = this.#groups.get(connection);
    if (group === undefined) {
      const { tenantId } = job;
      group = { tenantId, connection, jobs: [], at: 0, inARow: 0, isWarm: false };
      this.#groups.set(connection, group);
      this.#turns.push(group);
    }
    group.jobs.push(held);
    if (isIdle(connection)) this.#warmUp(group);
  }

  /** It is the earliest of its queue: from here on it hears of idle connections. */
  begin(isIdle: (connection: string) => boolean): void {
    if (this.#begun) return;
    this.#begun = true;
    for (const group of this.#groups.values()) if (isIdle(group.connection)) this.#warmUp(group);
  }

  /** A connection has become idle. */
  noteIdle(connection: string): void {
    const group = this.#groups.get(connection);
    if (group !== undefined) this.#warmUp(group);
  }

  get isEmpty(): boolean {
    return this.#groups.size === 0;
  }

  /** Takes the next job; null when there is none but of tenants that are passed over. */
  take(isIdle: (connection: string) => boolean, passedOver: ReadonlySet<TenantId>): HeldJob | null {
    return this.#takeWarm(isIdle, passedOver) ?? this.#takeInTurn(passedOver);
  }

  #takeWarm(
    isIdle: (connection: string) => boolean,
    passedOver: ReadonlySet<TenantId>,
  ): HeldJob | null {
    for (let at = this.#warm.length - 1; at >= 0; at--) {
      const group = this.#warm[at];
      if (group === undefined || passedOver.has(group.tenantId)) continue;
      this.#warm.splice(at, 1);
      group.isWarm = false;
      if (!isIdle(group.connection)) continue;
      if (group.inARow >= IN_A_ROW_MAX && this.#groups.size > 1) {
        group.inARow = 0;
        continue;
      }
      const held = this.#takeOf(group);
      if (held === null) continue;
      group.inARow++;
      return held;
    }
    return null;
  }

  #takeInTurn(passedOver: ReadonlySet<TenantId>): HeldJob | null {
    let rounds = 0;
    while (this.#groups.size > 0) {
      if (this.#turn >= this.#turns.length) {
        // The first may have begun in the middle; a whole one has passed over all that is left.
        if (++rounds > 2) return null;
        this.#turns = [...this.#groups.values()];
        this.#turn = 0;
      }
      const group = this.#turns[this.#turn++];
      if (group === undefined || passedOver.has(group.tenantId)) continue;
      const held = this.#takeOf(group);
      if (held === null) continue;
      group.inARow = 1;
      return held;
    }
    return null;
  }

  #takeOf(group: Group): HeldJob | null {
    const { jobs } = group;
    let held = jobs[group.at++];
    while (held !== undefined && held.phase !== "ready") held = jobs[group.at++];
    if (2 * group.at >= jobs.length) {
      // Others may come for as long as calls last: what was taken is not kept beside them.
      jobs.copyWithin(0, group.at);
      jobs.length = Math.max(0, jobs.length - group.at);
      group.at = 0;
    }
    if (jobs.length === 0 && this.#has(group)) this.#groups.delete(group.connection);
    return held ?? null;
  }

  #has(group: Group): boolean {
    return this.#groups.get(group.connection) === group;
  }

  /** Keeps only what is ready, in its order. */
  forgetGone(): void {
    for (const group of this.#groups.values()) {
      const { at } = group;
      group.jobs = group.jobs.filter(({ phase }, i) => i >= at && phase === "ready");
      group.at = 0;
      if (group.jobs.length === 0) this.#groups.delete(group.connection);
    }
    this.#turns = this.#turns.slice(this.#turn).filter((group) => this.#has(group));
    this.#turn = 0;
    this.#warm = this.#warm.filter((group) => this.#has(group));
  }

  #warmUp(group: Group): void {
    if (group.isWarm) return;
    group.isWarm = true;
    this.#warm.push(group);
  }
}

/** One queue, the earliest second first. */
class ReadyQueue {
  readonly #buckets = new Map<number, Bucket>();
  #seconds = openSeconds();
  /** At most so many that are gone are still in there. */
  #dropped = 0;

  add(held: HeldJob, isIdle: (connection: string) => boolean): void {
    const second = Math.floor(held.job.runAtMs / 1_000);
    let bucket = this.#buckets.get(second);
    if (bucket === undefined) {
      bucket = new Bucket(second);
      this.#buckets.set(second, bucket);
      this.#seconds.push(bucket);
    }
    bucket.add(held, isIdle);
  }

  /** One is gone, and so many are left. Thousands may come and go while calls hang and none is taken: no more are kept than are left. */
  drop(left: number): void {
    if (++this.#dropped < left) return;
    this.#dropped = 0;
    this.#seconds = openSeconds();
    for (const bucket of this.#buckets.values()) {
      bucket.forgetGone();
      if (bucket.isEmpty) this.#buckets.delete(bucket.second);
      else this.#seconds.push(bucket);
    }
  }

  noteIdle(connection: string): void {
    this.#seconds.peek()?.noteIdle(connection);
  }

  take(isIdle: (connection: string) => boolean, passedOver: ReadonlySet<TenantId>): HeldJob | null {
    const passed: Bucket[] = [];
    let held: HeldJob | null = null;
    for (let bucket = this.#seconds.peek(); bucket !== null; bucket = this.#seconds.peek()) {
      if (passed.length === 0) bucket.begin(isIdle);
      held = bucket.take(isIdle, passedOver);
      if (held !== null) break;
      this.#seconds.pop();
      if (bucket.isEmpty) this.#buckets.delete(bucket.second);
      else passed.push(bucket);
    }
    for (const bucket of passed) this.#seconds.push(bucket);
    return held;
  }
}

function openSeconds(): Heap<Bucket> {
  return new Heap((a, b) => a.second < b.second);
}

export class ReadyJobs {
  readonly #turns = new QueueTurns();
  readonly #queues = new Map<number, ReadyQueue>();
  /** How many connections are idle, as far as calls have told. */
  readonly #idle = new Map<string, number>();
  readonly #isIdle = (connection: string) => this.#idle.has(connection);
  /** How many each tenant has of each queue, and how many all have. */
  readonly #counts = new Map<TenantId, Map<number, number>>();
  readonly #totals = new Map<number, number>();
  #size = 0;

  add(held: HeldJob): void {
    const { queue } = held.job;
    let ready = this.#queues.get(queue);
    if (ready === undefined) {
      ready = new ReadyQueue();
      this.#queues.set(queue, ready);
    }
    ready.add(held, this.#isIdle);
    this.#turns.add(queue);
    this.#count(held, 1);
  }

  get size(): number {
    return this.#size;
  }

  get critical(): number {
    return this.#turns.critical;
  }

  countOfQueue(queue: number): number {
    return this.#totals.get(queue) ?? 0;
  }

  #count({ job: { tenantId, queue } }: HeldJob, by: 1 | -1): void {
    this.#size += by;
    this.#totals.set(queue, (this.#totals.get(queue) ?? 0) + by);
    let queues = this.#counts.get(tenantId);
    if (queues === undefined) {
      queues = new Map();
      this.#counts.set(tenantId, queues);
    }
    const count = (queues.get(queue) ?? 0) + by;
    assert(count >= 0, "what leaves was in it");
    if (count > 0) queues.set(queue, count);
    else queues.delete(queue);
    if (queues.size === 0) this.#counts.delete(tenantId);
  }

  /** A job that is no longer to be sent; its phase is not `ready` any more. */
  drop(held: HeldJob): void {
    const { queue } = held.job;
    this.#turns.remove(queue);
    this.#count(held, -1);
    this.#queues.get(queue)?.drop(this.countOfQueue(queue));
  }

  /** Takes the job that is next; null when there is none but of tenants that are passed over. */
  take(onlyCritical: boolean, passedOver: ReadonlySet<TenantId> = NOBODY): HeldJob | null {
    const queue =
      passedOver.size === 0
        ? this.#turns.next(onlyCritical)
        : this.#turns.next(onlyCritical, (one) => this.#hasOthers(one, passedOver));
    if (queue === null) return null;
    const ready = this.#queues.get(queue);
    const held = ready?.take(this.#isIdle, passedOver) ?? null;
    assert(ready !== undefined && held !== null, "a queue whose turn it is has a job");
    this.#turns.serve(queue);
    this.#turns.remove(queue);
    this.#count(held, -1);
    if (this.#useIdle(held.connection)) ready.noteIdle(held.connection);
    return held;
  }

  #hasOthers(queue: number, passedOver: ReadonlySet<TenantId>): boolean {
    let left = this.#totals.get(queue) ?? 0;
    for (const tenantId of passedOver) left -= this.#counts.get(tenantId)?.get(queue) ?? 0;
    return left > 0;
  }

  /** A call has been answered: its connection waits for another. */
  noteIdle(connection: string): void {
    this.#idle.set(connection, (this.#idle.get(connection) ?? 0) + 1);
    for (const ready of this.#queues.values()) ready.noteIdle(connection);
    forgetOldest(this.#idle, IDLE_CONNECTIONS_MAX);
  }

  /** True when there is another. */
  #useIdle(connection: string): boolean {
    const count = this.#idle.get(connection) ?? 0;
    if (count > 1) this.#idle.set(connection, count - 1);
    else this.#idle.delete(connection);
    return count > 1;
  }
}
