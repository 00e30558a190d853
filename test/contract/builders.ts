/** Tasks, jobs and workers for the contract suites: every instant is chosen relative to the database's now. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { JobId, TaskId, TenantId, WorkerId } from "#core/domain/ids.ts";
import { makeTaskId, makeWorkerId, partitionOfTenant } from "#core/domain/ids.ts";
import type { AttemptRecord, Job, Retention } from "#core/domain/job.ts";
import { REASON_DELETED } from "#core/domain/job.ts";
import { makeScheduledJob } from "#core/domain/make-job.ts";
import { oneLaneDown } from "#core/domain/queue.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import type { DueTask, Task, TaskVersion, TaskWithVersion } from "#core/domain/task.ts";
import type { ClaimedJob, HeldKey, JobResult, Recorded } from "#core/ports/job-store.ts";
import type {
  CarriedVersion,
  Creation,
  EditResult,
  JobsEffect,
  LockedTask,
  TaskAllowance,
  TaskEdit,
  TaskStore,
} from "#core/ports/task-store.ts";
import type { ContractStore } from "./contract-store.ts";

export const RETENTION: Retention = { succeededMs: 3_600_000, endedMs: 86_400_000 };
export const HOUR_MS = 3_600_000;

/** Text that statements, drivers and JSON have been seen to change. */
export const AWKWARD = `quote ' double " back \\ slash \\' new\nline \u0000 nul \u001a ctrl-z é 😀 %s ?`;

export function makeTenant(): TenantId {
  return `t${randomBytes(8).toString("hex")}` as TenantId;
}

export function makeWorker(): WorkerId {
  return makeWorkerId(randomBytes(16));
}

/** The database's now, in epoch ms. */
export async function dbNow(store: ContractStore): Promise<number> {
  const request = { workerId: makeWorker(), queues: [], revocationsWithinMs: 30_000 };
  return (await store.shard.jobs.poll(request)).nowMs;
}

type Changes = {
  /** Eight bytes of its id. */
  readonly random?: Uint8Array;
  readonly task?: Partial<Task>;
  readonly version?: Partial<Omit<TaskVersion, "taskId" | "requestVersion">>;
};

/** An active task of a tenant of its own that is due in an hour. */
export function buildTask(nowMs: number, changes: Changes = {}): TaskWithVersion {
  const tenantId = changes.task?.tenantId ?? makeTenant();
  const random = changes.random ?? randomBytes(8);
  const id = makeTaskId(nowMs, partitionOfTenant(tenantId), random);
  const version: TaskVersion = {
    taskId: id,
    requestVersion: 1,
    request: {
      method: "POST",
      url: "https://example.com/hook",
      headers: { "content-type": "application/json" },
      body: '{"a":1}',
      bodyBase64: null,
    },
    timeoutMs: 30_000,
    retry: RETRY_DEFAULT,
    ...changes.version,
  };
  const task: Task = {
    id,
    tenantId,
    name: `task ${randomBytes(6).toString("hex")}`,
    description: null,
    tags: [],
    status: "active",
    schedule: { type: "every", seconds: 3_600, anchor: "1970-01-01T00:00:00.000Z" },
    priority: "normal",
    catchUp: "all",
    startAtMs: null,
    endAtMs: null,
    nextRunAtMs: nowMs + HOUR_MS,
    madeUntilMs: null,
    version: 1,
    requestVersion: 1,
    timeoutMs: version.timeoutMs,
    maxAttempts: version.retry.maxAttempts,
    error: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    ...changes.task,
  };
  return { task, version };
}

/** Creates a task in the store. */
export async function addTask(
  store: ContractStore,
  changes: Changes = {},
): Promise<TaskWithVersion> {
  const built = buildTask(await dbNow(store), changes);
  assert.deepEqual(await store.shard.tasks.create(built), { kind: "created" });
  return built;
}

/** Creates a group without a key. */
export async function createMany(
  tasks: Pick<TaskStore, "createMany">,
  group: readonly TaskWithVersion[],
  quota: TaskAllowance | null = null,
): Promise<readonly Creation[]> {
  const made = await tasks.createMany(group, null, quota);
  assert(made.kind === "made");
  return made.creations;
}

/** An id that no task has, in the partition of this one's tenant. */
export function freshTaskId(nowMs: number, task: Task): TaskId {
  return makeTaskId(nowMs, partitionOfTenant(task.tenantId), randomBytes(8));
}

/** A planned job of the task, `offsetMs` from `nowMs`, pending and never claimed. */
export function plannedJob(task: Task & DueTask, nowMs: number, offsetMs: number): Job {
  return makeScheduledJob(task, "schedule", nowMs + offsetMs, nowMs);
}

/** Lets an edit of the task make these rows. */
export async function addJobs(
  store: ContractStore,
  task: Task,
  jobs: readonly Job[],
): Promise<void> {
  await writeEdit(store, task, {}, { kind: "keep" }, jobs);
}

/** Lets `decide` edit a task. */
export function editTask<R = never>(
  store: ContractStore,
  task: Pick<Task, "tenantId" | "id">,
  decide: (locked: LockedTask) => TaskEdit<R>,
): Promise<EditResult<R>> {
  return store.shard.tasks.edit(task.tenantId, task.id, decide, RETENTION);
}

/** Edits a live task: changed fields, an effect on its jobs, rows to make. Returns what the store answers as current. */
export async function writeEdit(
  store: ContractStore,
  task: Task,
  changes: Partial<Task>,
  jobsEffect: JobsEffect,
  makeJobs: readonly Job[] = [],
): Promise<TaskWithVersion> {
  const result = await editTask<never>(store, task, (locked) => ({
    kind: "write",
    task: { ...locked.task, ...changes },
    newVersion: null,
    jobsEffect,
    makeJobs,
  }));
  assert.equal(result.kind, "written");
  assert(result.kind === "written");
  return result.current;
}

/** Deletes a task as the API does. */
export async function removeTask(store: ContractStore, task: Task): Promise<void> {
  const effect = { kind: "cancel", reason: REASON_DELETED } as const;
  await writeEdit(store, task, { status: "deleted" }, effect);
}

/** The row of a job that must be there. */
export async function readJob(
  store: ContractStore,
  job: { tenantId: TenantId; id: JobId },
): Promise<Job> {
  const found = await store.shard.jobs.find(job.tenantId, job.id);
  assert(found !== null, `job ${job.id} is gone`);
  return found;
}

export async function isGone(store: ContractStore, job: Job): Promise<boolean> {
  return (await store.shard.jobs.find(job.tenantId, job.id)) === null;
}

/** A worker with a minute's lease. */
export async function addWorker(store: ContractStore): Promise<WorkerId> {
  const workerId = makeWorker();
  await store.shard.workers.register(workerId, 60_000);
  return workerId;
}

/** Claims all that is due up to a second ahead in the queues of `jobs`, and checks that it is exactly these. */
export async function claimJobs(
  store: ContractStore,
  workerId: WorkerId,
  jobs: readonly { readonly id: JobId; readonly queue: number }[],
): Promise<ClaimedJob[]> {
  const queues = [...new Set(jobs.map((job) => job.queue))].sort((a, b) => a - b);
  const claim = await store.shard.jobs.claimDue({
    workerId,
    branches: queues.map((queue) => ({ queue, limit: 1_000, head: null })),
    aheadMs: 1_000,
    limit: 1_000,
  });
  assert.equal(claim.kind, "claimed");
  assert(claim.kind === "claimed");
  assert.deepEqual(idsOf(claim.jobs), idsOf(jobs));
  return [...claim.jobs].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** What a claim tells of a job whose row is this by then. */
export function claimedView(row: Job): ClaimedJob {
  return {
    id: row.id,
    taskId: row.taskId,
    tenantId: row.tenantId,
    taskVersion: row.taskVersion,
    trigger: row.trigger,
    queue: row.queue,
    scheduledAtMs: row.scheduledAtMs,
    runAtMs: row.runAtMs,
    dueAtMs: row.dueAtMs,
    claimNo: row.claimNo,
    attempt: row.attempt,
    lost: row.lost,
    maxAttempts: row.maxAttempts,
    timeoutMs: row.timeoutMs,
    limitKey: row.limitKey,
  };
}

/** Ids in ascending order. */
export function idsOf(jobs: readonly { readonly id: JobId }[]): JobId[] {
  return jobs.map((job) => job.id).sort();
}

/** Makes one planned job due now, claims it for a fresh worker and returns both. */
export async function claimOne(
  store: ContractStore,
  changes: Changes = {},
): Promise<{ task: Task; held: ClaimedJob; workerId: WorkerId }> {
  const { task } = await addTask(store, changes);
  const job = plannedJob(task, await dbNow(store), -5_000);
  await addJobs(store, task, [job]);
  const workerId = await addWorker(store);
  const [held] = await claimJobs(store, workerId, [job]);
  assert(held !== undefined);
  return { task, held, workerId };
}

/** What was kept of a call. */
export function attemptRecord(
  attempt: number,
  changes: Partial<AttemptRecord> = {},
): AttemptRecord {
  return {
    attempt,
    claimedAtMs: 1_779_999_999_250,
    startedAtMs: 1_780_000_000_123,
    lagMs: 4,
    durationMs: 81,
    statusCode: 500,
    error: null,
    responseBody: "no",
    timings: [0.7, 12.4, null, 60, 80.9],
    ...changes,
  };
}

type Held = Pick<ClaimedJob, "id" | "claimNo" | "attempt" | "queue" | "tenantId" | "limitKey">;

export function heldKey(
  { id, claimNo, limitKey }: Pick<HeldKey, "id" | "claimNo" | "limitKey">,
  workerId: WorkerId,
): HeldKey {
  return { id, workerId, claimNo, limitKey };
}

export function success(held: Held, workerId: WorkerId): JobResult {
  const record = attemptRecord(held.attempt, { statusCode: 200, responseBody: "ok" });
  return { kind: "succeed", ...heldKey(held, workerId), record };
}

export function failure(
  held: Held,
  workerId: WorkerId,
  retryAtMs: number,
  finalReason: string | null = null,
): JobResult {
  return {
    kind: "fail",
    ...heldKey(held, workerId),
    record: attemptRecord(held.attempt),
    retryAtMs,
    retryQueue: oneLaneDown(held.queue, held.tenantId),
    finalReason,
    maybeDead: true,
  };
}

export function interruption(held: Held, workerId: WorkerId): JobResult {
  const record = attemptRecord(held.attempt, { statusCode: null, error: "interrupted" });
  return { kind: "interrupt", ...heldKey(held, workerId), record };
}

/** What a store answers to one result that counted, and to one that came too late. */
export const WRITTEN: Recorded = { written: 1, lostRaces: 0 };
export const LOST: Recorded = { written: 0, lostRaces: 1 };

export function recordResults(
  store: ContractStore,
  results: readonly JobResult[],
): Promise<Recorded> {
  return store.shard.jobs.recordResults(results, RETENTION);
}

/** A job as a rescue leaves it: back in line, one loss more, its last holder still named. */
export function rescuedRow(job: Job, nowMs: number): Job {
  const status = job.limitKey === null ? "pending" : "waiting";
  return { ...job, status, lost: job.lost + 1, dueAtMs: Math.max(job.runAtMs, nowMs) };
}

/** What a claim gets of a version whose body is short. */
export function carriedOf({ timeoutMs: _timeoutMs, ...carried }: TaskVersion): CarriedVersion {
  return carried;
}

/** What a tick may lock, as a scheduler asks for it. */
export const TICK_BOUNDS = {
  horizonMs: 30_000,
  missedTasksMax: 200,
  missedOldestMax: 25,
  tasksMax: 1_000,
};
