/** The rows of one shard in memory, and the transaction that every verb runs in. */
import { type CallLimit, endpointKey, type LimitKey, tenantKey } from "#core/domain/call-limit.ts";
import type { JobId, TaskId, TenantId, WorkerId } from "#core/domain/ids.ts";
import type { Job, Retention } from "#core/domain/job.ts";
import type { Context, JobEvent, Transition } from "#core/domain/job-state.ts";
import { applyEvent } from "#core/domain/job-state.ts";
import { type Task, type TaskVersion, versionKey } from "#core/domain/task.ts";
import {
  changeMarks,
  type SealedSecret,
  type SecretMark,
  type SecretsChange,
} from "#core/domain/task-secrets.ts";
import type { Revocation } from "#core/ports/job-store.ts";
import type { StoredSigningSecret, WrappedKey } from "#core/ports/secret-store.ts";
import type { Shard } from "#core/ports/shards.ts";

/** The verbs of the stores, as the hooks are told of them. */
export type Verb =
  | keyof Shard["tasks"]
  | keyof Shard["jobs"]
  | keyof Shard["workers"]
  | keyof Shard["secrets"]
  | keyof Shard["backlog"]
  | keyof Shard["limits"];

/**
 * Where faults come in: both are awaited around the transaction of every verb, and what they throw the verb throws. Before:
 * nothing has been written (a lost connection, a deadlock). After: everything has, and only the answer is lost.
 */
export interface CommitHooks {
  beforeCommit?(verb: Verb): Promise<void>;
  afterCommit?(verb: Verb): Promise<void>;
}

export interface MemoryOptions {
  /** The database's clock. */
  readonly clock: { nowMs(): number };
  readonly hooks?: CommitHooks;
  /** So many jobs a pause, delete or resume reaches in one transaction, as in MySQL; not given: all of them. */
  readonly jobsAtOnce?: number;
}

/** For events that end no job. */
export const NO_RETENTION: Retention = { succeededMs: 0, endedMs: 0 };

interface WorkerRow {
  readonly leaseUntilMs: number;
  readonly fencedAtMs: number | null;
}

interface LimitRow {
  readonly limit: CallLimit;
  /** Of a rate: no call starts before. */
  readonly nextCallAtMs: number;
}

interface SlotsRow {
  readonly slots: number;
  readonly takenAtMs: number;
}

/** The answer of a request that may be repeated. */
interface KeptAnswer {
  readonly bodyHash: string;
  readonly answer: string;
  readonly expiresAtMs: number;
}

/** The rows of one shard. Public, so that a test can look at them and put any state there. */
export class MemoryTables {
  readonly tasks = new Map<TaskId, Task>();
  /** By task and request version. */
  readonly versions = new Map<string, TaskVersion>();
  readonly jobs = new Map<JobId, Job>();
  /** Of a task whose last pause, delete or resume has yet to reach its jobs below this one. */
  readonly jobsBelow = new Map<TaskId, JobId>();
  readonly workers = new Map<WorkerId, WorkerRow>();
  readonly revocations: (Revocation & { readonly atMs: number })[] = [];
  /** By tenant, route and key. */
  readonly answers = new Map<string, KeptAnswer>();
  /** Of each tenant, when it had tasks called as a test lately. */
  readonly testCalls = new Map<TenantId, readonly number[]>();
  /** When a task that has no further occurrence was last run by hand or retried. */
  readonly ranAtMs = new Map<TaskId, number>();
  readonly secrets = new Map<TaskId, readonly SealedSecret[]>();
  readonly dataKeys: WrappedKey[] = [];
  /** Newest first. */
  readonly signingSecrets = new Map<TenantId, readonly StoredSigningSecret[]>();
  readonly callLimits = new Map<LimitKey, LimitRow>();
  readonly limitSlots = new Map<LimitKey, Map<WorkerId, SlotsRow>>();
  readonly #options: MemoryOptions;

  constructor(options: MemoryOptions) {
    this.#options = options;
  }

  /** Runs `body` as the transaction of `verb`. It must not write before it can no longer fail. */
  async transact<R>(verb: Verb, body: (nowMs: number) => R): Promise<R> {
    const { clock, hooks } = this.#options;
    await hooks?.beforeCommit?.(verb);
    const result = body(clock.nowMs());
    await hooks?.afterCommit?.(verb);
    return result;
  }

  get jobsAtOnce(): number {
    return this.#options.jobsAtOnce ?? Number.POSITIVE_INFINITY;
  }

  nowMs(): number {
    return this.#options.clock.nowMs();
  }

  /** Or not there. */
  isFenced(workerId: WorkerId): boolean {
    const row = this.workers.get(workerId);
    return row === undefined || row.fencedAtMs !== null;
  }

  isLive(workerId: WorkerId, atMs: number): boolean {
    const row = this.workers.get(workerId);
    return row !== undefined && row.fencedAtMs === null && row.leaseUntilMs > atMs;
  }

  liveWorkers(atMs: number): WorkerId[] {
    return [...this.workers.keys()].filter((workerId) => this.isLive(workerId, atMs));
  }

  versionOf(taskId: TaskId, requestVersion: number): TaskVersion | undefined {
    return this.versions.get(versionKey(taskId, requestVersion));
  }

  addVersion(version: TaskVersion): void {
    this.versions.set(versionKey(version.taskId, version.requestVersion), version);
  }

  removeVersions(taskId: TaskId): void {
    for (const [key, version] of this.versions) {
      if (version.taskId === taskId) this.versions.delete(key);
    }
  }

  /** The line of the jobs that are made of a task as it is. */
  lineOf({ id, tenantId, requestVersion }: Pick<Task, "id" | "tenantId" | "requestVersion">) {
    const url = this.versionOf(id, requestVersion)?.request.url;
    const endpoint = url === undefined ? null : endpointKey(tenantId, url);
    const line = [endpoint, tenantKey(tenantId)].find(
      (key) => key !== null && this.callLimits.has(key),
    );
    return line === undefined || line === null ? {} : { limitKey: line };
  }

  marksOf(taskId: TaskId): readonly SecretMark[] {
    const secrets = this.secrets.get(taskId) ?? [];
    return secrets.map(({ name, fingerprint, sealed }) => {
      return { name, fingerprint, bytes: sealed.length };
    });
  }

  /** Changes the secrets of a task. */
  changeSecrets(taskId: TaskId, change: SecretsChange): void {
    const sealed = new Map((this.secrets.get(taskId) ?? []).map((one) => [one.name, one.sealed]));
    for (const one of change.set) sealed.set(one.name, one.sealed);
    const after = changeMarks(this.marksOf(taskId), change).map((mark) => {
      return { ...mark, sealed: sealed.get(mark.name) ?? new Uint8Array() };
    });
    if (after.length === 0) this.secrets.delete(taskId);
    else this.secrets.set(taskId, after);
  }

  validSigningSecrets(tenantId: TenantId, nowMs: number): readonly StoredSigningSecret[] {
    const all = this.signingSecrets.get(tenantId) ?? [];
    return all.filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > nowMs);
  }

  /** Offers an event to a job's row and writes what comes of it; a row that is not there refuses. */
  applyToJob(id: JobId, event: JobEvent, context: Context): Transition {
    const job = this.jobs.get(id);
    if (job === undefined) return { kind: "refused" };
    const after = applyEvent(job, event, context);
    if (after.kind === "moved") this.jobs.set(id, after.job);
    if (after.kind === "removed") this.jobs.delete(id);
    return after;
  }

  /** Inserts rows; an id that exists is left alone. Returns how many were new. */
  insertJobs(jobs: readonly Job[]): number {
    const before = this.jobs.size;
    for (const job of jobs) if (!this.jobs.has(job.id)) this.jobs.set(job.id, job);
    return this.jobs.size - before;
  }
}
