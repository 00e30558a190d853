/** Jobs in memory, by the verbs of the executor and of the readers: each verb is an event of the state machine for a group. */
import { assert } from "#core/domain/assert.ts";
import { OutcomeUnknown } from "#core/domain/errors.ts";
import type { JobId, TaskId, TenantId, WorkerId } from "#core/domain/ids.ts";
import type { Job, JobStatus, Retention } from "#core/domain/job.ts";
import type { JobEvent } from "#core/domain/job-state.ts";
import { applyEvent } from "#core/domain/job-state.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type {
  Adopted,
  ArchivedKey,
  ArchiveRange,
  CancelOutcome,
  ClaimRequest,
  ClaimResult,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPlace,
  GivenBack,
  JobResult,
  JobStore,
  Poll,
  PollRequest,
  QueueHead,
  Recorded,
  Rescued,
  RetryOutcome,
  Revocation,
  RunningKey,
  TakeRequest,
  TaskJobsFilter,
  ToRetry,
  UnknownClaim,
} from "#core/ports/job-store.ts";
import type { DueTasks, MaterializePlan } from "#core/ports/task-store.ts";
import { countArchivable, deleteArchived, listArchivable } from "./memory-archive.ts";
import { unknownClaim } from "./memory-claimed-job.ts";
import { cancelJob, findLettersDownTo, listDeadLetters, retry } from "./memory-dead-letters.ts";
import { criticalDue } from "./memory-due-tasks.ts";
import { jobsInTime } from "./memory-job-lists.ts";
import { oncePerKey } from "./memory-once-per-key.ts";
import { listHeldBy, listPastBackstop, rescueJobs } from "./memory-rescue.ts";
import { type MemoryTables, NO_RETENTION } from "./memory-tables.ts";
import { makeAndTake } from "./memory-take.ts";

type RetriedOne = Exclude<Awaited<ReturnType<JobStore["retryOne"]>>, Replay>;

export class MemoryJobStore implements JobStore {
  readonly #tables: MemoryTables;

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  poll(request: PollRequest): Promise<Poll> {
    return this.#tables.transact("poll", (nowMs) => {
      const live = this.#tables.liveWorkers(nowMs);
      return {
        nowMs,
        heads: this.#heads(request.queues),
        revocations: this.#revocationsSince(nowMs - request.revocationsWithinMs).length,
        criticalTask: criticalDue(this.#tables, nowMs).length > 0,
        liveWorkers: live.length,
        rank: live.filter((workerId) => workerId < request.workerId).length,
        waiting: this.#isAnyWaiting(),
      };
    });
  }

  async claimDue(request: ClaimRequest): Promise<ClaimResult> {
    let claim: UnknownClaim | null = null;
    try {
      return await this.#tables.transact("claimDue", (nowMs): ClaimResult => {
        if (this.#tables.isFenced(request.workerId)) return { kind: "fenced" };
        const jobs = this.#planClaim(request, nowMs);
        for (const job of jobs) this.#tables.jobs.set(job.id, job);
        claim = unknownClaim(request, jobs, nowMs);
        return { kind: "claimed", claimedAtMs: nowMs, jobs: claim.jobs };
      });
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      if (this.#tables.isFenced(request.workerId)) return { kind: "fenced" };
      // Without a claim the fault came before the COMMIT: the claimer holds what it would have taken, and it is nobody's.
      const nowMs = this.#tables.nowMs();
      const unwritten = () => unknownClaim(request, this.#planClaim(request, nowMs), nowMs);
      return { kind: "unknown", claim: claim ?? unwritten() };
    }
  }

  async takeCritical(
    request: TakeRequest,
    plan: (due: DueTasks) => MaterializePlan,
  ): Promise<ClaimResult> {
    let claim: UnknownClaim | null = null;
    try {
      return await this.#tables.transact("takeCritical", (nowMs): ClaimResult => {
        if (this.#tables.isFenced(request.workerId)) return { kind: "fenced" };
        claim = unknownClaim(request, makeAndTake(this.#tables, request, nowMs, plan), nowMs);
        return { kind: "claimed", claimedAtMs: nowMs, jobs: claim.jobs };
      });
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      const none = unknownClaim(request, [], this.#tables.nowMs());
      return { kind: "unknown", claim: claim ?? none };
    }
  }

  adopt(claim: UnknownClaim): Promise<Adopted> {
    return this.#tables.transact("adopt", () => {
      const rows = claim.jobs.map((job) => ({ job, row: this.#tables.jobs.get(job.id) }));
      const ours = rows.filter(
        ({ job, row }) =>
          row?.status === "running" &&
          row.workerId === claim.workerId &&
          row.claimNo === job.claimNo,
      );
      const marked = ours.filter(({ row }) => row?.cancelReason !== null);
      return {
        jobs: ours.map(({ job }) => job),
        marked: new Set(marked.map(({ job }) => job.id)),
      };
    });
  }

  recordResults(results: readonly JobResult[], retention: Retention): Promise<Recorded> {
    return this.#tables.transact("recordResults", (nowMs) => {
      const apply = (result: JobResult) => {
        const job = this.#apply(result.id, eventOfResult(result), nowMs, retention);
        if (job === null) return false;
        if (result.kind === "fail" && (job.status === "pending" || job.status === "waiting"))
          assert(job.queue === result.retryQueue, "the sender counts lanes as the domain does");
        return true;
      };
      return recorded(results.map(apply));
    });
  }

  giveBack(held: readonly GivenBack[], retention: Retention): Promise<Recorded> {
    return this.#tables.transact("giveBack", (nowMs) => {
      const apply = ({ id, ...held }: GivenBack) =>
        this.#apply(id, { kind: "give-back", ...held }, nowMs, retention) !== null;
      return recorded(held.map(apply));
    });
  }

  listHeldBy(workers: readonly WorkerId[], limit: number): Promise<RunningKey[]> {
    return this.#tables.transact("listHeldBy", () => listHeldBy(this.#tables, workers, limit));
  }

  listPastBackstop(limit: number): Promise<RunningKey[]> {
    return this.#tables.transact("listPastBackstop", (nowMs) =>
      listPastBackstop(this.#tables, nowMs, limit),
    );
  }

  rescue(keys: readonly RunningKey[], retention: Retention): Promise<Rescued> {
    return this.#tables.transact("rescue", (nowMs) =>
      rescueJobs(this.#tables, keys, { nowMs, retention }),
    );
  }

  listArchivable(
    limit: number,
    bytesMax: number,
    without: readonly ArchiveRange[] = [],
  ): Promise<Job[]> {
    return this.#tables.transact("listArchivable", (nowMs) =>
      listArchivable(this.#tables, nowMs, limit, bytesMax, without),
    );
  }

  deleteArchived(keys: readonly ArchivedKey[]): Promise<number> {
    return this.#tables.transact("deleteArchived", (nowMs) =>
      deleteArchived(this.#tables, nowMs, keys),
    );
  }

  countArchivable(max: number): Promise<number> {
    return this.#tables.transact("countArchivable", (nowMs) =>
      countArchivable(this.#tables, nowMs, max),
    );
  }

  listRevocations(withinMs: number): Promise<Revocation[]> {
    return this.#tables.transact("listRevocations", (nowMs) =>
      this.#revocationsSince(nowMs - withinMs),
    );
  }

  listDeadLetters(
    tenantId: TenantId,
    filter: DeadLetterFilter,
    before: DeadLetterPlace | null,
    limit: number,
    downTo: DeadLetterPlace | null = null,
  ): Promise<DeadLetter[]> {
    return this.#tables.transact("listDeadLetters", () =>
      listDeadLetters(this.#tables, tenantId, filter, before, limit, downTo),
    );
  }

  findLettersDownTo(
    ...asked: Parameters<JobStore["findLettersDownTo"]>
  ): Promise<DeadLetterPlace | null> {
    return this.#tables.transact("findLettersDownTo", () =>
      findLettersDownTo(this.#tables, ...asked),
    );
  }

  retryDead(tenantId: TenantId, jobs: readonly ToRetry[]): Promise<Map<JobId, RetryOutcome>> {
    return this.#tables.transact("retryDead", (nowMs) => {
      const retries = jobs.map((job) => ({ job, made: retry(this.#tables, tenantId, job, nowMs) }));
      return new Map(retries.reverse().map(({ job, made }) => [job.id, made]));
    });
  }

  retryOne(
    tenantId: TenantId,
    jobId: JobId,
    idempotency: Idempotency<Job> | null = null,
    queue?: number,
  ): ReturnType<JobStore["retryOne"]> {
    const asked = { id: jobId, delayMs: 0, ...(queue !== undefined && { queue }) };
    return this.#tables.transact("retryOne", (nowMs) =>
      oncePerKey<Job, RetriedOne>(this.#tables, tenantId, idempotency, nowMs, () => {
        const kind = retry(this.#tables, tenantId, asked, nowMs);
        if (kind !== "moved") return { result: { kind }, made: null };
        const job = this.#tables.jobs.get(jobId);
        assert(job !== undefined, "a retry keeps the row");
        return { result: { kind, job }, made: job };
      }),
    );
  }

  cancel(tenantId: TenantId, jobId: JobId, retention: Retention): Promise<CancelOutcome> {
    return this.#tables.transact("cancel", (nowMs) =>
      cancelJob(this.#tables, tenantId, jobId, { nowMs, retention }),
    );
  }

  listMarked(ids: readonly JobId[]): Promise<JobId[]> {
    return this.#tables.transact("listMarked", () =>
      ids.filter((id) => {
        const job = this.#tables.jobs.get(id);
        return job?.status === "running" && job.cancelReason !== null;
      }),
    );
  }

  listPresent(ids: readonly JobId[]): Promise<JobId[]> {
    return this.#tables.transact("listPresent", () =>
      ids.filter((id) => this.#tables.jobs.has(id)),
    );
  }

  find(tenantId: TenantId, jobId: JobId): Promise<Job | null> {
    return this.#tables.transact("find", () => {
      const job = this.#tables.jobs.get(jobId);
      return job?.tenantId === tenantId ? job : null;
    });
  }

  listByTask(
    tenantId: TenantId,
    taskId: TaskId,
    filter: TaskJobsFilter,
    before: JobId | null,
    limit: number,
    downTo: JobId | null = null,
  ): Promise<Job[]> {
    return this.#tables.transact("listByTask", (nowMs) => {
      const { statuses } = filter;
      const jobs = jobsInTime(this.#tables, taskId, filter, before).filter(
        (job) =>
          job.tenantId === tenantId &&
          (downTo === null || job.id >= downTo) &&
          (statuses === null || statuses.includes(shownStatus(job, nowMs))),
      );
      return jobs.slice(0, limit);
    });
  }

  findListedDownTo(
    taskId: TaskId,
    filter: TaskJobsFilter,
    before: JobId | null,
    rows: number,
  ): Promise<JobId | null> {
    return this.#tables.transact(
      "findListedDownTo",
      () => jobsInTime(this.#tables, taskId, filter, before)[rows - 1]?.id ?? null,
    );
  }

  #isAnyWaiting(): boolean {
    for (const { status } of this.#tables.jobs.values()) if (status === "waiting") return true;
    return false;
  }

  /** All of them in one pass over the rows: a simulation polls more than it does anything else. */
  #heads(asked: PollRequest["queues"]): Map<number, QueueHead> {
    const floorsMs = new Map(asked.map(({ queue, floorMs }) => [queue, floorMs ?? 0]));
    const heads = new Map<number, QueueHead>();
    for (const { id: jobId, status, queue, dueAtMs } of this.#tables.jobs.values()) {
      if (status !== "pending") continue;
      const floorMs = floorsMs.get(queue);
      if (floorMs === undefined || dueAtMs < floorMs) continue;
      const head = heads.get(queue);
      if (head === undefined || isBefore({ dueAtMs, jobId }, head))
        heads.set(queue, { dueAtMs, jobId });
    }
    return heads;
  }

  /** Pending rows of a queue from its head up to an instant, in order. */
  #pending(queue: number, head: QueueHead | null, untilMs: number): Job[] {
    const jobs = [...this.#tables.jobs.values()].filter(
      (job) =>
        job.status === "pending" &&
        job.queue === queue &&
        job.dueAtMs <= untilMs &&
        (head === null || !isBefore({ dueAtMs: job.dueAtMs, jobId: job.id }, head)),
    );
    return jobs.sort((a, b) => a.dueAtMs - b.dueAtMs || (a.id < b.id ? -1 : 1));
  }

  /** The rows as the claim leaves them; nothing is written. */
  #planClaim(request: ClaimRequest, nowMs: number): Job[] {
    const { workerId, branches, aheadMs, limit } = request;
    const due = branches.flatMap((branch) =>
      this.#pending(branch.queue, branch.head, nowMs + aheadMs).slice(0, branch.limit),
    );
    const context = { nowMs, retention: NO_RETENTION };
    return due.slice(0, limit).map((job) => {
      const after = applyEvent(job, { kind: "claim", workerId }, context);
      assert(after.kind === "moved", "a pending job can be claimed");
      return after.job;
    });
  }

  /** The job after the event; null when it was refused. No event of these verbs removes a row. */
  #apply(id: JobId, event: JobEvent, nowMs: number, retention: Retention): Job | null {
    const after = this.#tables.applyToJob(id, event, { nowMs, retention });
    assert(after.kind !== "removed", `${event.kind} keeps the row`);
    return after.kind === "moved" ? after.job : null;
  }

  #revocationsSince(sinceMs: number): Revocation[] {
    const since = this.#tables.revocations.filter(({ atMs }) => atMs > sinceMs);
    return since.map(({ taskId, jobId }) => ({ taskId, jobId }));
  }
}

function eventOfResult(result: JobResult): JobEvent {
  const { workerId, claimNo, record } = result;
  if (result.kind !== "fail") return { kind: result.kind, workerId, claimNo, record };
  const { retryAtMs, finalReason } = result;
  return { kind: "fail", workerId, claimNo, record, retryAtMs, finalReason };
}

function recorded(writes: readonly boolean[]): Recorded {
  const written = writes.filter(Boolean).length;
  return { written, lostRaces: writes.length - written };
}

function shownStatus(job: Job, nowMs: number): JobStatus {
  return job.status === "running" && job.runAtMs > nowMs ? "pending" : job.status;
}

function isBefore(one: QueueHead, other: QueueHead): boolean {
  if (one.dueAtMs !== other.dueAtMs) return one.dueAtMs < other.dueAtMs;
  return one.jobId < other.jobId;
}
