/**
 * Polls the queue and claims what is due. One poll tells the heads of the queues, the database's clock, revocations and how many
 * executors live; a claim follows only when something is due within a second after the next poll, and there is room for it.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import { GroupSize } from "#core/domain/group-size.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import {
  CLAIM_AHEAD_MS,
  CLAIM_JOBS_MAX,
  POLL_PERIOD_MS,
  RESULTS_WAITING_MAX,
  REVOCATION_WINDOW_MS,
  REVOKED_GROUP_MAX,
} from "#core/domain/limits.ts";
import { type ClaimShare, priorityOfQueue, type Room, shareRoom } from "#core/domain/queue.ts";
import type { Clock } from "#core/ports/clock.ts";
import type {
  ClaimedJob,
  ClaimResult,
  JobStore,
  Poll,
  UnknownClaim,
} from "#core/ports/job-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Metrics } from "#core/ports/metrics.ts";
import type { CallParts } from "../call/call-parts.ts";
import type { DatabaseClock } from "../database-clock.ts";
import { isFarAhead, isHeldIn, isNearBackstop } from "../hold/goes-back.ts";
import { type Claimed, heldKey } from "../hold/held-job.ts";
import type { HeldJobs } from "../hold/held-jobs.ts";
import type { Lease } from "../lease.ts";
import type { Outbox } from "../outbox.ts";
import { deadOnArrival } from "./dead-on-arrival.ts";
import { type CriticalRoom, planCritical } from "./plan-critical.ts";
import { pollPeriodMs, untilNextPollMs } from "./poll-place.ts";
import type { CallPreparation } from "./prepare-calls.ts";
import { QueueFloors } from "./queue-floors.ts";
import { QueueWants } from "./queue-wants.ts";
import { jobsNamedBy } from "./revoked-jobs.ts";
import type { LimitedTaking } from "./take-limited.ts";

interface ClaimingDeps {
  readonly jobs: JobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly database: DatabaseClock;
  readonly lease: Lease;
  readonly held: HeldJobs;
  readonly outbox: Outbox;
  readonly retention: Retention;
  readonly parts: CallParts;
  readonly preparation: CallPreparation;
  readonly limited: LimitedTaking;
}

export interface Polled {
  /** More is probably due: a queue gave all that it was asked for, or was passed over because plenty of it is ready. */
  readonly full: boolean;
  /** Other executors live, with which jobs are shared. */
  readonly shared: boolean;
  /** Ms until this executor's next place in the common poll period, or less when that has passed meanwhile. */
  readonly nextPollMs: number;
}

/** Tasks that are looked at for each that may be taken, so that one tenant's do not hide the others'. */
const FAST_TASKS_PER_JOB = 4;
const IDLE: Polled = { full: false, shared: false, nextPollMs: POLL_PERIOD_MS };

/** While every poll brings jobs, a step beside them that fails is told in the log so often. */
const WARNED_EVERY_MS = 10_000;

export interface ClaimRoom extends Pick<Room, "any" | "critical"> {
  /** False: no limited jobs are taken either. */
  readonly limited: boolean;
  /** Whether so many jobs of a queue wait for slots already that it need not be asked for more. */
  hasPlenty(queue: number): boolean;
  /** For critical tasks that are made and taken: free slots that only critical jobs use. */
  readonly fast: CriticalRoom;
}

export class Claiming {
  readonly #deps: ClaimingDeps;
  readonly #floors = new QueueFloors();
  readonly #wants = new QueueWants();
  readonly #size = new GroupSize(CLAIM_JOBS_MAX);
  readonly #fastSize = new GroupSize(CLAIM_JOBS_MAX);
  #unknown: UnknownClaim | null = null;
  #more: readonly number[] = [];
  /** What a step beside this poll's claims has thrown, to be told when all had their turn. */
  #failure: OperatingError | null = null;
  #warnedMs = Number.NEGATIVE_INFINITY;
  /** The queue whose turn it was in the last claim that came to any. */
  #turn = 0;

  constructor(deps: ClaimingDeps) {
    this.#deps = deps;
  }

  /** A claim whose COMMIT was not answered is still to be settled. */
  get unsettled(): boolean {
    return this.#unknown !== null;
  }

  /** Queues that probably have more than the last poll has claimed. */
  get more(): readonly number[] {
    return this.#more;
  }

  /** One poll, and one claim for what there is room for when something is due. Throws what the store throws, with nothing lost. */
  async pollOnce(room: ClaimRoom): Promise<Polled> {
    const { lease, clock, jobs, database, held, limited, outbox } = this.#deps;
    const workerId = lease.workerId;
    if (workerId === null) return IDLE;
    const asked = this.#floors.next();
    const sentMs = clock.monotonicMs();
    const revocationsWithinMs = REVOCATION_WINDOW_MS + Math.ceil(lease.sinceLastPollMs());
    const poll = await jobs.poll({ workerId, queues: asked, revocationsWithinMs });
    const receivedMs = clock.monotonicMs();
    const step = database.addSample(sentMs, receivedMs, poll.nowMs);
    if (step === "back") this.#forgetTimes();
    if (step === "forward") limited.pause();
    if (poll.revocations > 0) await this.#followRevocations(revocationsWithinMs);
    lease.notePoll(sentMs);
    held.look();
    outbox.addGivenBack(held.takeUnsent(isNearBackstop(database.nowMs())).map(heldKey));
    // Which may take long: calls wait for polls, and only claims for this.
    await this.settle();
    const periodMs = pollPeriodMs(poll);
    const aheadMs = periodMs + CLAIM_AHEAD_MS;
    const full = await this.#claimDue(workerId, poll, room, aheadMs);
    // Where the clock was set back, it was asked from floors of before.
    if (step !== "back") this.#floors.note(asked, poll);
    const soon = room.limited && (await this.#takeLimited(workerId, poll, periodMs));
    // Thrown, it makes the loop back off; not while claims bring jobs.
    if (this.#failure !== null && !full) throw this.#failure;
    if (this.#failure !== null) this.#warnOf(this.#failure);
    // What the claim has taken is a part of the wait: a pause or delete is to be heard of in time.
    const nextPollMs = untilNextPollMs(poll, clock.monotonicMs() - receivedMs, soon);
    return { full, shared: poll.liveWorkers > 1, nextPollMs };
  }

  /** What is remembered by the database's time is of before its clock was set back. */
  #forgetTimes(): void {
    const { database, held, outbox } = this.#deps;
    this.#floors.forget();
    held.lines.forgetTimes();
    outbox.addGivenBack(held.takeUnsent(isFarAhead(database.nowMs())).map(heldKey));
  }

  /** Slots and jobs of limits; true when more could be had at once. */
  async #takeLimited(workerId: WorkerId, poll: Poll, periodMs: number): Promise<boolean> {
    const { held, lease, limited, outbox } = this.#deps;
    const isOurs = () => this.#unknown === null && lease.workerId === workerId;
    if (!isOurs() || outbox.unwritten >= RESULTS_WAITING_MAX) return false;
    const { waiting, liveWorkers } = poll;
    if (liveWorkers > 1) this.#leaveStuck();
    const aheadMs = periodMs + CLAIM_AHEAD_MS;
    const situation = { workerId, waiting, liveWorkers, aheadMs, periodMs };
    const { result, soon, outOf } = await limited.takeOnce(situation);
    if (outOf.size > 0) outbox.addGivenBack(held.takeUnsent(isHeldIn(outOf)).map(heldKey));
    if (result !== null) await this.#takeIn(result, workerId);
    if (isOurs()) await this.#beside(() => limited.keepOnce(workerId));
    return soon;
  }

  /** After our claim, so that others are the next to claim what goes back. */
  #leaveStuck(): void {
    const { held, limited, outbox } = this.#deps;
    const stuck = held.takeStuck();
    limited.leave(new Set(stuck.flatMap(({ job: { limitKey } }) => limitKey ?? [])));
    outbox.addGivenBack(stuck.map(heldKey));
  }

  /** True when more is probably due. */
  async #claimDue(
    workerId: WorkerId,
    poll: Poll,
    room: ClaimRoom,
    aheadMs: number,
  ): Promise<boolean> {
    this.#more = [];
    this.#failure = null;
    if (this.#deps.outbox.unwritten >= RESULTS_WAITING_MAX) return false;
    const fastRoom = this.#fastRoom(room.fast);
    const makes = poll.criticalTask && fastRoom.jobs > 0;
    const take = () => this.#takeCritical(workerId, fastRoom);
    const fast = makes ? ((await this.#beside(take)) ?? 0) : 0;
    // One that is still to be settled, or has found us fenced, is the last.
    if (this.#unknown !== null || this.#deps.lease.workerId !== workerId) return false;
    const heads = [...poll.heads].filter(([, { dueAtMs }]) => dueAtMs <= poll.nowMs + aheadMs);
    const due = heads.map(([queue]) => queue);
    const asked = due.filter((queue) => !room.hasPlenty(queue));
    const shares = this.#branches(asked, room);
    const more = shares.length > 0 ? await this.#claim(workerId, shares, aheadMs, poll.heads) : [];
    this.#more = [...due.filter((queue) => !asked.includes(queue)), ...more];
    return this.#more.length > 0 || fast >= Math.max(1, fastRoom.beyond);
  }

  /** Finds out what became of a claim whose COMMIT was not answered. */
  async settle(): Promise<void> {
    const claim = this.#unknown;
    if (claim === null) return;
    const adopted = await this.#deps.jobs.adopt(claim);
    this.#unknown = null;
    const { workerId, claimedAtMs } = claim;
    const marked = adopted.jobs.filter((job) => adopted.marked.has(job.id));
    this.#deps.outbox.addGivenBack(marked.map((job) => heldKey({ job, workerId })));
    const ours = adopted.jobs.filter((job) => !adopted.marked.has(job.id));
    await this.#hold(workerId, claimedAtMs, ours);
  }

  #branches(queues: readonly number[], room: ClaimRoom): readonly ClaimShare[] {
    const { rowsMax } = this.#size;
    const any = Math.min(room.any, rowsMax);
    const critical = Math.min(room.critical, rowsMax - any);
    if (any + critical === 0 || queues.length === 0) return [];
    return this.#inTurn(shareRoom(queues, { any, critical, wantedBy: this.#wants.wantedBy }));
  }

  /** Where a claim may end before it comes to the last share, each is the first after the critical ones in its turn. */
  #inTurn(shares: readonly ClaimShare[]): readonly ClaimShare[] {
    if (sumOf(shares) <= this.#size.rowsMax) return shares;
    const others = shares.filter(isNotCritical);
    const critical = shares.slice(0, shares.length - others.length);
    const first = Math.max(
      0,
      others.findIndex(({ queue }) => queue > this.#turn),
    );
    return [...critical, ...others.slice(first), ...others.slice(0, first)];
  }

  /** Answers the queues that probably have more. */
  async #claim(
    workerId: WorkerId,
    shares: readonly ClaimShare[],
    aheadMs: number,
    heads: Poll["heads"],
  ): Promise<readonly number[]> {
    const branches = shares.map((share) => ({
      ...share,
      head: heads.get(share.queue) ?? null,
    }));
    const asked = sumOf(shares);
    const limit = Math.min(asked, this.#size.rowsMax);
    const request = { workerId, branches, aheadMs, limit };
    const result = await this.#size.learn(limit, () => this.#deps.jobs.claimDue(request), rowsOf);
    const jobs = await this.#takeIn(result, workerId);
    // Of one that is still to be settled nobody knows what a queue had.
    if (result.kind !== "claimed") return shares.map(({ queue }) => queue);
    if (limit < asked && jobs.some(isNotCritical))
      this.#turn = shares.find(isNotCritical)?.queue ?? 0;
    return this.#wants.note(shares, jobs, limit);
  }

  #fastRoom(room: CriticalRoom): CriticalRoom {
    const { rowsMax } = this.#fastSize;
    return {
      ...room,
      jobs: Math.min(room.jobs, rowsMax),
      beyond: Math.min(room.beyond, rowsMax),
    };
  }

  /** A step that cannot be done now holds up nothing that can be claimed: null. */
  async #beside<Answer>(step: () => Promise<Answer>): Promise<Answer | null> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof OperatingError) || !error.retryable) throw error;
      this.#failure = error;
      return null;
    }
  }

  #warnOf(failure: OperatingError): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#warnedMs < WARNED_EVERY_MS) return;
    this.#warnedMs = nowMs;
    this.#deps.logger.warn(
      "critical tasks wait to be made, or slots and lines of limits to be let go; claims go on, and each poll tries again",
      describeError(failure),
    );
  }

  /** Critical tasks that nobody has made yet, straight into our hands. */
  async #takeCritical(workerId: WorkerId, room: CriticalRoom): Promise<number> {
    const request = { workerId, tasksMax: room.jobs * FAST_TASKS_PER_JOB };
    const { jobs, retention } = this.#deps;
    const take = () => jobs.takeCritical(request, (due) => planCritical(due, room, retention));
    const taken = await this.#fastSize.learn(room.jobs, take, rowsOf);
    return (await this.#takeIn(taken, workerId)).length;
  }

  /** Goes on with what a claim has brought; answers its jobs, none when it failed or is still to be settled. */
  async #takeIn(claim: ClaimResult, workerId: WorkerId): Promise<readonly ClaimedJob[]> {
    switch (claim.kind) {
      case "fenced":
        // The renewal may have heard of it before, and the worker have another id by now.
        if (this.#deps.lease.workerId === workerId) this.dropFenced();
        return [];
      case "unknown":
        this.#unknown = claim.claim;
        this.#deps.metrics.count("claims_unknown", 1);
        return [];
      case "claimed":
        this.#deps.metrics.count("claimed", claim.jobs.length);
        await this.#hold(workerId, claim.claimedAtMs, claim.jobs);
        return claim.jobs;
    }
  }

  /** Others may have taken our unsent jobs: they are forgotten. Calls under way go on, their results are written as before. */
  dropFenced(): void {
    const dropped = this.#deps.held.takeUnsent();
    this.#deps.lease.forget();
    this.#deps.limited.forgetWorker();
    this.#deps.metrics.count("fenced", 1);
    this.#deps.logger.warn(
      "fenced: unsent jobs are dropped, others have them; going on under a new id",
      {
        count: dropped.length,
      },
    );
  }

  /** Jobs are ours from here on: each is held; dead where its request is gone, given back where none can be read. */
  async #hold(workerId: WorkerId, claimedAtMs: number, jobs: readonly ClaimedJob[]): Promise<void> {
    if (jobs.length === 0) return;
    const { parts, held, outbox, logger, metrics, database } = this.#deps;
    let found: Awaited<ReturnType<CallParts["versionsOf"]>>;
    try {
      found = await parts.versionsOf(jobs);
    } catch (error) {
      outbox.addGivenBack(jobs.map((job) => heldKey({ job, workerId })));
      throw error;
    }
    const claimed: Claimed[] = [];
    for (const [i, job] of jobs.entries()) {
      const version = found[i] ?? null;
      if (version !== null) {
        claimed.push({ job, version, workerId, claimedAtMs });
        continue;
      }
      logger.error("job has no request: it is dead", { jobId: job.id, code: "version-missing" });
      metrics.count("dead", 1);
      outbox.addResult(deadOnArrival({ job, workerId, claimedAtMs }, database.nowMs()));
    }
    this.#deps.preparation.prepare(claimed);
    held.add(claimed);
  }

  /**
   * Gives back what is not to be called any more. Which of the jobs that revocations name these are is told by the rows: a time of the
   * revocation beside the claim's says nothing where the database's clock has been set between them.
   */
  async #followRevocations(withinMs: number): Promise<void> {
    const { held, jobs, outbox } = this.#deps;
    if (held.unsent === 0) return;
    const named = held.listUnsent(jobsNamedBy(await jobs.listRevocations(withinMs)));
    for (let from = 0; from < named.length; from += REVOKED_GROUP_MAX) {
      const marked = new Set(await jobs.listMarked(named.slice(from, from + REVOKED_GROUP_MAX)));
      if (marked.size === 0) continue;
      outbox.addGivenBack(held.takeUnsent(({ job }) => marked.has(job.id)).map(heldKey));
    }
  }
}

function isNotCritical({ queue }: { readonly queue: number }): boolean {
  return priorityOfQueue(queue) !== "critical";
}

function sumOf(shares: readonly ClaimShare[]): number {
  return shares.reduce((sum, { limit }) => sum + limit, 0);
}

function rowsOf(result: ClaimResult): number {
  return result.kind === "claimed" ? result.jobs.length : 0;
}
