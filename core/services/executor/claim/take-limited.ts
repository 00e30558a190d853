/**
 * Takes limited jobs: looks which lines have some that are due, and asks the store for slots and jobs of those that this executor can
 * do. What it has of a limit is in hold/limit-lines.ts; jobs go the way of all others (claim-jobs.ts), held back there until they may go.
 *
 * Of a limit each executor asks for its part (shared by those that live), and for one slot more each time it got all that it had asked for
 * and jobs still wait; what is idle for a second goes back. Jobs are taken ahead, as many as the line probably does until the poll after
 * the next, so that a slot never waits for the database.
 */
import { type LimitKey, tenantKeyOf, tenantOf } from "#core/domain/call-limit.ts";
import { GroupSize } from "#core/domain/group-size.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import {
  LIMIT_IDLE_MS,
  LIMIT_LINES_LISTED_MAX,
  LIMIT_LINES_MAX,
  LIMIT_START_AHEAD_MS,
  LINES_HELD_MAX,
  POLL_PERIOD_MS,
  POLL_PERIOD_MS_MAX,
  RELEASE_GROUP_MAX,
  START_WINDOW_MS,
  STUCK_LEFT_MS,
} from "#core/domain/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type {
  KeptSlots,
  LimitStore,
  LineRequest,
  QueueOfLine,
  TakeLimitedResult,
  TakenLimited,
} from "#core/ports/limit-store.ts";
import type { DatabaseClock } from "../database-clock.ts";
import type { HeldJobs } from "../hold/held-jobs.ts";
import type { KeyView } from "../hold/limit-line.ts";
import type { Grant, LineView } from "../hold/limit-lines.ts";
import type { Lease } from "../lease.ts";
import {
  FIRST_JOBS,
  isBelow,
  isOutOfSlots,
  isRated,
  jobsToHold,
  lacks,
  slotsToAsk,
} from "./line-needs.ts";
import { byUrgency, linesInTurn } from "./lines-in-turn.ts";

interface TakeLimitedDeps {
  readonly limits: LimitStore;
  readonly held: HeldJobs;
  readonly lease: Lease;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly database: DatabaseClock;
}

interface Situation {
  readonly workerId: WorkerId;
  /** A poll has told that somebody waits under a limit. */
  readonly waiting: boolean;
  readonly liveWorkers: number;
  /** Jobs are taken that are due up to so much ahead. */
  readonly aheadMs: number;
  readonly periodMs: number;
}

export interface LimitedTake {
  /** Null: nothing was asked for. */
  readonly result: TakeLimitedResult | null;
  /** More could be had before the next poll. */
  readonly soon: boolean;
  /** Lines of which others have all slots: what is here of them goes back, for those others. */
  readonly outOf: ReadonlySet<LimitKey>;
}

/** What was asked of a line the last time; all times are monotonic. */
interface Asked {
  /** Of its own key and its tenant's. */
  readonly slots: number;
  readonly tenantSlots: number;
  /** Jobs that it would have had besides the calls under way. */
  readonly target: number;
  readonly atMs: number;
  /** It gave all that it was asked for: it probably has more. */
  more: boolean;
  /** It is not asked before: others have all slots, or its rate lets nothing more start for now. */
  notBeforeMs: number;
  /** More slots are not asked for before: others have them. */
  slotsNotBeforeMs: number;
}

const NOTHING: LimitedTake = { result: null, soon: false, outOf: new Set() };
/** What is known of a limit under which jobs wait here is asked again after this: it may have been changed. */
const REFRESH_MS = 2_000;
/** What was asked of a line is remembered for so long. */
const ASKED_KEPT_MS = 10_000;
/** After each poll no line is begun to be let go later than this: the next poll waits, and calls wait for that. */
const RELEASES_MS = POLL_PERIOD_MS / 2;
/** A line of a rate is asked again when the next of these begins. */
const RATED_PERIOD_MS = LIMIT_START_AHEAD_MS / 2;

export class LimitedTaking {
  readonly #deps: TakeLimitedDeps;
  readonly #asked = new Map<LimitKey, Asked>();
  /** Slots that were given up here, and that the store may not know of yet. */
  readonly #kept = new Map<LimitKey, KeptSlots>();
  /** Lines whose jobs go on without a limit; those that are left then are found by the next take. */
  readonly #toRelease = new Set<LimitKey>();
  /** Lines have their turn by key, so that however many wait, each is asked: this had the last. */
  #after: LimitKey | null = null;
  #left = false;
  /** Lines and jobs of one take. */
  readonly #size = new GroupSize(LIMIT_LINES_MAX + LINES_HELD_MAX);
  /** Nothing is taken before, on the monotonic clock. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(deps: TakeLimitedDeps) {
    this.#deps = deps;
  }

  /** Whether the last look has left lines to others because calls of their tenants fill this executor; told once. */
  hasLeftSome(): boolean {
    const left = this.#left;
    this.#left = false;
    return left;
  }

  /** Whether the line of a call that has just ended runs dry before the next poll. */
  runsDry(key: LimitKey): boolean {
    const asked = this.#asked.get(key);
    if (asked === undefined || !asked.more) return false;
    if (2 * this.#deps.held.lines.lookAt(key).unstarted > asked.target) return false;
    asked.more = false;
    return true;
  }

  /** One look at the lines and one take of what there is something to ask for. Throws what the store throws, with nothing lost. */
  async takeOnce(situation: Situation): Promise<LimitedTake> {
    const { limits, held, lease, clock } = this.#deps;
    this.#left = false;
    if (!situation.waiting && held.unadmitted === 0) return NOTHING;
    if (clock.monotonicMs() < this.#pausedUntilMs) return NOTHING;
    const listed = situation.waiting
      ? await limits.listLines(situation.aheadMs, LIMIT_LINES_LISTED_MAX, this.#after)
      : [];
    const requests = this.#requests(listed, situation);
    if (requests.length === 0 || !lease.mayStart()) return NOTHING;
    const { workerId, aheadMs } = situation;
    const { lapses } = lease;
    const asked = requests.reduce((sum, { jobsMax }) => sum + 1 + jobsMax, 0);
    const request = { workerId, aheadMs, lines: requests };
    const result = await this.#size.learn(asked, () => limits.takeLimited(request));
    if (result.kind === "fenced") return { ...NOTHING, result };
    const taken = result.kind === "claimed" ? result : result.claim;
    // A lease that has lapsed meanwhile may have ended before it was renewed, and its slots with it.
    const isCertain = result.kind === "claimed" && lapses === lease.lapses;
    this.#grant(taken, isCertain);
    for (const { key, limit } of taken.lines) if (limit === null) this.#toRelease.add(key);
    const out = isCertain ? taken.lines.filter((line) => isOutOfSlots(line)) : [];
    const outOf = new Set(out.map(({ key }) => key));
    return { result, soon: this.#note(requests, taken, clock.monotonicMs()), outOf };
  }

  /**
   * The database's clock was set forward: leases of others are over by it, and their slots seem free, but their calls go on. By the end
   * of the pause each has renewed its lease, or ended its calls.
   */
  pause(): void {
    this.#pausedUntilMs = this.#deps.clock.monotonicMs() + START_WINDOW_MS;
  }

  /**
   * Gives back what has not been used for a while, and lets go lines without a limit: one, and more while there is time, also where
   * slots cannot be given back. Throws what the store throws; the next one goes on with the rest.
   */
  async keepOnce(workerId: WorkerId): Promise<void> {
    this.#keep(this.#deps.held.lines.giveUpIdle(this.#deps.database.nowMs()));
    const longAgoMs = this.#deps.clock.monotonicMs() - ASKED_KEPT_MS;
    for (const [key, { atMs }] of this.#asked) if (atMs < longAgoMs) this.#asked.delete(key);
    try {
      await this.#tell(workerId);
    } finally {
      await this.#letLinesGo();
    }
  }

  async #letLinesGo(): Promise<void> {
    const endMs = this.#deps.clock.monotonicMs() + RELEASES_MS;
    for (const key of this.#toRelease) {
      this.#toRelease.delete(key);
      await this.#deps.limits.releaseLine(key, RELEASE_GROUP_MAX);
      if (this.#deps.clock.monotonicMs() >= endMs) break;
    }
  }

  /** Gives back every slot that no call needs: nothing more is going to start. */
  async keepBusyOnly(workerId: WorkerId): Promise<void> {
    this.#keep(this.#deps.held.lines.giveUpUnused());
    await this.#tell(workerId);
  }

  /** Gives up what is here of lines whose jobs have just gone back; others have the first go at them. */
  leave(keys: ReadonlySet<LimitKey>): void {
    const notBeforeMs = this.#deps.clock.monotonicMs() + POLL_PERIOD_MS_MAX;
    for (const key of keys) {
      const asked = this.#asked.get(key);
      if (asked !== undefined) asked.notBeforeMs = notBeforeMs;
    }
    const own = new Set([...keys].flatMap((key) => [key, tenantKeyOf(key)]));
    this.#keep(this.#deps.held.lines.giveUpUnused(own));
  }

  /**
   * The lease may have ended, and others may have the slots: none counts any more. Should they still be this worker's, they go back, but
   * for those that a later take asks for.
   */
  forgetSlots(): void {
    this.#asked.clear();
    this.#keep(this.#deps.held.lines.forgetSlots());
  }

  /** The worker id is gone, and its slots with it. */
  forgetWorker(): void {
    this.forgetSlots();
    this.#kept.clear();
  }

  #keep(kept: readonly KeptSlots[]): void {
    for (const each of kept) this.#kept.set(each.key, each);
  }

  async #tell(workerId: WorkerId): Promise<void> {
    if (this.#kept.size === 0) return;
    const told = [...this.#kept.values()];
    await this.#deps.limits.keepSlots(workerId, told);
    for (const each of told) if (this.#kept.get(each.key) === each) this.#kept.delete(each.key);
  }

  /** What to ask for, in turn: from where the last look ended. The most urgent line first. */
  #requests(listed: readonly QueueOfLine[], situation: Situation): LineRequest[] {
    const { held, clock } = this.#deps;
    const lines = linesInTurn(listed, held.lines.waitingKeys(), this.#after);
    const nowMs = clock.monotonicMs();
    const { unstarted } = held.lines;
    let rowsLeft = this.#size.rowsMax;
    let room = LINES_HELD_MAX - unstarted;
    // Beyond it each line still gets a few, so that those of one tenant that do not move keep no other's out.
    const least = unstarted < 2 * LINES_HELD_MAX ? FIRST_JOBS : 0;
    const requests: LineRequest[] = [];
    for (const [key, headsMs] of lines) {
      if (requests.length >= LIMIT_LINES_MAX || rowsLeft < 1) break;
      this.#after = key;
      const roomOf = { room: Math.min(room, rowsLeft), least };
      const request = this.#requestOf(key, headsMs, roomOf, nowMs, situation);
      if (request === null) continue;
      room -= request.jobsMax;
      rowsLeft -= 1 + request.jobsMax;
      requests.push(headsMs.size === 0 ? request : { ...request, headsMs });
    }
    return requests.sort(byUrgency);
  }

  #requestOf(
    key: LimitKey,
    headsMs: ReadonlyMap<number, number>,
    { room, least }: { readonly room: number; readonly least: number },
    nowMs: number,
    { liveWorkers, aheadMs, periodMs }: Situation,
  ): LineRequest | null {
    const view = this.#deps.held.lines.lookAt(key);
    const { own, tenant } = view;
    const queues = [...headsMs.keys()];
    const before = this.#asked.get(key);
    const isStuck = liveWorkers > 1 && this.#isStuck(key, queues, view);
    if (isStuck && (before !== undefined || !this.#isLeftByAll(headsMs, view))) {
      this.#left = true;
      return null;
    }
    if (before !== undefined && before.notBeforeMs > nowMs) return null;
    const eager = view.waiting > 0;
    const slotsMax = slotsToAsk(own, before?.slots, eager, liveWorkers);
    const tenantSlotsMax =
      tenant === null ? slotsMax : slotsToAsk(tenant, before?.tenantSlots, eager, liveWorkers);
    const target = isStuck
      ? FIRST_JOBS
      : jobsToHold(view, slotsMax, tenantSlotsMax, { aheadMs, periodMs });
    // Lines of a tenant share its rate where they ask together: each asks as soon as it lacks a job.
    const isShort =
      queues.length > 0 &&
      (isRated((tenant ?? own).limit ?? null)
        ? view.unstarted < target
        : 2 * view.unstarted <= target);
    const wantsSlots =
      eager &&
      (before?.slotsNotBeforeMs ?? 0) <= nowMs &&
      (lacks(own, slotsMax) || (tenant !== null && lacks(tenant, tenantSlotsMax)));
    const most = Math.max(0, room, least - view.unstarted);
    const jobsMax = isShort ? Math.min(most, target - view.unstarted) : 0;
    const startsMax = view.lackingStarts;
    const isOld = eager && (before === undefined || nowMs - before.atMs > REFRESH_MS);
    if (jobsMax === 0 && startsMax === 0 && !wantsSlots && !isOld) return null;
    this.#asked.set(key, {
      ...{ slots: slotsMax, tenantSlots: tenantSlotsMax, target, atMs: nowMs },
      ...{ more: false, notBeforeMs: 0, slotsNotBeforeMs: before?.slotsNotBeforeMs ?? 0 },
    });
    return { key, queues, slotsMax, tenantSlotsMax, jobsMax, startsMax };
  }

  /** Whether the most urgent of a line would find no slot here. */
  #isStuck(key: LimitKey, queues: readonly number[], { queue }: LineView): boolean {
    const most = Math.min(...queues, queue ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(most) && this.#deps.held.isStuck(tenantOf(key), most);
  }

  /** Whether others had their time, and a few jobs may wait for a slot here. */
  #isLeftByAll(headsMs: ReadonlyMap<number, number>, { unstarted }: LineView): boolean {
    const longAgoMs = this.#deps.database.nowMs() - STUCK_LEFT_MS;
    return unstarted === 0 && Math.min(...headsMs.values()) < longAgoMs;
  }

  /** From here on the answer holds; of one whose COMMIT was not answered, or under a lease that lapsed, the fewer slots. */
  #grant({ lines, claimedAtMs: takenAtMs }: TakenLimited, isCertain: boolean): void {
    const { held } = this.#deps;
    const slotsOf = ({ slots: known }: KeyView, answered: number) =>
      isCertain ? answered : Math.min(known, answered);
    const grants = lines.flatMap(({ key, limit, slots, tenant, startsAtMs = [] }): Grant[] => {
      const view = held.lines.lookAt(key);
      const starts = isCertain ? { startsAtMs } : {};
      const own = { key, limit, slots: slotsOf(view.own, slots), takenAtMs, ...starts };
      if (view.tenant === null) return [own];
      const ofTenant = { ...tenant, slots: slotsOf(view.tenant, tenant.slots), takenAtMs };
      return [own, { ...ofTenant, key: tenantKeyOf(key) }];
    });
    held.grant(grants);
    for (const { key, slots } of grants) {
      if (isCertain) this.#kept.delete(key);
      // The store may have given more, of which nobody would ever hear again.
      else this.#kept.set(key, { key, slots, takenAtMs });
    }
  }

  /** Learns from an answer; true when the next take should come soon. */
  #note(requests: readonly LineRequest[], { lines, jobs }: TakenLimited, nowMs: number): boolean {
    const taken = new Map<LimitKey, number>();
    for (const { limitKey } of jobs) taken.set(limitKey, (taken.get(limitKey) ?? 0) + 1);
    const answers = new Map(lines.map((line) => [line.key, line]));
    let soon = false;
    for (const { key, jobsMax, startsMax = 0, slotsMax, tenantSlotsMax } of requests) {
      const answer = answers.get(key);
      const asked = this.#asked.get(key);
      if (asked === undefined) continue;
      if (answer === undefined) {
        // Another executor takes from it at this moment.
        soon ||= 4 * this.#deps.held.lines.lookAt(key).unstarted <= asked.target;
        continue;
      }
      const { limit, slots, tenant, startsAtMs = [] } = answer;
      const isFull = (taken.get(key) ?? 0) >= jobsMax && startsAtMs.length >= startsMax;
      asked.more = isFull && jobsMax > 0;
      soon ||= asked.more && asked.target <= FIRST_JOBS;
      if (isBelow(limit, slots, slotsMax) || isBelow(tenant.limit, tenant.slots, tenantSlotsMax))
        asked.slotsNotBeforeMs = nowMs + LIMIT_IDLE_MS;
      if (isOutOfSlots(answer)) asked.notBeforeMs = nowMs + LIMIT_IDLE_MS;
      // What may start until then was taken ahead. The same instant for all, so that lines of a tenant ask for its rate in one take.
      else if (!isFull && (isRated(limit) || isRated(tenant.limit)))
        asked.notBeforeMs = (Math.floor(nowMs / RATED_PERIOD_MS) + 1) * RATED_PERIOD_MS;
    }
    return soon;
  }
}
