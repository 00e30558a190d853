/**
 * The jobs in this executor's hands. Each waits on a timer of its own until its time on the database's clock, then in a heap by
 * (queue, due) for a free slot, and is gone from here when its call has ended or it is given back.
 */
import { assert } from "#core/domain/assert.ts";
import type { TaskId, WorkerId } from "#core/domain/ids.ts";
import { priorityOfQueue } from "#core/domain/queue.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { ClaimedJob, Revocation } from "#core/ports/job-store.ts";
import type { CarriedVersion } from "#core/ports/task-store.ts";
import type { DatabaseClock } from "./database-clock.ts";

export interface HeldJob {
  readonly job: ClaimedJob;
  readonly version: CarriedVersion;
  /** The id it was claimed under: results are written under it even after a fence. */
  readonly workerId: WorkerId;
  /** The database's now in the claim's SELECT. */
  readonly claimedAtMs: number;
  /** `preparing`: it has a slot, and what its call needs is being got; it may still be taken back. */
  phase: "timer" | "ready" | "preparing" | "sending" | "gone";
  cancelTimer: (() => void) | null;
}

export class HeldJobs {
  readonly #clock: Clock;
  readonly #database: DatabaseClock;
  readonly #onReady: () => void;
  readonly #held = new Set<HeldJob>();
  readonly #ready: HeldJob[] = [];
  #preparing = 0;
  #sending = 0;
  #critical = 0;

  constructor(clock: Clock, database: DatabaseClock, onReady: () => void) {
    this.#clock = clock;
    this.#database = database;
    this.#onReady = onReady;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Slots taken: calls under way, and those that are being prepared. */
  get sending(): number {
    return this.#preparing + this.#sending;
  }

  /** Critical jobs among them, sending ones included. */
  get critical(): number {
    return this.#critical;
  }

  get unsent(): number {
    return this.#held.size - this.#sending;
  }

  /** Takes a claimed job in. After a fence the same job may be here twice: the call under way, and the new claim of it. */
  add(claimed: Pick<HeldJob, "job" | "version" | "workerId" | "claimedAtMs">): void {
    const held: HeldJob = { ...claimed, phase: "timer", cancelTimer: null };
    this.#held.add(held);
    if (isCritical(held)) this.#critical++;
    this.#arm(held);
  }

  #arm(held: HeldJob): void {
    const delayMs = held.job.runAtMs - this.#database.nowMs();
    if (delayMs > 0) {
      held.cancelTimer = this.#clock.setTimer(Math.ceil(delayMs), () => {
        // A timer may fire some ms early: look at the database's clock again.
        if (held.phase === "timer") this.#arm(held);
      });
      return;
    }
    held.cancelTimer = null;
    held.phase = "ready";
    push(this.#ready, held);
    this.#onReady();
  }

  /** The most urgent job whose time has come, without taking it. */
  peekReady(): HeldJob | null {
    while (this.#ready[0]?.phase === "gone") pop(this.#ready);
    return this.#ready[0] ?? null;
  }

  /** Gives the job that `peekReady` showed a slot. */
  startPreparing(held: HeldJob): void {
    assert(this.#ready[0] === held && held.phase === "ready", "the most urgent ready job is sent");
    pop(this.#ready);
    held.phase = "preparing";
    this.#preparing++;
  }

  /** Marks a job as called: from here on nobody takes it back. */
  startSending(held: HeldJob): void {
    assert(held.phase === "preparing", "a call is prepared before it starts");
    held.phase = "sending";
    this.#preparing--;
    this.#sending++;
  }

  /** Forgets a job: its call has ended, or it is given back or dropped unsent. */
  remove(held: HeldJob): void {
    assert(held.phase !== "gone", "a job leaves once");
    if (held.phase === "preparing") this.#preparing--;
    if (held.phase === "sending") this.#sending--;
    if (isCritical(held)) this.#critical--;
    held.cancelTimer?.();
    held.cancelTimer = null;
    held.phase = "gone";
    this.#held.delete(held);
  }

  /** Removes and returns every job whose call has not begun. */
  takeUnsent(): HeldJob[] {
    return this.#takeWhere(() => true);
  }

  /** Removes and returns the unsent jobs that a revocation names and that were claimed at or before it. */
  takeRevoked(revocations: readonly Revocation[]): HeldJob[] {
    if (revocations.length === 0) return [];
    const byTask = new Map<TaskId, Revocation[]>();
    for (const revocation of revocations) {
      const list = byTask.get(revocation.taskId);
      if (list === undefined) byTask.set(revocation.taskId, [revocation]);
      else list.push(revocation);
    }
    return this.#takeWhere(({ job, claimedAtMs }) =>
      (byTask.get(job.taskId) ?? []).some(
        ({ jobId, atMs }) => (jobId === null || jobId === job.id) && claimedAtMs <= atMs,
      ),
    );
  }

  #takeWhere(wanted: (held: HeldJob) => boolean): HeldJob[] {
    const taken: HeldJob[] = [];
    for (const held of this.#held) if (held.phase !== "sending" && wanted(held)) taken.push(held);
    for (const held of taken) this.remove(held);
    return taken;
  }
}

function isCritical({ job }: HeldJob): boolean {
  return priorityOfQueue(job.queue) === "critical";
}

/** Order in which ready jobs are sent: priority and lane, then the longest due. */
function before(a: HeldJob, b: HeldJob): boolean {
  if (a.job.queue !== b.job.queue) return a.job.queue < b.job.queue;
  return a.job.runAtMs < b.job.runAtMs;
}

/** Binary heap. */
function push(heap: HeldJob[], item: HeldJob): void {
  let at = heap.push(item) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as HeldJob;
    if (!before(item, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = item;
}

function pop(heap: HeldJob[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1] as HeldJob, heap[child] as HeldJob))
      child++;
    const below = heap[child] as HeldJob;
    if (!before(below, last)) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = last;
}
