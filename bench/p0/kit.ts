/** What the cases of p0 are written with: make a task, look at its jobs in the database and at its calls in the sink. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { makeTaskId, partitionOfTenant } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { RETRY_DEFAULT, type RetryPolicy } from "#core/domain/retry-policy.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import type { HttpRequest, Task } from "#core/domain/task.ts";
import { createTask } from "#core/services/tasks/create-task.ts";
import type { TaskServiceDeps, TaskSettings } from "#core/services/tasks/task-settings.ts";
import type { SinkCall } from "#test/support/sink.ts";

/** Throws when what should be is not, or not yet. */
export type Check = () => Promise<void>;

export interface Case {
  readonly name: string;
  /** Sets the case up; the check is repeated until it holds, and once more at the very end. */
  start(kit: Kit): Promise<Check>;
}

export interface TaskWishes extends Partial<Omit<TaskSettings, "request" | "retry">> {
  /** What the sink is asked for, such as `/status/500`. */
  readonly path?: string;
  /** Instead of the sink's. */
  readonly url?: string;
  readonly request?: Partial<HttpRequest>;
  readonly retry?: Partial<RetryPolicy>;
}

const JOBS_LISTED = 200;
export const RETRY_SOON: Partial<RetryPolicy> = {
  maxAttempts: 3,
  initialDelaySeconds: 1,
  factor: 1,
  jitter: 0,
};

export class Kit {
  readonly deps: TaskServiceDeps;
  readonly tenantId: TenantId;
  readonly run: (sql: string) => Promise<readonly unknown[]>;
  readonly #sinkUrl: string;
  #calls: readonly SinkCall[] = [];

  constructor(
    deps: TaskServiceDeps,
    tenantId: TenantId,
    sinkUrl: string,
    run: (sql: string) => Promise<readonly unknown[]>,
  ) {
    this.deps = deps;
    this.tenantId = tenantId;
    this.run = run;
    this.#sinkUrl = sinkUrl;
  }

  nowMs(): number {
    return this.deps.clock.nowMs();
  }

  at(inMs: number): Schedule {
    return { type: "at", at: new Date(this.nowMs() + inMs).toISOString() };
  }

  sinkUrl(path: string): string {
    return `${this.#sinkUrl}${path}`;
  }

  settings(wishes: TaskWishes): TaskSettings {
    const { path = "/ok", url = this.sinkUrl(path), request, retry, ...rest } = wishes;
    return {
      name: null,
      description: null,
      tags: [],
      schedule: this.at(1_000),
      priority: "normal",
      catchUp: "all",
      startAtMs: null,
      endAtMs: null,
      timeoutMs: 30_000,
      ...rest,
      request: { method: "POST", url, headers: {}, body: null, bodyBase64: null, ...request },
      retry: { ...RETRY_DEFAULT, ...retry },
    };
  }

  /** Makes a task as the API does. */
  async create(wishes: TaskWishes = {}): Promise<TaskId> {
    const made = await createTask(this.deps, this.tenantId, this.settings(wishes));
    assert.equal(made.kind, "created", JSON.stringify(made));
    assert(made.kind === "created");
    return made.created.task.id;
  }

  /** Makes a task as it is when nobody has looked at it for a while: its next run lies back. */
  async createOverdue(nextRunAtMs: number, wishes: TaskWishes): Promise<TaskId> {
    const nowMs = this.nowMs();
    const id = makeTaskId(nextRunAtMs, partitionOfTenant(this.tenantId), randomBytes(8));
    const { request, retry, timeoutMs, name, ...rest } = this.settings(wishes);
    const task: Task = {
      ...rest,
      id,
      name: name ?? id,
      tenantId: this.tenantId,
      status: "active",
      nextRunAtMs,
      madeUntilMs: null,
      version: 1,
      requestVersion: 1,
      timeoutMs,
      maxAttempts: retry.maxAttempts,
      error: null,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    };
    const version = { taskId: id, requestVersion: 1, request, timeoutMs, retry };
    const { tasks } = this.deps.shards.forTenant(this.tenantId);
    assert.deepEqual(await tasks.create({ task, version }), { kind: "created" });
    return id;
  }

  async task(id: TaskId): Promise<Task> {
    const found = await this.deps.shards.forTask(id).tasks.find(this.tenantId, id);
    assert(found !== null, "the task is there");
    return found.task;
  }

  /** The task's jobs, oldest first. */
  async jobs(id: TaskId): Promise<Job[]> {
    const { jobs } = this.deps.shards.forTask(id);
    const filter = { statuses: null, fromMs: null, toMs: null };
    return (await jobs.listByTask(this.tenantId, id, filter, null, JOBS_LISTED)).reverse();
  }

  /** The calls of a job, in the order of arrival. */
  calls(job: Job): SinkCall[] {
    return this.#calls.filter(({ key }) => key === job.id);
  }

  /** Calls to a path of the sink. */
  callsTo(path: string): SinkCall[] {
    return this.#calls.filter((call) => call.path === path);
  }

  see(calls: readonly SinkCall[]): void {
    this.#calls = calls;
  }
}

/** The one job of a task, its status, and the numbers of its calls. */
export async function onlyJob(kit: Kit, id: TaskId, status: Job["status"]): Promise<Job> {
  const jobs = await kit.jobs(id);
  assert.equal(jobs.length, 1, `one job, not ${jobs.length}`);
  const [job] = jobs as [Job];
  assert.equal(job.status, status, `${status}, not ${job.status} (${job.reason ?? "no reason"})`);
  return job;
}

/** That the sink saw these attempts of the job, each once, and never before their time. */
export function sawAttempts(kit: Kit, job: Job, attempts: readonly number[]): SinkCall[] {
  const calls = kit.calls(job);
  assert.deepEqual(
    calls.map(({ attempt }) => attempt),
    attempts,
    "attempts seen by the sink",
  );
  for (const call of calls) {
    assert.equal(call.scheduledAt, new Date(job.scheduledAtMs).toISOString(), "X-Scheduled-At");
    assert.ok(call.arrivedAtMs >= job.scheduledAtMs, "no call before its time");
  }
  return calls;
}
