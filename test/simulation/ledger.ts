/**
 * What really happened, seen from above: every change of a row as the database committed it, every call as it reached its endpoint.
 * The promises that can be checked at the very moment are checked here, the others when the run is over (check-end.ts).
 */
import type { MemoryTables, Verb } from "#adapters/memory/memory-tables.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import type { JobId, TaskId, WorkerId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { isFinished } from "#core/domain/job-state.ts";
import type { Task } from "#core/domain/task.ts";
import type { Call } from "#core/ports/caller.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import type { JobResult } from "#core/ports/job-store.ts";
import { type Era, followEras } from "./eras.ts";
import type { EventQueue } from "./event-queue.ts";
import { LimitChecks } from "./limit-checks.ts";
import type { SimProcess } from "./sim-process.ts";
import type { Trace } from "./trace.ts";

export interface Violation {
  readonly rule: string;
  readonly detail: string;
  readonly jobId: JobId | null;
  readonly taskId: TaskId | null;
}

/** A call that reached its endpoint. */
export interface SentCall {
  readonly jobId: JobId;
  readonly attempt: number;
  readonly process: SimProcess;
  readonly workerId: WorkerId | null;
  readonly atMs: number;
  ended: boolean;
  succeeded: boolean;
  /** Of the answer that its caller was given; null where that was none. */
  statusCode: number | null;
  /** The job was taken from its holder meanwhile: what became of the call need not be known. */
  rescued: boolean;
}

export interface LedgerOptions {
  readonly tables: MemoryTables;
  readonly queue: EventQueue;
  readonly trace: Trace;
  /** The database's now. */
  readonly databaseNowMs: () => number;
  /** How much earlier than its time a call may leave: the database's clock may be set back. */
  readonly earlyMs: number;
}

/** A pause or delete is answered; calls that start later than this are wrong: the start window, and what clocks may drift. */
const REVOKED_WITHIN_MS = 5_200;

export class Ledger {
  readonly violations: Violation[] = [];
  readonly calls = new Map<JobId, SentCall[]>();
  readonly eras = new Map<TaskId, Era[]>();
  /** Copies in history, as they are now. */
  readonly archived = new Map<JobId, Job>();
  /** Rows that were removed without a copy: planned ones, made again later. */
  readonly removed = new Map<JobId, number>();
  readonly workers = new Map<WorkerId, SimProcess>();
  /** Calls that start later than this, of occurrences that are due later than this, must be on time. */
  punctualFromMs = Number.POSITIVE_INFINITY;
  lateMsMax = 0;
  /** When a call last reached its endpoint. */
  lastCallMs = 0;
  readonly #options: LedgerOptions;
  readonly #marked = new Map<JobId, number>();
  readonly #removedClaims = new Map<JobId, number>();
  readonly #limits: LimitChecks;
  #verb: Verb | null = null;
  #args: readonly unknown[] = [];
  #process: SimProcess | null = null;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#watchJobs();
    this.#watchTasks();
    this.#limits = new LimitChecks({
      tables: options.tables,
      databaseNowMs: options.databaseNowMs,
      nowMs: () => options.queue.nowMs,
      violate: (rule, detail, job) => this.violate(rule, detail, job.id, job.taskId),
    });
  }

  /** A verb is about to run on behalf of a process. */
  begin(process: SimProcess | null, verb: Verb, args: readonly unknown[]): void {
    this.#process = process;
    this.#verb = verb;
    this.#args = args;
  }

  /** Sees every copy that history takes. */
  watchHistory(history: HistoryStore): HistoryStore {
    return {
      write: async (entries, onDurable) => {
        await history.write(entries, onDurable);
        this.#noteCopies(entries);
      },
      find: (...args) => history.find(...args),
      listByTask: (...args) => history.listByTask(...args),
      close: () => history.close(),
    };
  }

  #noteCopies(entries: readonly HistoryEntry[]): void {
    for (const { job } of entries) {
      const before = this.archived.get(job.id);
      if (before !== undefined && (before.finishedAtMs ?? 0) > (job.finishedAtMs ?? 0)) continue;
      this.archived.set(job.id, job);
      this.#options.trace.note(job.id, job.taskId, () => `copied to history as ${job.status}`);
    }
  }

  /** A call reaches its endpoint. */
  sent(process: SimProcess, call: Call): SentCall {
    const { tables, queue, trace } = this.#options;
    const jobId = call.headers["idempotency-key"] as JobId;
    const attempt = Number(call.headers["x-attempt"]);
    const row = tables.jobs.get(jobId);
    const all = this.calls.get(jobId) ?? [];
    this.calls.set(jobId, all);
    this.lastCallMs = queue.nowMs;
    trace.note(jobId, row?.taskId ?? null, () => `attempt ${attempt} SENT by ${process.name}`);
    if (all.some((other) => other.attempt === attempt))
      this.violate("(job, attempt) sent twice", `attempt ${attempt}`, jobId);
    const workerId = row?.workerId ?? null;
    const sender = workerId === null ? undefined : this.workers.get(workerId);
    if (row?.status !== "running" || row.attempt !== attempt || sender !== process)
      this.violate(
        "sent by who does not hold it",
        `attempt ${attempt} from ${process.name}; the row: ${row?.status ?? "gone"}, attempt ${row?.attempt}, of ${sender?.name}`,
        jobId,
      );
    if (row !== undefined) this.#checkTime(row, call);
    const sent = {
      ...{ jobId, attempt, process, workerId, atMs: queue.nowMs },
      ended: false,
      succeeded: false,
      statusCode: null,
      rescued: false,
    };
    all.push(sent);
    if (row !== undefined) this.#limits.sent(sent, row, call.url);
    return sent;
  }

  #checkTime(row: Job, { url }: Call): void {
    const { tables, queue, databaseNowMs, earlyMs } = this.#options;
    const nowMs = databaseNowMs();
    if (nowMs < row.runAtMs - earlyMs)
      this.violate("sent before its time", `${row.runAtMs - nowMs} ms early`, row.id);
    const markedMs = this.#marked.get(row.id);
    if (row.cancelReason !== null && markedMs !== undefined)
      if (queue.nowMs - markedMs > REVOKED_WITHIN_MS)
        this.violate(
          "sent after a pause or cancel was answered",
          `${Math.round(queue.nowMs - markedMs)} ms after`,
          row.id,
        );
    if (tables.versionOf(row.taskId, row.taskVersion)?.request.url !== url)
      this.violate("sent another version's request", url, row.id);
    // What waits under a limit may be late.
    const own = row.trigger === "schedule" && row.limitKey === null;
    if (own && row.scheduledAtMs >= this.punctualFromMs)
      if (row.attempt === 1 && nowMs - row.runAtMs > this.lateMsMax)
        this.violate("late though nothing fails", `${nowMs - row.runAtMs} ms`, row.id);
  }

  violate(rule: string, detail: string, jobId: JobId | null, taskId: TaskId | null = null): void {
    const { trace } = this.#options;
    trace.note(jobId, taskId, () => `VIOLATION: ${rule}: ${detail}`);
    this.violations.push({ rule, detail, jobId, taskId });
  }

  #watchJobs(): void {
    const { jobs } = this.#options.tables;
    const set = jobs.set.bind(jobs);
    const remove = jobs.delete.bind(jobs);
    jobs.set = (id, job) => {
      this.#jobWritten(jobs.get(id), job);
      return set(id, job);
    };
    jobs.delete = (id) => {
      const job = jobs.get(id);
      if (job !== undefined) this.#jobRemoved(job);
      return remove(id);
    };
  }

  #jobWritten(before: Job | undefined, after: Job): void {
    const { trace, queue } = this.#options;
    trace.note(after.id, after.taskId, () => `${this.#who()}: ${describeChange(before, after)}`);
    if (before === undefined) {
      const claimNo = this.#removedClaims.get(after.id);
      if (claimNo !== undefined)
        this.violate("made again after it was claimed", `claim ${claimNo} was there`, after.id);
      return;
    }
    if (after.cancelReason !== null && before.cancelReason === null)
      this.#marked.set(after.id, queue.nowMs);
    if (after.claimNo < before.claimNo)
      this.violate("claim number went back", `${before.claimNo} to ${after.claimNo}`, after.id);
    if (this.#verb === "materialize")
      this.violate("a tick changed a row that was there", describeChange(before, after), after.id);
    if (after.claimNo > before.claimNo) this.#checkClaim(before);
    if (this.#verb === "recordResults") this.#checkResult(before);
    if (this.#verb === "rescue")
      for (const call of this.calls.get(after.id) ?? [])
        if (call.attempt === before.attempt) call.rescued = true;
  }

  /** A job is being claimed: whoever called for it before has no live lease any more. */
  #checkClaim(before: Job): void {
    const { tables, databaseNowMs } = this.#options;
    if (before.status !== "pending" && before.status !== "waiting")
      this.violate("claimed out of somebody's hands", `it was ${before.status}`, before.id);
    for (const { ended, process, workerId, attempt } of this.calls.get(before.id) ?? []) {
      const lease = workerId === null ? undefined : tables.workers.get(workerId);
      const live = lease !== undefined && lease.fencedAtMs === null;
      if (ended || !process.alive || !live || lease.leaseUntilMs < databaseNowMs()) continue;
      const detail = `attempt ${attempt} of ${process.name} is under way`;
      this.violate("two live leases on one job", detail, before.id);
    }
  }

  #checkResult(before: Job): void {
    const results = this.#args[0] as readonly JobResult[];
    const fits = results.some(
      ({ id, claimNo, workerId }) =>
        id === before.id && claimNo === before.claimNo && workerId === before.workerId,
    );
    if (fits) return;
    const claims = results.filter(({ id }) => id === before.id).map(({ claimNo }) => claimNo);
    const detail = `of claim ${claims.join()}; the row is at claim ${before.claimNo}`;
    this.violate("a result changed a job that was claimed since", detail, before.id);
  }

  #jobRemoved(job: Job): void {
    const { trace, queue } = this.#options;
    trace.note(job.id, job.taskId, () => `${this.#who()}: row removed (${job.status})`);
    const copy = this.archived.get(job.id);
    if (this.#verb === "deleteArchived") {
      if (!isFinished(job.status))
        this.violate("archived though it is not finished", job.status, job.id);
      if (copy?.claimNo !== job.claimNo || copy.status !== job.status)
        this.violate(
          "deleted without a copy in history",
          copy === undefined ? "none" : `the copy: ${copy.status}, claim ${copy.claimNo}`,
          job.id,
        );
      this.#removedClaims.set(job.id, job.claimNo);
      return;
    }
    if (job.claimNo > 0) {
      this.violate("a claimed row was removed", `claim ${job.claimNo}`, job.id);
      this.#removedClaims.set(job.id, job.claimNo);
    }
    this.removed.set(job.id, queue.nowMs);
  }

  #watchTasks(): void {
    const { tables, databaseNowMs, trace } = this.#options;
    const { tasks } = tables;
    const set = tasks.set.bind(tasks);
    tasks.set = (id: TaskId, task: Task) => {
      const before = tasks.get(id);
      trace.note(null, id, () => `${this.#who()}: ${describeTask(before, task)}`);
      const eras = this.eras.get(id) ?? [];
      this.eras.set(id, eras);
      followEras(eras, before, task, databaseNowMs());
      return set(id, task);
    };
  }

  #who(): string {
    return `${this.#process?.name ?? "setup"} ${this.#verb ?? ""}`;
  }
}

const SHOWN = [
  "status",
  "claimNo",
  "attempt",
  "lost",
  "maxAttempts",
  "cancelReason",
  "reason",
  "queue",
  "taskVersion",
] as const;

function describeChange(before: Job | undefined, after: Job): string {
  const changes = SHOWN.flatMap((field) =>
    before?.[field] === after[field] ? [] : `${field} ${before?.[field] ?? ""}→${after[field]}`,
  );
  const worker =
    after.workerId === before?.workerId ? [] : [`worker ${after.workerId?.slice(0, 6)}`];
  const due =
    after.dueAtMs === before?.dueAtMs
      ? []
      : [`due ${new Date(after.dueAtMs).toISOString().slice(14, 23)}`];
  return [...changes, ...worker, ...due].join(", ");
}

function describeTask(before: Task | undefined, after: Task): string {
  const at = (ms: number | null | undefined) =>
    ms === null || ms === undefined ? "none" : new Date(ms).toISOString().slice(14, 23);
  const status =
    before?.status === after.status ? after.status : `${before?.status}→${after.status}`;
  const schedule = JSON.stringify(after.schedule);
  return `task ${status}, next ${at(before?.nextRunAtMs)}→${at(after.nextRunAtMs)}, version ${after.version}, ${schedule}`;
}
