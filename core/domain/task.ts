/** A task: what a tenant asked for. Its request, timeout and retry policy live in immutable versions. */
import type { LimitKey } from "./call-limit.ts";
import type { TaskId, TenantId } from "./ids.ts";
import type { Priority } from "./queue.ts";
import type { RetryPolicy } from "./retry-policy.ts";
import type { Schedule } from "./schedule.ts";
import type { TargetAuth } from "./target-auth.ts";
import type { SecretMark } from "./task-secrets.ts";

export type TaskStatus = "active" | "paused" | "completed" | "deleted";

/** What happens to runs missed by more than MISSED_AFTER_MS: make all, the latest only, or none. */
export const CATCH_UPS = ["all", "latest", "none"] as const;
export type CatchUp = (typeof CATCH_UPS)[number];

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Names of headers whose values are secrets of the task, sorted whatever their case; absent when there is none. */
  readonly secretHeaders?: readonly string[];
  /** How the call says who it is, without its secret; absent when it does not. */
  readonly auth?: TargetAuth;
  /** Text body, kept byte for byte; at most one of `body` and `bodyBase64` is set. */
  readonly body: string | null;
  readonly bodyBase64: string | null;
  /** In lists only: the size of a large body, which is not there. */
  readonly bodyBytes?: number;
  /** Set when nothing of the answer is to be kept. */
  readonly captureResponse?: false;
}

/** Immutable; what a job is bound to, so that an edit never changes a job that exists. */
export interface TaskVersion {
  readonly taskId: TaskId;
  readonly requestVersion: number;
  readonly request: HttpRequest;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
}

export interface Task {
  readonly id: TaskId;
  readonly tenantId: TenantId;
  readonly name: string;
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly status: TaskStatus;
  readonly schedule: Schedule;
  readonly priority: Priority;
  readonly catchUp: CatchUp;
  /** Inclusive; null for no bound. */
  readonly startAtMs: number | null;
  /** Exclusive; null for no bound. */
  readonly endAtMs: number | null;
  readonly nextRunAtMs: number | null;
  /** The latest occurrence that has a row; the next run is the first after it. */
  readonly madeUntilMs: number | null;
  /** Grows with every edit, pause and resume, not by the scheduler. */
  readonly version: number;
  /** The newest row in task_versions: what new jobs get. */
  readonly requestVersion: number;
  /** Copied from that version, so that making jobs reads one row per task. */
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** Why its schedule cannot go on. */
  readonly error: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** What making a task's jobs reads of it: the scheduler's tick fetches no more. */
export type DueTask = Pick<
  Task,
  | "id"
  | "tenantId"
  | "schedule"
  | "priority"
  | "catchUp"
  | "startAtMs"
  | "endAtMs"
  | "nextRunAtMs"
  | "requestVersion"
  | "timeoutMs"
  | "maxAttempts"
> & {
  /** The line of its jobs: its endpoint's key if that has a limit, else its tenant's; absent where neither has one. */
  readonly limitKey?: LimitKey;
};

/** Names a version of a task's request, as jobs do. */
export function versionKey(taskId: TaskId, requestVersion: number): string {
  return `${taskId}/${requestVersion}`;
}

/** A task with the version that new jobs get. */
export interface TaskWithVersion {
  readonly task: Task;
  readonly version: TaskVersion;
  /** Its secrets as they are now, whatever version they came with, by name; absent when it has none. */
  readonly secrets?: readonly SecretMark[];
}

/** Characters at the end of an id, which are random. */
const TAG_ID_LENGTH = 8;

/** The ETag of a task as it is. No other task has it, as one might that gets its name later. */
export function tagOf({ id, version }: Pick<Task, "id" | "version">): string {
  return `${version}-${id.slice(-TAG_ID_LENGTH)}`;
}

/** Whether one of the tags is the task's, or its version alone, which lists and older answers tell. */
export function isTagged(tags: readonly string[], task: Pick<Task, "id" | "version">): boolean {
  return tags.includes(tagOf(task)) || tags.includes(String(task.version));
}
