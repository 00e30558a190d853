/** Tasks in memory: what an edit or a tick decides is checked first and written last, so that a refusal leaves no trace. */
import { assert } from "#core/domain/assert.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { Retention } from "#core/domain/job.ts";
import { CARRIED_BYTES_MAX, MISSED_AFTER_MS } from "#core/domain/limits.ts";
import { PRIORITIES, priorityRank } from "#core/domain/queue.ts";
import { isCounted } from "#core/domain/quotas.ts";
import type { DueTask, Task, TaskVersion, TaskWithVersion } from "#core/domain/task.ts";
import type { TaskChange } from "#core/domain/task-change.ts";
import { admitTest, type TestLimit } from "#core/domain/test-limit.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type {
  CallPartsRequest,
  CarriedVersion,
  CreatedMany,
  Creation,
  DueAhead,
  DueTasks,
  EditResult,
  LoadedCallParts,
  LockedTask,
  MadeRun,
  MakeRun,
  MaterializeBounds,
  Materialized,
  MaterializePlan,
  NewTask,
  Ran,
  TaskAllowance,
  TaskEdit,
  TaskFilter,
  TaskStore,
  UnfinishedChange,
} from "#core/ports/task-store.ts";
import { createTask, createTasks, liveTaskNamed, overQuota } from "./memory-create-tasks.ts";
import { advanceTask, dueTask } from "./memory-due-tasks.ts";
import {
  aheadFromMs,
  applyJobsEffect,
  goOnWithJobs,
  listUnfinished,
  madeOccurrencesMs,
  plannedFromMs,
} from "./memory-jobs-effect.ts";
import { findAnswer, oncePerKey } from "./memory-once-per-key.ts";
import { pruneRows, purgeTasks } from "./memory-purge.ts";
import { capEndpoints } from "./memory-put-limit.ts";
import type { MemoryTables } from "./memory-tables.ts";
import { tasksListed } from "./memory-task-lists.ts";

/** Run numbers are random: so many that exist in a row mean that `make` does not draw a new one. */
const RUN_DRAWS_MAX = 20;

export class MemoryTaskStore implements TaskStore {
  readonly #tables: MemoryTables;

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  create(
    created: NewTask,
    idempotency: Idempotency<TaskWithVersion> | null = null,
    quota: TaskAllowance | null = null,
  ): Promise<Creation | Replay> {
    return createTask(this.#tables, created, idempotency, quota);
  }

  createMany(
    created: readonly NewTask[],
    idempotency: Idempotency<readonly Creation[]> | null = null,
    quota: TaskAllowance | null = null,
  ): Promise<CreatedMany | Replay> {
    return createTasks(this.#tables, created, idempotency, quota);
  }

  findByName(tenantId: TenantId, name: string): Promise<TaskWithVersion | null> {
    return this.#tables.transact("findByName", () => {
      const task = liveTaskNamed(this.#tables, tenantId, name);
      return task === undefined ? null : this.#withVersion(task);
    });
  }

  find(tenantId: TenantId, taskId: TaskId): Promise<TaskWithVersion | null> {
    return this.#tables.transact("find", () => {
      const task = this.#live(tenantId, taskId);
      return task === null ? null : this.#withVersion(task);
    });
  }

  exists(tenantId: TenantId, taskId: TaskId): Promise<boolean> {
    return this.#tables.transact(
      "exists",
      () => this.#tables.tasks.get(taskId)?.tenantId === tenantId,
    );
  }

  list(
    tenantId: TenantId,
    filter: TaskFilter,
    before: TaskId | null,
    limit: number,
    downTo: TaskId | null = null,
  ): Promise<TaskWithVersion[]> {
    return this.#tables.transact("list", () =>
      tasksListed(this.#tables, tenantId, filter, before)
        .filter(({ id }) => downTo === null || id >= downTo)
        .slice(0, limit)
        .map((task) => this.#withVersion(task)),
    );
  }

  findListedDownTo(
    tenantId: TenantId,
    { status }: Pick<TaskFilter, "status">,
    before: TaskId | null,
    rows: number,
  ): Promise<TaskId | null> {
    const all = { status, priority: null, tag: null };
    return this.#tables.transact(
      "findListedDownTo",
      () => tasksListed(this.#tables, tenantId, all, before)[rows - 1]?.id ?? null,
    );
  }

  edit<R>(
    tenantId: TenantId,
    taskId: TaskId,
    decide: (locked: LockedTask) => TaskEdit<R>,
    retention: Retention,
    quota: TaskAllowance | null = null,
  ): Promise<EditResult<R>> {
    return this.#tables.transact("edit", (nowMs): EditResult<R> => {
      const task = this.#live(tenantId, taskId);
      if (task === null) return { kind: "not-found" };
      const current = this.#withVersion(task);
      const planned = plannedFromMs(this.#tables, taskId, nowMs);
      const ahead = aheadFromMs(this.#tables, taskId, nowMs);
      const madeMs = madeOccurrencesMs(this.#tables, task, nowMs);
      const edit = decide({
        ...current,
        ...this.#tables.lineOf(task),
        nowMs,
        plannedFromMs: planned,
        aheadFromMs: ahead,
        madeMs,
        ...this.#jobsLeft(taskId),
      });
      if (edit.kind === "refuse") return { kind: "refused", refusal: edit.refusal };
      if (edit.kind === "unchanged")
        return { kind: "unchanged", current, ...this.#jobsLeft(taskId) };
      const countsAgain = !isCounted(task.status) && isCounted(edit.task.status);
      const over = countsAgain ? overQuota(this.#tables, tenantId, quota) : null;
      if (over !== null) return over;
      const owner = this.#ownerOfName(edit.task);
      if (owner !== null) return { kind: "name-taken", taskId: owner };
      this.#write(edit.task, edit.newVersion);
      const urls = edit.newVersion === null ? [] : [edit.newVersion.request.url];
      if (edit.secrets !== undefined) this.#tables.changeSecrets(taskId, edit.secrets);
      applyJobsEffect(this.#tables, edit.task, edit.jobsEffect, { nowMs, retention });
      this.#tables.insertJobs(edit.makeJobs);
      capEndpoints(this.#tables, tenantId, urls, quota, nowMs);
      const written = this.#withVersion(edit.task);
      return { kind: "written", current: written, ...this.#jobsLeft(taskId) };
    });
  }

  listUnfinished(limit: number): Promise<UnfinishedChange[]> {
    return this.#tables.transact("listUnfinished", () => listUnfinished(this.#tables, limit));
  }

  goOnWithJobs(
    tenantId: TenantId,
    taskId: TaskId,
    change: TaskChange,
    retention: Retention,
  ): ReturnType<TaskStore["goOnWithJobs"]> {
    return this.#tables.transact("goOnWithJobs", (nowMs) => {
      const task = this.#tables.tasks.get(taskId);
      const own = task?.tenantId === tenantId ? task : undefined;
      return goOnWithJobs(this.#tables, own, change, { nowMs, retention });
    });
  }

  runNow<R = never>(
    tenantId: TenantId,
    taskId: TaskId,
    make: MakeRun<R>,
    idempotency: Idempotency<MadeRun> | null = null,
  ): Promise<Ran<R> | Replay> {
    return this.#tables.transact("runNow", (nowMs) =>
      oncePerKey<MadeRun, Ran<R>>(this.#tables, tenantId, idempotency, nowMs, () => {
        const result = this.#run(tenantId, taskId, make, nowMs);
        return { result, made: result.kind === "made" ? result : null };
      }),
    );
  }

  runTest(
    tenantId: TenantId,
    taskId: TaskId,
    make: MakeRun<never>,
    limit: TestLimit,
  ): ReturnType<TaskStore["runTest"]> {
    return this.#tables.transact("runTest", (nowMs): Awaited<ReturnType<TaskStore["runTest"]>> => {
      const admission = admitTest(this.#tables.testCalls.get(tenantId) ?? [], nowMs, limit);
      if (admission.kind === "limited") return admission;
      const ran = this.#run(tenantId, taskId, make, nowMs);
      if (ran.kind === "made") this.#tables.testCalls.set(tenantId, admission.recent);
      return ran;
    });
  }

  materialize(
    bounds: MaterializeBounds,
    plan: (due: DueTasks) => MaterializePlan,
  ): Promise<Materialized | null> {
    return this.#tables.transact("materialize", (nowMs) => {
      const due = this.#due(bounds, nowMs);
      const locked = new Set([...due.missed, ...due.due].map((task) => task.id));
      if (locked.size === 0) return null;
      const { jobs, advances } = plan(due);
      assert(
        advances.every((advance) => locked.has(advance.taskId)),
        "a tick advances only what it locked",
      );
      const made = this.#tables.insertJobs(jobs);
      for (const advance of advances) advanceTask(this.#tables, advance);
      return {
        made,
        alreadyMade: jobs.length - made,
        errors: advances.filter((advance) => advance.error !== null).length,
      };
    });
  }

  lookAhead(afterMs: number, untilMs: number, depth: number): Promise<DueAhead> {
    return this.#tables.transact("lookAhead", (nowMs) => {
      const priorities = PRIORITIES.map((priority) => {
        const times: number[] = [];
        for (const { status, priority: own, nextRunAtMs } of this.#tables.tasks.values()) {
          if (status !== "active" || own !== priority || nextRunAtMs === null) continue;
          if (nextRunAtMs > nowMs + afterMs && nextRunAtMs <= nowMs + untilMs)
            times.push(nextRunAtMs);
        }
        times.sort((a, b) => a - b);
        return { firstMs: times[0] ?? null, deepMs: times[depth - 1] ?? null };
      });
      return { nowMs, priorities };
    });
  }

  loadVersions(
    keys: readonly { readonly taskId: TaskId; readonly requestVersion: number }[],
  ): Promise<TaskVersion[]> {
    return this.#tables.transact("loadVersions", () =>
      keys.flatMap((key) => this.#tables.versionOf(key.taskId, key.requestVersion) ?? []),
    );
  }

  loadCallParts({ versions, secretsOf, signingOf }: CallPartsRequest): Promise<LoadedCallParts> {
    return this.#tables.transact("loadCallParts", (nowMs) => ({
      versions: versions.flatMap((key) => {
        const version = this.#tables.versionOf(key.taskId, key.requestVersion);
        return version === undefined ? [] : carried(version);
      }),
      secrets: new Map(
        secretsOf.flatMap((id) => {
          const secrets = this.#tables.secrets.get(id) ?? [];
          const task = this.#tables.tasks.get(id);
          if (task === undefined || secrets.length === 0) return [];
          const { requestVersion } = task;
          return [[id, secrets.map((secret) => ({ ...secret, requestVersion }))]];
        }),
      ),
      signing: new Map(
        signingOf.flatMap((id) => {
          const secrets = this.#tables.validSigningSecrets(id, nowMs);
          return secrets.length === 0 ? [] : [[id, secrets]];
        }),
      ),
    }));
  }

  purgeEnded(limit: number, olderThanMs: number): Promise<number> {
    return this.#tables.transact("purgeEnded", (nowMs) =>
      purgeTasks(this.#tables, limit, nowMs - olderThanMs),
    );
  }

  findAnswer(
    tenantId: TenantId,
    request: Parameters<TaskStore["findAnswer"]>[1],
  ): Promise<Replay | null> {
    return this.#tables.transact("findAnswer", (nowMs) =>
      findAnswer(this.#tables, tenantId, request, nowMs),
    );
  }

  pruneUnread(limit: number): Promise<number> {
    return this.#tables.transact("pruneUnread", (nowMs) => pruneRows(this.#tables, limit, nowMs));
  }

  #live(tenantId: TenantId, taskId: TaskId): Task | null {
    const task = this.#tables.tasks.get(taskId);
    return task?.tenantId === tenantId && task.status !== "deleted" ? task : null;
  }

  #jobsLeft(taskId: TaskId): { readonly jobsLeft?: true } {
    return this.#tables.jobsBelow.has(taskId) ? { jobsLeft: true } : {};
  }

  #withVersion(task: Task): TaskWithVersion {
    const version = this.#tables.versionOf(task.id, task.requestVersion);
    assert(version !== undefined, "a task's newest version exists");
    const secrets = this.#tables.marksOf(task.id);
    return secrets.length === 0 ? { task, version } : { task, version, secrets };
  }

  #run<R>(tenantId: TenantId, taskId: TaskId, make: MakeRun<R>, nowMs: number): Ran<R> {
    const task = this.#live(tenantId, taskId);
    if (task === null) return { kind: "not-found" };
    const { version } = this.#withVersion(task);
    for (let draw = 0; draw < RUN_DRAWS_MAX; draw++) {
      const made = make({ ...task, ...this.#tables.lineOf(task) }, nowMs, version);
      if ("kind" in made) return { kind: "refused", refusal: made.refusal };
      if (this.#tables.insertJobs([made]) === 0) continue;
      this.#tables.ranAtMs.set(taskId, nowMs);
      return { kind: "made", job: made, version };
    }
    assert(false, "a manual run draws a new id");
  }

  /** Another live task that has the name; null: none. */
  #ownerOfName({ id, tenantId, name, status }: Task): TaskId | null {
    const other = liveTaskNamed(this.#tables, tenantId, name);
    return status !== "deleted" && other !== undefined && other.id !== id ? other.id : null;
  }

  #write(task: Task, newVersion: TaskVersion | null): void {
    if (newVersion !== null) {
      const { taskId, requestVersion } = newVersion;
      const there = this.#tables.versionOf(taskId, requestVersion);
      assert(there === undefined, "a version's row never changes");
      this.#tables.addVersion(newVersion);
    }
    this.#tables.tasks.set(task.id, task);
  }

  /** Missed tasks and due ones apart. */
  #due(bounds: MaterializeBounds, nowMs: number): DueTasks {
    const missedBeforeMs = nowMs - MISSED_AFTER_MS;
    const missed: (DueTask & { nextRunAtMs: number })[] = [];
    const due: (DueTask & { nextRunAtMs: number })[] = [];
    for (const task of this.#tables.tasks.values()) {
      const { nextRunAtMs } = task;
      if (task.status !== "active" || nextRunAtMs === null) continue;
      if (nextRunAtMs > nowMs + bounds.horizonMs) continue;
      (nextRunAtMs < missedBeforeMs ? missed : due).push({
        ...dueTask(this.#tables, task),
        nextRunAtMs,
      });
    }
    for (const tasks of [missed, due]) {
      tasks.sort(
        (a, b) =>
          priorityRank(a.priority) - priorityRank(b.priority) ||
          a.nextRunAtMs - b.nextRunAtMs ||
          (a.id < b.id ? -1 : 1),
      );
    }
    const first = missedOf(missed, bounds);
    return { nowMs, missed: first, due: due.slice(0, bounds.tasksMax - first.length) };
  }
}

/** From `missed`, most urgent and oldest first, what a tick reads of it, in that order. */
function missedOf<Missed extends DueTask>(
  missed: readonly Missed[],
  { missedOldestMax, missedTasksMax }: MaterializeBounds,
): Missed[] {
  const byPriority = PRIORITIES.map((of) => missed.filter(({ priority }) => priority === of));
  const oldest = byPriority.flatMap((tasks) => tasks.slice(0, missedOldestMax));
  const newest = byPriority.flatMap((tasks) => tasks.toReversed().slice(0, missedTasksMax));
  return [...new Set([...oldest, ...newest].slice(0, missedTasksMax))];
}

function carried({ timeoutMs: _timeoutMs, ...version }: TaskVersion): CarriedVersion {
  const { request } = version;
  if (JSON.stringify(request).length <= CARRIED_BYTES_MAX) return version;
  return { ...version, request: { ...request, body: null, bodyBase64: null }, bodyLeftOut: true };
}
