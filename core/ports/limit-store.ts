import type { CallLimit, LimitKey, LimitValues } from "#core/domain/call-limit.ts";
import type { TenantId, WorkerId } from "#core/domain/ids.ts";
import type { ClaimedJob } from "./job-store.ts";

/** The part of a key's line that is in one queue. */
export interface QueueOfLine {
  readonly key: LimitKey;
  readonly queue: number;
  /** `dueAt` of its first job. */
  readonly headMs: number;
}

export interface LineRequest {
  readonly key: LimitKey;
  /** Queues in which it has jobs that are due: of each, at most `jobsMax` are looked at. */
  readonly queues: readonly number[];
  /** The heads of those queues as `listLines` has just told them: nothing is looked for long before them. Not given: the whole line. */
  readonly headsMs?: ReadonlyMap<number, number>;
  /** Slots of the key that the worker would hold altogether, what it holds already included: fewer than that gives the rest back. */
  readonly slotsMax: number;
  /** The same of its tenant's key; of several lines of a tenant the largest holds. For a tenant's own line `slotsMax` is it. */
  readonly tenantSlotsMax: number;
  /** 0: only slots are taken, or given back. */
  readonly jobsMax: number;
  /** With a rate: further instants for jobs that the worker has of the line, whose own have passed unused. Not given: none. */
  readonly startsMax?: number;
}

export interface TakeLimitedRequest {
  readonly workerId: WorkerId;
  /** Jobs due up to the database's now plus this. */
  readonly aheadMs: number;
  /** Each key once. */
  readonly lines: readonly LineRequest[];
}

/** What a worker has of a key. */
export interface HeldLimit {
  /** Null: there is none. */
  readonly limit: LimitValues | null;
  /** Slots in the worker's hands until it gives them back or its lease ends; what it asked for where calls at once are not limited. */
  readonly slots: number;
}

/** `limit` null: nothing was taken, see `releaseLine`. */
export interface TakenLine extends HeldLimit {
  readonly key: LimitKey;
  readonly tenant: HeldLimit;
  /** What was asked for by `startsMax`, as far as the rate allows; absent where that is none. */
  readonly startsAtMs?: readonly number[];
}

export type LimitedJob = ClaimedJob & {
  readonly limitKey: LimitKey;
  /** Whole ms on the database's clock, at which a call of its line may start; null: no rate holds for it. */
  readonly startAtMs: number | null;
};

export interface TakenLimited {
  readonly claimedAtMs: number;
  /** A line that another executor takes from just now is left out: ask again. */
  readonly lines: readonly TakenLine[];
  readonly jobs: readonly LimitedJob[];
}

export type TakeLimitedResult =
  | ({ readonly kind: "claimed" } & TakenLimited)
  | { readonly kind: "fenced" }
  /**
   * The COMMIT was not answered: `adopt` tells of the jobs. The slots of its lines are the worker's or are not: it counts on the
   * fewer of what it held and what is said here, until a take is answered.
   */
  | { readonly kind: "unknown"; readonly claim: { readonly workerId: WorkerId } & TakenLimited };

/** What is left of the slots of a key when some were given up. */
export interface KeptSlots {
  readonly key: LimitKey;
  readonly slots: number;
  readonly takenAtMs: number;
}

/** What changes of a limit: a value that is not given stays, null takes it away. */
export type LimitChanges = Partial<
  Pick<CallLimit, "concurrency" | "perSecond" | "maxConcurrency" | "maxPerSecond">
>;

/** Limits of calls, and the lines of jobs that wait under them. */
export interface LimitStore {
  /**
   * Lines whose head is due up to the database's now plus `aheadMs`, by key, then by queue: from the first key after `after` on, and
   * round, at most `max`. Ask only where a poll said that jobs wait.
   */
  listLines(aheadMs: number, max: number, after: LimitKey | null): Promise<QueueOfLine[]>;

  /**
   * Slots and jobs in one transaction that begins with the worker's own row FOR SHARE. Over all workers whose lease lives there are
   * never more slots of a key than its limit; event 5 for jobs of each line by the weights of its queues, only where the worker then
   * has a slot of each key. Of a lease that ends within a second nothing is taken. With a rate each job has its instant, later than now + `aheadMs` + LIMIT_START_AHEAD_MS none.
   */
  takeLimited(request: TakeLimitedRequest): Promise<TakeLimitedResult>;

  /**
   * Lowers what the worker holds of these keys, 0 to nothing; never raises it. `takenAtMs` is the `claimedAtMs` of the take by which it
   * holds them: after a later take this changes nothing, however late it arrives.
   * Throws after CLAIM_DEADLINE_MS: polls wait for it.
   */
  keepSlots(workerId: WorkerId, kept: readonly KeptSlots[]): Promise<void>;

  /**
   * Event 19 for up to `max` (RELEASE_GROUP_MAX) jobs of a key that has no limit: they are pending, or wait in their tenant's line where
   * that is limited. Answers how many; 0 where there is a limit.
   */
  releaseLine(key: LimitKey, max: number): Promise<number>;

  find(key: LimitKey): Promise<CallLimit | null>;

  /** A tenant's limits by key, after `after`, its own first: at most `max`. */
  list(tenantId: TenantId, after: LimitKey | null, max: number): Promise<CallLimit[]>;

  /** How many limits the tenant has set something of, counted up to `max`. */
  countSet(tenantId: TenantId, max: number): Promise<number>;

  /**
   * Changes a limit, or makes one. It holds for calls that start from now on, of jobs made from now on; when it is new, also of those that
   * are in line and scheduled since LINE_UP_SINCE_MS ago (event 21), as far as LINE_UP_MS_MAX suffices. One that says nothing any more is
   * removed, with its slots: null.
   */
  put(key: LimitKey, changes: LimitChanges): Promise<CallLimit | null>;

  /** How many jobs of each key are due and wait, counted up to `max`. */
  countWaiting(keys: readonly LimitKey[], max: number): Promise<Map<LimitKey, number>>;
}
