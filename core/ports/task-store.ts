import type { LimitKey } from "#core/domain/call-limit.ts";
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { Job, Retention } from "#core/domain/job.ts";
import type { Priority } from "#core/domain/queue.ts";
import type { Allowance } from "#core/domain/quotas.ts";
import type { DueTask, Task, TaskStatus, TaskVersion, TaskWithVersion } from "#core/domain/task.ts";
import type { TaskChange } from "#core/domain/task-change.ts";
import type { SealedSecret, SecretsChange, StoredSecret } from "#core/domain/task-secrets.ts";
import type { TestLimit } from "#core/domain/test-limit.ts";
import type { Idempotency, Replay } from "./idempotency.ts";
import type { SealedSigningSecret } from "./secret-store.ts";

/** A task to be made. `sealed` are its secrets, of which `secrets` has the marks. */
export interface NewTask extends TaskWithVersion {
  readonly sealed?: readonly SealedSecret[];
}

/** A task under its row lock, as an edit sees it. */
export interface LockedTask extends TaskWithVersion {
  /** The database's now, read after the lock was got. */
  readonly nowMs: number;
  /** Earliest `scheduledAt` among the planned jobs that an edit may still remove; null when there is none. */
  readonly plannedFromMs: number | null;
  /** Earliest `scheduledAt` ahead of now among its schedule's jobs that have not ended, claimed ahead or not; null when there is none. */
  readonly aheadFromMs: number | null;
  /** The line of jobs that are made of it as it is: see DueTask. */
  readonly limitKey?: LimitKey;
  /** Occurrences from the task's next run to now that have a row already; absent or empty where there is none. */
  readonly madeMs?: readonly number[];
  /** As in EditResult, before this edit. */
  readonly jobsLeft?: true;
}

/** What an edit does to the jobs of its task, in the same transaction. */
export type JobsEffect =
  | { readonly kind: "keep" }
  /** Event 17: planned jobs later than now + FROZEN_MS are removed. */
  | { readonly kind: "remove-planned" }
  /**
   * Events 12 and 13 for the task's jobs that have not ended, newest first, then the row in `revocations`. As many as one transaction
   * may take (EDIT_WALK); the rest is `goOnWithJobs`'s.
   */
  | { readonly kind: "cancel"; readonly reason: string }
  /** Events 14 to 16: running first, then what the pause cancelled and is not due yet. */
  | { readonly kind: "resume" };

export type TaskEdit<R> =
  | { readonly kind: "refuse"; readonly refusal: R }
  /** Answer with the task as it is; nothing is written. */
  | { readonly kind: "unchanged" }
  | {
      readonly kind: "write";
      readonly task: Task;
      /** A new immutable version; null when request, timeout and retry stay. */
      readonly newVersion: TaskVersion | null;
      /** Not given: its secrets stay as they are. */
      readonly secrets?: SecretsChange;
      readonly jobsEffect: JobsEffect;
      /** Rows that the edit makes (overdue runs, the row of what passed while paused). An id that exists is left alone. */
      readonly makeJobs: readonly Job[];
    };

export interface UnfinishedChange {
  readonly tenantId: TenantId;
  readonly taskId: TaskId;
  readonly change: TaskChange;
  /** Jobs with ids below this one are left. */
  readonly below: JobId;
}

export type EditResult<R> =
  | {
      readonly kind: "written" | "unchanged";
      readonly current: TaskWithVersion;
      /** The task's last cancel or resume has not reached all of its jobs, which are too many for one transaction: see `goOnWithJobs`. */
      readonly jobsLeft?: true;
    }
  | { readonly kind: "refused"; readonly refusal: R }
  | NameTaken
  /** It was completed, and would count again. */
  | OverQuota
  | { readonly kind: "not-found" };

/** A run by hand, with the request that it sends. */
export interface MadeRun {
  readonly job: Job;
  readonly version: TaskVersion;
}

/**
 * Builds the job of a task as it is under its lock, or refuses. Pure, and may be asked again. Line, request and job are of one moment:
 * a job with the line of one request and the address of another would go past the limit of the one that is called.
 */
export type MakeRun<R> = (
  task: Task & DueTask,
  nowMs: number,
  version: TaskVersion,
) => Job | { readonly kind: "refuse"; readonly refusal: R };

export type Ran<R> =
  | ({ readonly kind: "made" } & MadeRun)
  | { readonly kind: "refused"; readonly refusal: R }
  | { readonly kind: "not-found" };

export interface TaskFilter {
  readonly status: TaskStatus | null;
  readonly priority: Priority | null;
  readonly tag: string | null;
}

/** What one materialise tick read: tasks locked, each once. */
export interface DueTasks {
  readonly nowMs: number;
  /** `nextRunAtMs` older than now − MISSED_AFTER_MS. */
  readonly missed: readonly DueTask[];
  /** Most urgent first, then by time. */
  readonly due: readonly DueTask[];
}

/** What the tick writes of one task. */
export interface TaskAdvance {
  readonly taskId: TaskId;
  /** Null: completed, or stopped by `error`. */
  readonly nextRunAtMs: number | null;
  /** Null leaves it as it is. */
  readonly madeUntilMs: number | null;
  /** Set when the schedule cannot go on; the task stays active and no tick meets it again. */
  readonly error: string | null;
}

export interface MaterializePlan {
  /** Rows to insert; an id that exists is left alone and is a success. */
  readonly jobs: readonly Job[];
  readonly advances: readonly TaskAdvance[];
}

export interface MaterializeBounds {
  readonly horizonMs: number;
  readonly missedTasksMax: number;
  /** Of them first so many of each priority that are furthest behind; then those that are least behind, most urgent first. */
  readonly missedOldestMax: number;
  /** Missed ones included. */
  readonly tasksMax: number;
}

export interface Materialized {
  /** Rows that were new. */
  readonly made: number;
  readonly alreadyMade: number;
  readonly errors: number;
}

/** What lies ahead of the horizon, by priority's rank: the first task, and the one with `depth - 1` others before it. Null: none. */
export interface DueAhead {
  readonly nowMs: number;
  readonly priorities: readonly {
    readonly firstMs: number | null;
    readonly deepMs: number | null;
  }[];
}

/** What holds from the transaction on that writes tasks: how many, and their endpoints' caps; an endpoint that has some keeps them. */
export type TaskAllowance = Pick<Allowance, "tasksMax" | "endpointLimit">;

/** What is asked for before jobs are sent. */
export interface CallPartsRequest {
  readonly versions: readonly { readonly taskId: TaskId; readonly requestVersion: number }[];
  readonly secretsOf: readonly TaskId[];
  readonly signingOf: readonly TenantId[];
}

/**
 * A version as a claim gets it: `bodyLeftOut`, and without its body, where it is larger than CARRIED_BYTES_MAX; `loadVersions` has it.
 * The timeout is the job's.
 */
export interface CarriedVersion extends Omit<TaskVersion, "timeoutMs"> {
  readonly bodyLeftOut?: boolean;
}

/** A task or tenant without secrets is in no map. */
export interface LoadedCallParts {
  readonly versions: readonly CarriedVersion[];
  readonly secrets: ReadonlyMap<TaskId, readonly StoredSecret[]>;
  /** Valid ones, newest first. */
  readonly signing: ReadonlyMap<TenantId, readonly Pick<SealedSigningSecret, "id" | "sealed">[]>;
}

/** The tenant has `used` tasks of at most `limit`. */
export interface OverQuota {
  readonly kind: "quota";
  readonly limit: number;
  readonly used: number;
}

/** A live task of the tenant has the name: this one; null where it has given the name up since. */
export interface NameTaken {
  readonly kind: "name-taken";
  readonly taskId: TaskId | null;
}

export type Creation = { readonly kind: "created" } | NameTaken | OverQuota;

/** The answers to a group are in the order given. */
export interface CreatedMany {
  readonly kind: "made";
  readonly creations: readonly Creation[];
}

export interface TaskStore {
  /** Inserts a task with its first version, in one transaction. Without a quota there is no limit. */
  create(
    created: NewTask,
    idempotency?: Idempotency<TaskWithVersion> | null,
    quota?: TaskAllowance | null,
  ): Promise<Creation | Replay>;

  /**
   * Inserts up to BULK_TASKS_MAX tasks of one tenant with their first versions, in one transaction of a constant number of
   * statements. Each task stands for itself, the first of those with one name gets it. Safe to repeat with the same ids. The answer
   * of a group is kept when one of it is made.
   */
  createMany(
    created: readonly NewTask[],
    idempotency?: Idempotency<readonly Creation[]> | null,
    quota?: TaskAllowance | null,
  ): Promise<CreatedMany | Replay>;

  /** A live task of the tenant; null when there is none (also when it is another tenant's or deleted). */
  find(tenantId: TenantId, taskId: TaskId): Promise<TaskWithVersion | null>;

  /** A live task of the tenant by its name; null when there is none. */
  findByName(tenantId: TenantId, name: string): Promise<TaskWithVersion | null>;

  /** Whether the tenant has, or had (deleted), a task of this id: its jobs stay readable. */
  exists(tenantId: TenantId, taskId: TaskId): Promise<boolean>;

  /**
   * Live tasks newest first: ids below `before`, down to `downTo` where it is given, at most `limit`. Large bodies may be left out, with
   * their size in `bodyBytes`.
   */
  list(
    tenantId: TenantId,
    filter: TaskFilter,
    before: TaskId | null,
    limit: number,
    downTo?: TaskId | null,
  ): Promise<TaskWithVersion[]>;

  /**
   * Where a list by priority or tag may end that goes over `rows` tasks of the filter's status below `before`, whatever else they are: the
   * id of the last of them, or null when there are fewer.
   */
  findListedDownTo(
    tenantId: TenantId,
    filter: Pick<TaskFilter, "status">,
    before: TaskId | null,
    rows: number,
  ): Promise<TaskId | null>;

  /**
   * Locks a live task's row, lets `decide` (pure, synchronous, may run again after a deadlock) choose, and writes the choice in
   * the same transaction. Pause, resume, delete and PATCH are all this. Without a quota there is no limit.
   */
  edit<R>(
    tenantId: TenantId,
    taskId: TaskId,
    decide: (locked: LockedTask) => TaskEdit<R>,
    retention: Retention,
    quota?: TaskAllowance | null,
  ): Promise<EditResult<R>>;

  /**
   * Applies the effect of the edit that made the task `change` to a group of the jobs that it has left, newest first, in one transaction
   * under the task's lock; a cancel's with a revocation anew, where it has found jobs at least. "none": no job is left, or the task is
   * not so any more.
   */
  goOnWithJobs(
    tenantId: TenantId,
    taskId: TaskId,
    change: TaskChange,
    retention: Retention,
  ): Promise<"more" | "done" | "none">;

  /** Changes that have jobs left to reach, at most `limit`: whoever made them is at it, or has gone. */
  listUnfinished(limit: number): Promise<UnfinishedChange[]>;

  /** Reads a live task FOR SHARE and inserts the job that `make` builds (again with a fresh id while that id exists). */
  runNow<R = never>(
    tenantId: TenantId,
    taskId: TaskId,
    make: MakeRun<R>,
    idempotency?: Idempotency<MadeRun> | null,
  ): Promise<Ran<R> | Replay>;

  /**
   * As runNow, within the tenant's limit, which holds exactly whoever asks at the same time; beyond it nothing is made. A task that is
   * not there does not count.
   */
  runTest(
    tenantId: TenantId,
    taskId: TaskId,
    make: MakeRun<never>,
    limit: TestLimit,
  ): Promise<Ran<never> | { readonly kind: "limited"; readonly retryAfterMs: number }>;

  /**
   * One transaction: locks due tasks (skipping those that others hold), lets `plan` (pure) choose, inserts the jobs in one
   * statement and advances the tasks in another. Returns null when nothing is due: `plan` is then not called.
   */
  materialize(
    bounds: MaterializeBounds,
    plan: (due: DueTasks) => MaterializePlan,
  ): Promise<Materialized | null>;

  /** Active tasks whose next run is later than now + `afterMs`, up to now + `untilMs`. One statement, without locks. */
  lookAhead(afterMs: number, untilMs: number, depth: number): Promise<DueAhead>;

  /**
   * Versions by key, in one statement; a version that does not exist is left out. `sizes`: for lists, where large bodies may be left
   * out, with their size in `bodyBytes`.
   */
  loadVersions(
    keys: readonly { readonly taskId: TaskId; readonly requestVersion: number }[],
    bodies?: "whole" | "sizes",
  ): Promise<TaskVersion[]>;

  /** What the calls of a claim need, in one statement: none when nothing is asked for. A version that does not exist is left out. */
  loadCallParts(request: CallPartsRequest): Promise<LoadedCallParts>;

  /**
   * Removes tasks that ended longer ago than `olderThanMs`, with their versions and secrets, at most `limit`; never one that has jobs. A
   * deleted task ended when it was deleted; a completed one with its last edit, its last occurrence, or its last run by hand or
   * retry, whichever came last. Returns how many.
   */
  purgeEnded(limit: number, olderThanMs: number): Promise<number>;

  /**
   * What is kept for a request's key, without taking it: null when nothing is. For requests that could not be done any more, before they
   * are refused; one whose first is still in work is unknown here.
   */
  findAnswer(
    tenantId: TenantId,
    request: Pick<Idempotency<never>, "route" | "key" | "bodyHash">,
  ): Promise<Replay | null>;

  /** Removes answers kept for idempotency keys that have expired and revocations older than a day, at most `limit` of each. */
  pruneUnread(limit: number): Promise<number>;
}
