/**
 * One executor: claims due jobs ahead of their time, fires each at its second, records what came of it.
 *
 *   pollOnce   claim/claim-jobs → hold/held-jobs → fire-jobs (slots) → outbox
 *   flushOnce  outbox → database; flushFailedOnce: what failed before
 *   renewOnce  lease
 *   drain      SIGTERM: what is unsent goes back, what is under way is waited for
 *
 * Each `…Once` does one step and returns what it did; workers/executor/run-executor.ts paces them.
 *
 * Its rooms:
 *   claim   what to take: due jobs, limited ones with slots of their limits, critical ones straight from their tasks
 *   hold    what is in hand, until its time, its limits and a slot let it go; what goes back unsent
 *   call    one call: its request, secrets, tokens and signature; how its answer is kept and counted
 * claim stands on hold and call, which know neither it nor each other. By what time all go: database-clock, lease, call-rate.
 */
import { OperatingError } from "#core/domain/errors.ts";
import type { Retention } from "#core/domain/job.ts";
import {
  CLAIM_JOBS_MAX,
  HELD_CRITICAL_MIN,
  HELD_CRITICAL_ONE_IN,
  HELD_JOBS_MAX,
  HELD_JOBS_MIN,
  HELD_RATE_SECONDS,
  HELD_RATE_SECONDS_SHARED,
  PUT_OFF_EVERY_MS,
  PUT_OFF_JOBS_MAX,
  PUT_OFF_MS,
  PUT_OFF_MS_MAX,
  RENEW_PERIOD_MS,
  RESULTS_GROUP_MAX,
} from "#core/domain/limits.ts";
import { priorityOfQueue, shareOf } from "#core/domain/queue.ts";
import type { WeightOf } from "#core/domain/tenant-weight.ts";
import type { Caller } from "#core/ports/caller.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Digest } from "#core/ports/digest.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Metrics } from "#core/ports/metrics.ts";
import type { Random } from "#core/ports/random.ts";
import type { Opener, Sealer } from "#core/ports/secrets.ts";
import type { Shard } from "#core/ports/shards.ts";
import type { Signer } from "#core/ports/signer.ts";
import { AccessTokens } from "./call/access-tokens.ts";
import { CallParts } from "./call/call-parts.ts";
import { CallSender } from "./call/send-call.ts";
import { SigningKeys } from "./call/signing-keys.ts";
import { CallRate } from "./call-rate.ts";
import { Claiming, type ClaimRoom, type Polled } from "./claim/claim-jobs.ts";
import { NO_CRITICAL } from "./claim/plan-critical.ts";
import { CallPreparation } from "./claim/prepare-calls.ts";
import { LimitedTaking } from "./claim/take-limited.ts";
import { DatabaseClock } from "./database-clock.ts";
import { Firing } from "./fire-jobs.ts";
import { isAdmitted } from "./hold/goes-back.ts";
import { type HeldJob, heldKey } from "./hold/held-job.ts";
import { HeldJobs } from "./hold/held-jobs.ts";
import { criticalSlots } from "./hold/tenant-slots.ts";
import { Lease } from "./lease.ts";
import { type Kind, Outbox } from "./outbox.ts";

const NO_ROOM = {
  any: 0,
  critical: 0,
  fast: NO_CRITICAL,
  limited: false,
  hasPlenty: () => false,
};
/** A claim is of no use while so many seconds' worth of a queue is ready, and takes what calls need. */
const PLENTY_SECONDS = 1;
/** … or while so much of it is held, where others live that could have the rest. */
const PLENTY_SECONDS_SHARED = 0.25;
/** While it drains, slots that no call needs go back so often. */
const DRAIN_SLOTS_MS = 500;

export interface ExecutorDeps {
  readonly shard: Shard;
  readonly caller: Caller;
  /** Opens the tasks' secrets, makes and opens what calls are signed with. */
  readonly vault: Sealer & Opener;
  readonly signer: Signer;
  readonly digest: Digest;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly retention: Retention;
  /** Calls under way at once; critical jobs and small tenants have some more to themselves. */
  readonly slots: number;
  /** Not given: no tenant has more of a share than another. */
  readonly weightOf?: WeightOf;
}

export class Executor {
  readonly #clock: Clock;
  readonly #lease: Lease;
  readonly #held: HeldJobs;
  readonly #outbox: Outbox;
  readonly #claiming: Claiming;
  readonly #limited: LimitedTaking;
  readonly #firing: Firing;
  readonly #rate: CallRate;
  readonly #slots: number;
  #shared = false;
  #draining = false;
  #roomWanted = false;
  #putOffMs = Number.NEGATIVE_INFINITY;

  /** Called when a poll was short of room and there is room again. */
  onRoom: () => void = () => {};

  constructor(deps: ExecutorDeps) {
    const { clock, random, metrics, logger, retention, slots } = deps;
    const { tasks, jobs, workers, limits } = deps.shard;
    const database = new DatabaseClock(clock);
    this.#clock = clock;
    this.#slots = slots;
    this.#rate = new CallRate(clock, slots);
    this.#lease = new Lease({ clock, random, workers });
    const pump = () => this.#firing.pump();
    this.#held = new HeldJobs(clock, database, slots, pump, deps.weightOf);
    this.#outbox = new Outbox({ jobs, metrics, logger, retention });
    const common = { clock, random, metrics, logger, database, lease: this.#lease };
    const stores = { held: this.#held, outbox: this.#outbox };
    this.#limited = new LimitedTaking({ ...common, held: this.#held, limits });
    const parts = new CallParts({ tasks, clock });
    const keys = openKeys(deps, parts);
    const sender = openSender(deps, database, parts, keys);
    this.#firing = new Firing({ ...common, ...stores, sender });
    const limited = this.#limited;
    const preparation = new CallPreparation(deps.caller, keys, database, slots);
    const claiming = { ...common, ...stores, jobs, parts, retention, limited, preparation };
    this.#claiming = new Claiming(claiming);
    this.#firing.onEnded = (held) => this.#callEnded(held);
    this.#lease.onLapse = () => this.#leaveLimits();
  }

  /** Slots are ours only under a live lease: what uses one ends here, before others may have it. */
  #leaveLimits(): void {
    this.#firing.interruptLimited();
    this.#limited.forgetSlots();
    this.#outbox.addGivenBack(this.#held.takeUnsent(isAdmitted).map(heldKey));
  }

  /** Called when a result or a give-back waits to be written. */
  set onUnwritten(wake: () => void) {
    this.#outbox.onUnwritten = wake;
  }

  /** Called when one of these has failed, and waits for `flushFailedOnce`. */
  set onFailed(wake: (kind: Kind) => void) {
    this.#outbox.onFailed = wake;
  }

  /** Jobs in memory, slots taken, results not yet written. */
  get load(): { held: number; sending: number; unwritten: number } {
    return {
      held: this.#held.size,
      sending: this.#held.slotsTaken,
      unwritten: this.#outbox.unwritten,
    };
  }

  /** More critical jobs wait for a slot than there are slots. */
  get pressed(): boolean {
    return this.#held.pressed;
  }

  /** Whether calls may start now: the lease and the last poll are young enough. */
  get mayStart(): boolean {
    return this.#lease.mayStart();
  }

  /** Registers or renews the lease. Ms until the next: RENEW_PERIOD_MS after this was sent. Call it every RENEW_RETRY_MS while it throws. */
  async renewOnce(): Promise<number> {
    const sentMs = this.#clock.monotonicMs();
    if ((await this.#lease.renewOnce()) === "fenced") {
      this.#claiming.dropFenced();
      return 0;
    }
    this.#firing.pump();
    return Math.max(0, sentMs + RENEW_PERIOD_MS - this.#clock.monotonicMs());
  }

  /** Polls, and claims what there is room for. */
  async pollOnce(): Promise<Polled> {
    this.#noteRate();
    this.#makeRoom();
    const room = this.#draining ? NO_ROOM : this.#room();
    this.#roomWanted = false;
    const polled = await this.#claiming.pollOnce(room);
    this.#shared = polled.shared;
    // A claim that was under way when the drain began has brought jobs that must go back too.
    if (this.#draining) this.#giveBackUnsent();
    this.#roomWanted = polled.full || room.any === 0;
    this.#firing.pump();
    return polled;
  }

  /** Whether so much room is free, and so little ready of some queue, that another claim is worth its round trips. */
  hasRoom(): boolean {
    const { more } = this.#claiming;
    const runsLow = (queue: number) => 2 * this.#aheadOf(queue) < this.#plentyOf(queue);
    return this.#hasFree() && (more.length === 0 || more.some(runsLow));
  }

  #hasFree(): boolean {
    const capacity = this.#capacity();
    return capacity - this.#roomTaken >= capacity / 4;
  }

  flushOnce(): Promise<number> {
    return this.#outbox.flushOnce();
  }

  /** How many results or give-backs wait for `flushOnce`. */
  get fresh(): number {
    return this.#outbox.fresh;
  }

  /** One group of those that failed before. Returns how many are left. */
  flushFailedOnce(kind: Kind): Promise<number> {
    return this.#outbox.flushFailedOnce(kind);
  }

  /** No call starts any more, and what is unsent goes back: also what the poll under way, or a claim that is settled, brings. */
  beginDrain(): void {
    this.#draining = true;
    this.#firing.stop();
    this.#giveBackUnsent();
  }

  /** Waits for the calls under way, until `endMs` on the monotonic clock; those that are left end as `interrupted`. */
  async awaitCalls(endMs: number): Promise<void> {
    let slotsMs = this.#clock.monotonicMs();
    while (this.#held.slotsTaken > 0 && this.#clock.monotonicMs() < endMs) {
      this.#giveBackUnsent();
      if (this.#clock.monotonicMs() >= slotsMs) {
        slotsMs = this.#clock.monotonicMs() + DRAIN_SLOTS_MS;
        await this.#giveBackSlots();
      }
      await this.#clock.sleep(50);
    }
    this.#firing.interrupt();
    while (this.#held.slotsTaken > 0) await this.#clock.sleep(10);
    this.#giveBackUnsent();
  }

  /** True when nothing is left that only this process knows. */
  get isEmpty(): boolean {
    return this.#outbox.unwritten === 0 && this.#held.size === 0 && !this.#claiming.unsettled;
  }

  /** Finds out what became of a claim whose COMMIT was not answered. */
  async settle(): Promise<void> {
    await this.#claiming.settle();
    if (this.#draining) this.#giveBackUnsent();
  }

  /** Takes the worker's row away: the last act of a clean exit. */
  async leave(): Promise<void> {
    await this.#lease.end();
  }

  /** Others go on with them while our last calls end. */
  async #giveBackSlots(): Promise<void> {
    const { workerId } = this.#lease;
    if (workerId === null) return;
    try {
      await this.#limited.keepBusyOnly(workerId);
    } catch (error) {
      // They go back when this worker's row is removed, or its lease ends.
      if (!(error instanceof OperatingError)) throw error;
    }
  }

  #giveBackUnsent(): void {
    this.#outbox.addGivenBack(this.#held.takeUnsent().map(heldKey));
  }

  #callEnded({ job: { limitKey } }: HeldJob): void {
    this.#noteRate();
    if (limitKey !== null && !this.#draining && this.#limited.runsDry(limitKey)) this.onRoom();
    if (this.#held.hasFree && this.#limited.hasLeftSome() && !this.#draining) this.onRoom();
    if (!this.#roomWanted || !this.hasRoom()) return;
    this.#roomWanted = false;
    this.onRoom();
  }

  #noteRate(): void {
    const { ended, busyMs } = this.#firing;
    this.#rate.note({ ended, busyMs, saturated: this.#held.slotsTaken >= this.#slots });
  }

  /**
   * When room is short, jobs go back that wait for a tenant's own long calls: they would keep others from being claimed. At most
   * PUT_OFF_JOBS_MAX beyond what room lacks.
   */
  #makeRoom(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#hasFree() || nowMs < this.#putOffMs + PUT_OFF_EVERY_MS) return;
    const lacking = Math.max(0, this.#roomTaken - this.#capacity());
    const jobsMax = Math.min(RESULTS_GROUP_MAX, lacking + PUT_OFF_JOBS_MAX);
    const late = this.#held.takePutOff(this.#seconds * 1_000, jobsMax);
    if (late.length > 0) this.#putOffMs = nowMs;
    this.#firing.putOff(late, ({ job: { tenantId } }) =>
      Math.min(PUT_OFF_MS_MAX, Math.max(PUT_OFF_MS, this.#held.lastsMs(tenantId))),
    );
  }

  #room(): ClaimRoom {
    const { critical } = this.#held;
    const kept = criticalSlots(this.#slots);
    return {
      limited: true,
      any: Math.max(0, this.#capacity() - this.#roomTaken),
      hasPlenty: (queue) => this.#aheadOf(queue) >= this.#plentyOf(queue),
      critical: critical.free(HELD_CRITICAL_MIN, HELD_CRITICAL_ONE_IN),
      fast: {
        jobs: critical.free(kept),
        beyond: Math.max(0, kept - 1 - critical.total),
        leftOf: (tenantId) => critical.left(kept, tenantId),
      },
    };
  }

  /**
   * Jobs that take room: limited ones only when they may go, and not those of tenants whose calls last, up to as many as there is
   * room for.
   */
  get #roomTaken(): number {
    const { size, unadmitted, lasting } = this.#held;
    return size - unadmitted - Math.min(lasting, this.#capacity());
  }

  /** Jobs of a queue in hand; an executor that is alone may claim all that it has room for before they are due. */
  #aheadOf(queue: number): number {
    return this.#shared ? this.#held.unlimitedOf(queue) : this.#held.readyOf(queue);
  }

  /**
   * Of a queue's jobs, as many as its priority gets slots for in a second while others wait: more can wait where they are, and where
   * others live, critical ones are not left to whoever polls first. Nothing but critical jobs is wanted while those press. Where calls
   * last it is not the queue that says who gets a slot, and all may come.
   */
  #plentyOf(queue: number): number {
    if (this.#held.areCallsLasting) return Number.POSITIVE_INFINITY;
    const priority = priorityOfQueue(queue);
    if (this.#held.pressed && priority !== "critical") return 0;
    if (this.#shared && priority === "critical") return CLAIM_JOBS_MAX;
    const seconds = this.#shared ? PLENTY_SECONDS_SHARED : PLENTY_SECONDS;
    const wanted = seconds * this.#rate.perSecond() * shareOf(priority);
    return Math.max(CLAIM_JOBS_MAX, Math.ceil(wanted));
  }

  /** Jobs that may be in memory: some seconds of the measured rate. */
  #capacity(): number {
    const wanted = Math.ceil(this.#seconds * this.#rate.perSecond());
    return Math.min(HELD_JOBS_MAX, Math.max(HELD_JOBS_MIN, 2 * this.#slots, wanted));
  }

  get #seconds(): number {
    return this.#shared ? HELD_RATE_SECONDS_SHARED : HELD_RATE_SECONDS;
  }
}

function openKeys({ shard, vault, random }: ExecutorDeps, parts: CallParts): SigningKeys {
  return new SigningKeys({ parts, store: shard.secrets, vault, random });
}

function openSender(
  deps: ExecutorDeps,
  database: DatabaseClock,
  parts: CallParts,
  keys: SigningKeys,
): CallSender {
  const { caller, clock, digest, logger, shard, signer, vault } = deps;
  return new CallSender({
    caller,
    clock,
    database,
    logger,
    parts,
    signer,
    tasks: shard.tasks,
    jobs: shard.jobs,
    opener: vault,
    keys,
    tokens: new AccessTokens({ caller, clock, digest }),
  });
}
