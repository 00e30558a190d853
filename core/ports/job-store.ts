import type { LimitKey } from "#core/domain/call-limit.ts";
import type { JobId, TaskId, TenantId, WorkerId } from "#core/domain/ids.ts";
import type { AttemptRecord, Job, JobStatus, Retention, Trigger } from "#core/domain/job.ts";
import type { Idempotency, Replay } from "./idempotency.ts";
import type { DueTasks, MaterializePlan } from "./task-store.ts";

/** What an idle poll asks, answered by one statement. */
export interface PollRequest {
  readonly workerId: WorkerId;
  /** Queues to look at, each with the `dueAt` below which nothing pending can be; null looks at the whole range. */
  readonly queues: readonly { readonly queue: number; readonly floorMs: number | null }[];
  /** Revocations younger than this are counted. */
  readonly revocationsWithinMs: number;
}

/** The first pending job of a queue. */
export interface QueueHead {
  readonly dueAtMs: number;
  readonly jobId: JobId;
}

export interface Poll {
  /** The database's now, at the start of the statement. */
  readonly nowMs: number;
  /** The first pending job of each queue asked that has one. */
  readonly heads: ReadonlyMap<number, QueueHead>;
  readonly revocations: number;
  /** Whether a critical task that has not been made is due between now − MISSED_AFTER_MS and now + FAST_AHEAD_MS. */
  readonly criticalTask: boolean;
  /** Executors with a live lease, and how many of them have a smaller id than the asker. */
  readonly liveWorkers: number;
  readonly rank: number;
  /** Whether any job waits under a limit, due or not: then ask `LimitStore.listLines`. */
  readonly waiting: boolean;
}

export interface ClaimRequest {
  readonly workerId: WorkerId;
  /** Pending jobs are taken branch by branch, in this order, each by `dueAt`, until `limit` altogether. */
  readonly branches: readonly {
    readonly queue: number;
    readonly limit: number;
    /** Where to begin, as a poll has just told: what was taken before it is not walked again. Null: at the first of all. */
    readonly head: QueueHead | null;
  }[];
  /** Jobs due up to the database's now plus this. */
  readonly aheadMs: number;
  readonly limit: number;
}

/** Critical tasks to be made and claimed at once: due between now − MISSED_AFTER_MS and now + FAST_AHEAD_MS, the earliest first. */
export interface TakeRequest {
  readonly workerId: WorkerId;
  readonly tasksMax: number;
}

/** A job in an executor's hands. Its payload, which only a run by hand can have, is not among it: `find` has it. */
export interface ClaimedJob {
  readonly id: JobId;
  readonly taskId: TaskId;
  readonly tenantId: TenantId;
  readonly taskVersion: number;
  readonly trigger: Trigger;
  readonly queue: number;
  readonly scheduledAtMs: number;
  readonly runAtMs: number;
  /** The backstop: the call must have ended before it. */
  readonly dueAtMs: number;
  readonly claimNo: number;
  readonly attempt: number;
  readonly lost: number;
  readonly maxAttempts: number;
  readonly timeoutMs: number;
  /** The line it was taken from, and goes back to; null where it stood in none. */
  readonly limitKey: LimitKey | null;
}

/** A claim whose COMMIT was not answered: perhaps ours, perhaps not. */
export interface UnknownClaim {
  readonly workerId: WorkerId;
  readonly claimedAtMs: number;
  readonly jobs: readonly ClaimedJob[];
}

export type ClaimResult =
  /** `claimedAtMs` is the database's now in the claim's SELECT. */
  | { readonly kind: "claimed"; readonly claimedAtMs: number; readonly jobs: readonly ClaimedJob[] }
  | { readonly kind: "fenced" }
  | { readonly kind: "unknown"; readonly claim: UnknownClaim };

/** What became of a claim whose COMMIT was not answered. */
export interface Adopted {
  /** Of the claim's own, with all that it says of them. */
  readonly jobs: readonly ClaimedJob[];
  /** Of `jobs`, by a pause, delete or cancel meanwhile: to be given back at once. */
  readonly marked: ReadonlySet<JobId>;
}

/** Identifies a job in somebody's hands. */
export interface HeldKey {
  readonly id: JobId;
  readonly workerId: WorkerId;
  readonly claimNo: number;
  /** As it was claimed. */
  readonly limitKey: LimitKey | null;
}

/** A job that was not sent; `notBeforeMs`: nobody is to try it sooner. */
export type GivenBack = HeldKey & { readonly notBeforeMs?: number };

export type JobResult = HeldKey & { readonly record: AttemptRecord } & (
    | { readonly kind: "succeed" }
    | {
        readonly kind: "fail";
        readonly retryAtMs: number;
        /** The queue in which it goes on: one lane down. */
        readonly retryQueue: number;
        /** Set when no further attempt may be made. */
        readonly finalReason: string | null;
        /** False when the sender knows that attempts are left, whatever `lost` has become; true with a `finalReason`. */
        readonly maybeDead: boolean;
      }
    | { readonly kind: "interrupt" }
  );

export interface Recorded {
  readonly written: number;
  /** Rows that no longer matched: the job was claimed again, or this result had been written already. */
  readonly lostRaces: number;
}

/** A running job as the reconciler reads it: the claim number is the guard of its rescue. */
export interface RunningKey {
  readonly id: JobId;
  readonly claimNo: number;
  /** As it was claimed. */
  readonly limitKey: LimitKey | null;
}

/**
 * What became of a group of rescues; jobs that no longer ran under that claim number are in none. `pending`: in line again, those that
 * wait under a limit included.
 */
export interface Rescued {
  readonly pending: number;
  readonly dead: number;
  readonly cancelled: number;
}

/** What is archived in one order. */
export type ArchiveRange = Pick<Job, "status" | "queue">;

/** What the archiver read and copied, and may delete while it is unchanged: a Job is one. */
export interface ArchivedKey {
  readonly id: JobId;
  readonly tenantId: TenantId;
  readonly status: JobStatus;
  readonly claimNo: number;
  readonly dueAtMs: number;
}

export interface DeadLetterFilter {
  readonly taskId: TaskId | null;
  /** On `diedAt`: inclusive, exclusive. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** Only letters that can be retried: their task is there. */
  readonly retriable?: boolean;
}

/** A dead job. `diedAtMs` is what the list is sorted by: just before or at its `finishedAtMs`. */
export interface DeadLetter {
  readonly diedAtMs: number;
  readonly job: Job;
}

/** A place in the list of dead letters, newest first. */
export interface DeadLetterPlace {
  readonly diedAtMs: number;
  readonly jobId: JobId;
}

export interface ToRetry {
  readonly id: JobId;
  readonly delayMs: number;
  /** Of its priority; where it has been when left out. */
  readonly queue?: number;
}

/** What a retry made of a job: in line again; not dead (any more); not there, or another tenant's; its task is gone. */
export type RetryOutcome = "moved" | "not-dead" | "not-found" | "task-gone" | "attempts-full";

export type CancelOutcome =
  /** Cancelled at once; or marked, because it runs: it ends cancelled unless its call succeeds. */
  | { readonly kind: "cancelled" | "marked"; readonly job: Job }
  | { readonly kind: "finished" }
  | { readonly kind: "not-found" };

export interface Revocation {
  readonly taskId: TaskId;
  /** Null: all jobs of the task. */
  readonly jobId: JobId | null;
}

export interface TaskJobsFilter {
  readonly statuses: readonly JobStatus[] | null;
  /** On `scheduledAt`: inclusive, exclusive. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** Jobs of one shard, by the verbs of the executor and of the readers. */
export interface JobStore {
  poll(request: PollRequest): Promise<Poll>;

  /** Event 4 for a group, in one transaction that ends with a look at the worker's own row, FOR SHARE. */
  claimDue(request: ClaimRequest): Promise<ClaimResult>;

  /**
   * Events 1 and 4 in one transaction: locks critical tasks that are due (skipping those that others hold), lets `plan` (pure) choose,
   * inserts the jobs, advances the tasks, and claims those of the jobs that are pending: jobs of a limit wait.
   */
  takeCritical(
    request: TakeRequest,
    plan: (due: DueTasks) => MaterializePlan,
  ): Promise<ClaimResult>;

  /** Waits for the unanswered COMMIT and tells which jobs are ours after all. */
  adopt(claim: UnknownClaim): Promise<Adopted>;

  /** Events 7 to 10 for up to RESULTS_GROUP_MAX results; safe to repeat after an unknown outcome. */
  recordResults(results: readonly JobResult[], retention: Retention): Promise<Recorded>;

  /** Event 6 for a group; safe to repeat. */
  giveBack(held: readonly GivenBack[], retention: Retention): Promise<Recorded>;

  /**
   * Running jobs of these workers, which are fenced: they get no more of them. At most `limit`; no lock is held. Reads every
   * running row at worst.
   */
  listHeldBy(workers: readonly WorkerId[], limit: number): Promise<RunningKey[]>;

  /** Running jobs whose backstop has passed, at most `limit`; no lock is held. */
  listPastBackstop(limit: number): Promise<RunningKey[]>;

  /** Event 11 for up to RESCUE_GROUP_MAX jobs; safe to repeat after an unknown outcome. */
  rescue(keys: readonly RunningKey[], retention: Retention): Promise<Rescued>;

  /**
   * Finished jobs whose `dueAt` has passed, at most `limit` (ARCHIVE_READ_MAX) and about `bytesMax` bytes of documents (one job at least); no lock
   * is held. The statuses and queues that wait longest come first, within each the oldest; those of `without` are passed over.
   */
  listArchivable(
    limit: number,
    bytesMax: number,
    without?: readonly ArchiveRange[],
  ): Promise<Job[]>;

  /**
   * Event 20 for up to ARCHIVE_GROUP_MAX jobs: deletes those that are as they were read, with their dead letters; what others
   * hold just now is left for the next time. Returns how many. Safe to repeat.
   */
  deleteArchived(keys: readonly ArchivedKey[]): Promise<number>;

  /** How many finished jobs have a `dueAt` that has passed, counted up to `max`. */
  countArchivable(max: number): Promise<number>;

  /** Revocations younger than `withinMs`. */
  listRevocations(withinMs: number): Promise<Revocation[]>;

  /** Which of up to REVOKED_GROUP_MAX running jobs are to end: a reason for it stands in their rows. */
  listMarked(ids: readonly JobId[]): Promise<JobId[]>;

  /** Which of up to PAGE_LIMIT_MAX jobs are here, in whatever state. */
  listPresent(ids: readonly JobId[]): Promise<JobId[]>;

  /** One job of the tenant; null when there is none here. */
  find(tenantId: TenantId, jobId: JobId): Promise<Job | null>;

  /**
   * A task's jobs, newest first: ids below `before`, down to `downTo` where it is given, at most `limit`. A running job whose `runAt` has not passed counts as
   * pending in the filter; rows come as they are stored, but for large payloads: their bodies may be left out, with their size in
   * `bodyBytes`.
   */
  listByTask(
    tenantId: TenantId,
    taskId: TaskId,
    filter: TaskJobsFilter,
    before: JobId | null,
    limit: number,
    downTo?: JobId | null,
  ): Promise<Job[]>;

  /**
   * Where a list by status may end that goes over `rows` jobs below `before` in the filter's times, whatever their status: the id of
   * the last of them, or null when there are fewer.
   */
  findListedDownTo(
    taskId: TaskId,
    filter: TaskJobsFilter,
    before: JobId | null,
    rows: number,
  ): Promise<JobId | null>;

  /**
   * Dead jobs of the tenant, the last that died first, below `before`, down to `downTo` where it is given, at most `limit`; payloads as
   * in listByTask. Without test calls: nobody counts on those.
   */
  listDeadLetters(
    tenantId: TenantId,
    filter: DeadLetterFilter,
    before: DeadLetterPlace | null,
    limit: number,
    downTo?: DeadLetterPlace | null,
  ): Promise<DeadLetter[]>;

  /**
   * Where a list may end that goes over `rows` letters below `before` in the filter's task and times, whether they are shown or not: the
   * place of the last of them, or null when there are fewer.
   */
  findLettersDownTo(
    tenantId: TenantId,
    filter: DeadLetterFilter,
    before: DeadLetterPlace | null,
    rows: number,
  ): Promise<DeadLetterPlace | null>;

  /**
   * Event 18 for up to RETRY_GROUP_MAX jobs, each due `delayMs` after the database's now, in its `queue`: their tasks are read FOR SHARE, and
   * each may make as many attempts more as its task says now, up to JOB_ATTEMPTS_MAX altogether. One of its task's present request goes
   * into the line that jobs of the task have by now. A repeat finds them not dead.
   */
  retryDead(tenantId: TenantId, jobs: readonly ToRetry[]): Promise<Map<JobId, RetryOutcome>>;

  /** The same for one job, due at once; answers the job as it is then. */
  retryOne(
    tenantId: TenantId,
    jobId: JobId,
    idempotency?: Idempotency<Job> | null,
    queue?: number,
  ): Promise<
    | { readonly kind: "moved"; readonly job: Job }
    | { readonly kind: Exclude<RetryOutcome, "moved"> }
    | Replay
  >;

  /** Events 12 and 13 for one job, REASON_CANCELLED; a running one also gets a revocation. */
  cancel(tenantId: TenantId, jobId: JobId, retention: Retention): Promise<CancelOutcome>;
}
