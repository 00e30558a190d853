/**
 * The jobs in this executor's hands. Each waits until its time on the database's clock, a limited one then until its limits let it go
 * (limit-lines.ts), then in line for a free slot (ready-jobs.ts), and is gone from here when its call has ended or it is given back.
 */
import { assert } from "#core/domain/assert.ts";
import type { JobId, TenantId } from "#core/domain/ids.ts";
import { LASTING_MS, PUT_OFF_LASTING_MS, STUCK_MS } from "#core/domain/limits.ts";
import { priorityOfQueue, QUEUES } from "#core/domain/queue.ts";
import { ALL_ALIKE, type WeightOf } from "#core/domain/tenant-weight.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import type { DatabaseClock } from "../database-clock.ts";
import { choosePutOff } from "./choose-put-off.ts";
import { CriticalCounts } from "./critical-counts.ts";
import { EarlyJobs } from "./early-jobs.ts";
import { type Claimed, connectionOf, type HeldJob } from "./held-job.ts";
import { type Grant, LimitLines } from "./limit-lines.ts";
import { ReadyJobs } from "./ready-jobs.ts";
import { StuckJobs } from "./stuck-jobs.ts";
import { TenantCounts } from "./tenant-counts.ts";
import { type TakenSlot, TenantSlots } from "./tenant-slots.ts";

/** Jobs that are moved on at once when their time has come. */
const LOOKED_AT_ONCE_MAX = 256;

export class HeldJobs {
  readonly #clock: Clock;
  readonly #database: DatabaseClock;
  readonly #onReady: () => void;
  readonly #held = new Set<HeldJob>();
  readonly #early = new EarlyJobs();
  readonly #ready = new ReadyJobs();
  readonly #lines = new LimitLines<HeldJob>();
  /** The one timer: for the first of those that are early, or that the pace of their limits holds back. */
  #timer: { readonly atMs: number; readonly cancel: () => void } | null = null;
  readonly #slots: TenantSlots;
  readonly #stuck = new StuckJobs();
  #looksLater = false;
  /** Calls that have begun. */
  #sending = 0;
  readonly #critical: CriticalCounts;
  /** Jobs that take room. */
  readonly #roomOf = new TenantCounts();
  /** By queue, jobs without a limit that are early or ready. */
  readonly #unlimited = new Uint32Array(QUEUES);

  /** `slots`: calls under way at once, but for those in slots beside them (tenant-slots.ts). */
  constructor(
    clock: Clock,
    database: DatabaseClock,
    slots: number,
    onReady: () => void,
    weightOf: WeightOf = ALL_ALIKE,
  ) {
    this.#clock = clock;
    this.#database = database;
    this.#slots = new TenantSlots(slots, weightOf);
    this.#critical = new CriticalCounts(weightOf);
    this.#onReady = onReady;
  }

  get size(): number {
    return this.#held.size;
  }

  /** By calls under way, and by those that are being prepared. */
  get slotsTaken(): number {
    return this.#slots.taken;
  }

  /** Jobs that take room, limited ones from when their limits have let them go, of tenants whose calls last: they wait for those. */
  get lasting(): number {
    const lasting = this.#slots.lastingAt(this.#clock.monotonicMs());
    return lasting.reduce((sum, tenantId) => sum + this.#roomOf.of(tenantId), 0);
  }

  /** How long a tenant's calls probably last, judged by those under way. */
  lastsMs(tenantId: TenantId): number {
    return this.#slots.lastsMs(tenantId, this.#clock.monotonicMs());
  }

  /** What is known of limits, and of the jobs that are held to them. */
  get lines(): Pick<
    LimitLines<HeldJob>,
    | "unstarted"
    | "lookAt"
    | "waitingKeys"
    | "giveUpIdle"
    | "giveUpUnused"
    | "forgetSlots"
    | "forgetTimes"
  > {
    return this.#lines;
  }

  /** Limited jobs that their limits have not let go: they keep no other from being claimed. */
  get unadmitted(): number {
    return this.#lines.unadmitted;
  }

  /** Critical jobs that are held, sending ones included; limited ones from when their limits have let them go. */
  get critical(): Pick<CriticalCounts, "total" | "free" | "left"> {
    return this.#critical;
  }

  /**
   * More critical jobs wait than there are slots, which their short calls leave free in a moment: a peak has just begun. What can be
   * done a moment later is done then, so that the machine is theirs.
   */
  get pressed(): boolean {
    return this.#ready.critical > this.#slots.most && !this.areCallsLasting;
  }

  /** The calls under way last: slots are what is scarce, and some are open for tenants whose jobs may not be here. */
  get areCallsLasting(): boolean {
    return this.#slots.areLasting(this.#clock.monotonicMs());
  }

  /** Whether some slot is free for whoever comes. */
  get hasFree(): boolean {
    return this.#slots.isFree("any");
  }

  /** Whether a job of this tenant and queue finds no slot here for long, because of the tenant's own calls. */
  isStuck(tenantId: TenantId, queue: number): boolean {
    const slots = this.#slots;
    if (!slots.isStuck(tenantId, this.#clock.monotonicMs(), STUCK_MS)) return false;
    const isFree = slots.isFree("critical") && !slots.atQuota.has(tenantId);
    return !(isFree && priorityOfQueue(queue) === "critical");
  }

  /** Jobs of a queue that wait for a slot, with a limit or without. */
  readyOf(queue: number): number {
    return this.#ready.countOfQueue(queue);
  }

  /** Jobs of a queue without a limit that wait for a slot, or for their time. */
  unlimitedOf(queue: number): number {
    return this.#unlimited[queue] ?? 0;
  }

  get unsent(): number {
    return this.#held.size - this.#sending;
  }

  /** Takes claimed jobs in. After a fence the same job may be here twice: the call under way, and the new claim of it. */
  add(claimed: readonly Claimed[]): void {
    for (const one of claimed) {
      const connection = connectionOf(one.job, one.version.request.url);
      const held: HeldJob = { ...one, connection, phase: "early", slot: null };
      this.#held.add(held);
      if (isLimited(held)) this.#lines.add(held);
      else {
        this.#countUnlimited(held, 1);
        this.#takeRoom(held);
      }
      this.#early.push(held);
    }
    this.look();
  }

  /**
   * Moves on what is due, the most urgent first, and sets the timer for what is next; call it when the database's clock has been told
   * anew. Thousands may be due at the same instant: no more at once than take a ms or so, so that the first of them are called before
   * the last have been looked at.
   */
  look(): void {
    // The clock may have been set forward since it was set.
    this.#timer?.cancel();
    this.#timer = null;
    const nowMs = this.#database.nowMs();
    let moved = false;
    let looked = 0;
    let next = this.#early.peek();
    for (; next !== null && looked < LOOKED_AT_ONCE_MAX; next = this.#early.peek()) {
      looked++;
      if (next.phase === "early") {
        if (next.job.runAtMs > nowMs) break;
        if (isLimited(next)) {
          next.phase = "limited";
          this.#lines.offer(next);
        } else {
          next.phase = "ready";
          this.#ready.add(next);
          moved = true;
        }
      }
      this.#early.pop();
    }
    if (this.#admit(nowMs)) moved = true;
    if (next !== null) this.#setTimer(next.job.runAtMs, nowMs);
    if (moved) this.#onReady();
  }

  /** Moves on what limits let go, and sets the timer for what their pace holds back. True when there was something. */
  #admit(nowMs: number): boolean {
    const admitted = this.#lines.admit(nowMs);
    for (const held of admitted) {
      held.phase = "ready";
      this.#takeRoom(held);
      this.#ready.add(held);
    }
    const { wakeAtMs } = this.#lines;
    if (wakeAtMs !== null) this.#setTimer(wakeAtMs, nowMs);
    return admitted.length > 0;
  }

  /** Notes what this executor may do under limits. */
  grant(grants: readonly Grant[]): void {
    this.#lines.grant(grants, this.#database.nowMs());
    this.look();
  }

  #setTimer(atMs: number, nowMs: number): void {
    if (this.#timer !== null && this.#timer.atMs <= atMs) return;
    this.#timer?.cancel();
    const cancel = this.#clock.setTimer(Math.ceil(atMs - nowMs), () => {
      // A timer may fire some ms early: look at the database's clock again.
      this.look();
    });
    this.#timer = { atMs, cancel };
  }

  /** Gives the job that is next among those whose time has come a slot; null when there is none, or no slot for it. */
  takeReady(): HeldJob | null {
    const slots = this.#slots;
    if (slots.isFree("any")) return this.#giveSlot("any", this.#takeNext());
    const critical = slots.isFree("critical") ? this.#ready.take(true, slots.atQuota) : null;
    if (critical !== null) return this.#giveSlot("critical", critical);
    if (!slots.isFree("small")) return null;
    if (slots.areLasting(this.#clock.monotonicMs()))
      return this.#giveSlot("small", this.#ready.take(false, slots.big));
    this.#lookLater();
    return null;
  }

  /** Slots for small tenants open when the calls in the others last: looked at again then. */
  #lookLater(): void {
    if (this.#looksLater || this.#ready.size === 0) return;
    this.#looksLater = true;
    this.#clock.setTimer(LASTING_MS, () => {
      this.#looksLater = false;
      this.#onReady();
    });
  }

  /** Critical jobs never wait for others; in each kind, who has a good part of the slots goes last. */
  #takeNext(): HeldJob | null {
    const aside = this.#slots.asideAt(this.#clock.monotonicMs());
    const ready = this.#ready;
    if (aside.size === 0) return ready.take(false);
    return (
      ready.take(true, aside) ?? ready.take(true) ?? ready.take(false, aside) ?? ready.take(false)
    );
  }

  #giveSlot(kind: TakenSlot["kind"], held: HeldJob | null): HeldJob | null {
    if (held === null) return null;
    if (!isLimited(held)) this.#countUnlimited(held, -1);
    held.phase = "preparing";
    held.slot = this.#slots.take(kind, held.job.tenantId, this.#clock.monotonicMs());
    return held;
  }

  /** A call of this job has been answered, and its connection waits for another. */
  noteIdle({ connection }: HeldJob): void {
    this.#ready.noteIdle(connection);
  }

  /** Whether a job's call holds a slot of a limit. */
  hasLimitSlot(held: HeldJob): boolean {
    return isLimited(held) && this.#lines.needsSlot(held);
  }

  /** Whether the rates of a job's limits may let its call start now. */
  isInTime(held: HeldJob): boolean {
    return !isLimited(held) || this.#lines.mayStart(held, this.#database.nowMs());
  }

  /** Marks a job as called: from here on nobody takes it back. False: it has come too late for its rate. */
  startSending(held: HeldJob): boolean {
    assert(held.phase === "preparing", "a call is prepared before it starts");
    if (isLimited(held) && !this.#lines.start(held, this.#database.nowMs())) return false;
    held.phase = "sending";
    this.#sending++;
    return true;
  }

  /** A job that has come too late for its rate stands in line again, and its slot is free. */
  lineUpAgain(held: HeldJob): void {
    assert(held.phase === "preparing" && held.slot !== null, "it was about to be called");
    this.#slots.giveBack(held.slot);
    held.slot = null;
    held.phase = "limited";
    this.#leaveRoom(held);
    this.#lines.offerAgain(held);
    this.#admit(this.#database.nowMs());
  }

  /** Forgets a job: its call has ended, or it is given back or dropped unsent. What it was in the way of is ready then. */
  remove(held: HeldJob): void {
    this.#forget(held);
    if (isLimited(held)) this.#admit(this.#database.nowMs());
  }

  #forget(held: HeldJob): void {
    const { phase } = held;
    assert(phase !== "gone", "a job leaves once");
    if (phase === "sending") this.#sending--;
    if (held.slot !== null) this.#slots.giveBack(held.slot);
    held.slot = null;
    const isUnadmitted = isLimited(held) && (phase === "early" || phase === "limited");
    if (!isUnadmitted) this.#leaveRoom(held);
    if (!isLimited(held) && (phase === "early" || phase === "ready"))
      this.#countUnlimited(held, -1);
    held.phase = "gone";
    if (phase === "ready") this.#ready.drop(held);
    if (isLimited(held)) this.#lines.remove(held, this.#database.nowMs());
    this.#held.delete(held);
  }

  #takeRoom(held: HeldJob): void {
    this.#roomOf.add(held.job.tenantId);
    if (isCritical(held)) this.#critical.add(held.job.tenantId);
  }

  #leaveRoom(held: HeldJob): void {
    this.#roomOf.remove(held.job.tenantId);
    if (isCritical(held)) this.#critical.remove(held.job.tenantId);
  }

  #countUnlimited({ job }: HeldJob, by: number): void {
    this.#unlimited[job.queue] = this.unlimitedOf(job.queue) + by;
  }

  /** Removes and returns the jobs whose call has not begun, all or those that are wanted (goes-back.ts). */
  takeUnsent(wanted: (held: HeldJob) => boolean = () => true): HeldJob[] {
    const taken: HeldJob[] = [];
    for (const held of this.#held) if (held.phase !== "sending" && wanted(held)) taken.push(held);
    for (const held of taken) this.#forget(held);
    if (taken.some(isLimited)) this.#admit(this.#database.nowMs());
    return taken;
  }

  listUnsent(wanted: (job: ClaimedJob) => boolean): JobId[] {
    const ids: JobId[] = [];
    for (const { phase, job } of this.#held)
      if (phase !== "sending" && wanted(job)) ids.push(job.id);
    return ids;
  }

  /** Removes and returns jobs that others may have a slot for (stuck-jobs.ts). */
  takeStuck(): HeldJob[] {
    if (this.#slots.isFree("any")) return [];
    const nowMs = { monotonic: this.#clock.monotonicMs(), database: this.#database.nowMs() };
    const isStuck = ({ job }: HeldJob) => this.isStuck(job.tenantId, job.queue);
    const stuck = this.#stuck.choose(this.#held, isStuck, nowMs);
    return stuck.size === 0 ? [] : this.takeUnsent((held) => stuck.has(held));
  }

  /** Removes and returns up to `jobsMax` jobs that tenants whose calls are long in themselves will not start in the next `withinMs`. */
  takePutOff(withinMs: number, jobsMax: number): HeldJob[] {
    const soon = this.#slots.startsWithin(withinMs, this.#clock.monotonicMs(), PUT_OFF_LASTING_MS);
    const chosen = choosePutOff(this.#held, this.#roomOf, soon, jobsMax);
    return this.takeUnsent((held) => chosen.has(held));
  }
}

function isLimited({ job }: HeldJob): boolean {
  return job.limitKey !== null;
}

function isCritical({ job }: HeldJob): boolean {
  return priorityOfQueue(job.queue) === "critical";
}
