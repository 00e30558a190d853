/** A task as JSON: as it is answered, and as a PATCH is laid over it. */
import type { z } from "zod";
import { type Task, type TaskWithVersion, tagOf } from "#core/domain/task.ts";
import type { NameTaken, OverQuota } from "#core/ports/task-store.ts";
import type { ApiAnswer } from "../_shared/api-event.ts";
import { isoInstant, presentRequest, presentRequestInList } from "../_shared/present-request.ts";
import { HttpProblem } from "../_shared/problem.ts";
import type { taskSchema } from "../_shared/task-schema.ts";

export function presentTask({ task, version, secrets = [] }: TaskWithVersion): unknown {
  return present(task, version, presentRequest(version.request, secrets));
}

export function taskAnswer(
  current: TaskWithVersion,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): ApiAnswer {
  const etag = etagOf(current.task);
  return { status, headers: { etag, ...headers }, body: { json: presentTask(current) } };
}

export function presentTaskInList({ task, version, secrets = [] }: TaskWithVersion): unknown {
  return present(task, version, presentRequestInList(version.request, secrets));
}

/** The fields that create takes, all of them: a PATCH would take one that is left out back to its default. */
export function presentSettings({
  task,
  version,
  secrets = [],
}: TaskWithVersion): Record<string, unknown> {
  return {
    name: task.name,
    description: task.description,
    tags: task.tags,
    schedule: task.schedule,
    priority: task.priority,
    request: presentRequest(version.request, secrets),
    timeoutSeconds: version.timeoutMs / 1_000,
    retry: version.retry,
    captureResponse: version.request.captureResponse !== false,
    catchUp: task.catchUp,
    startAt: isoInstant(task.startAtMs),
    endAt: isoInstant(task.endAtMs),
  } satisfies Record<keyof z.input<typeof taskSchema>, unknown>;
}

/** A quota does not pass by itself: it takes a delete, or a higher quota. */
export const QUOTA_RETRY_AFTER = { "retry-after": "60" };

export function tooManyTasks({ used, limit }: OverQuota): HttpProblem {
  const detail = `the tenant has ${used} tasks, of at most ${limit} (quota tasksMax)`;
  return new HttpProblem(429, detail, { headers: QUOTA_RETRY_AFTER });
}

export function nameTaken({ taskId }: NameTaken): HttpProblem {
  const more = taskId === null ? {} : { taskId };
  return new HttpProblem(409, "another task has this name", { more });
}

/** The ETag of a task. */
export function etagOf(task: Task): string {
  return `"${tagOf(task)}"`;
}

/** 412: the task has gone on since the caller read it, or is another one. */
export function tagMismatch(task: Task): HttpProblem {
  const etag = etagOf(task);
  const detail = `the task has the ETag ${etag}, which If-Match does not name`;
  return new HttpProblem(412, detail, { headers: { etag } });
}

function present(task: Task, version: TaskWithVersion["version"], request: unknown): unknown {
  const { maxAttempts, initialDelaySeconds, factor, maxDelaySeconds, jitter } = version.retry;
  const { retryOn = null } = version.retry;
  return {
    id: task.id,
    name: task.name,
    description: task.description,
    tags: task.tags,
    status: task.status,
    schedule: task.schedule,
    priority: task.priority,
    request,
    timeoutSeconds: version.timeoutMs / 1_000,
    retry: { maxAttempts, initialDelaySeconds, factor, maxDelaySeconds, jitter, retryOn },
    captureResponse: version.request.captureResponse !== false,
    catchUp: task.catchUp,
    startAt: isoInstant(task.startAtMs),
    endAt: isoInstant(task.endAtMs),
    // A paused task runs at no time, whatever its schedule would say.
    nextRunAt: task.status === "paused" ? null : isoInstant(task.nextRunAtMs),
    error: task.error,
    version: task.version,
    createdAt: isoInstant(task.createdAtMs),
    updatedAt: isoInstant(task.updatedAtMs),
  };
}
