/** Rows of `tasks` and `task_versions` as the domain's values, and the columns in the order in which the readers expect them. */
import type { LimitKey } from "#core/domain/call-limit.ts";
import { PRIORITIES, priorityOfRank } from "#core/domain/queue.ts";
import type { RetryPolicy } from "#core/domain/retry-policy.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import type {
  CatchUp,
  DueTask,
  HttpRequest,
  Task,
  TaskStatus,
  TaskVersion,
  TaskWithVersion,
} from "#core/domain/task.ts";
import type { SecretMark } from "#core/domain/task-secrets.ts";
import type { DueAhead } from "#core/ports/task-store.ts";
import { readInstant, readInstantOrNull, readTaskId, readTenantId } from "./cells.ts";
import type { Cell, Row } from "./pool.ts";
import { listedJson } from "./statements/listed-json.ts";

/** Of `tasks AS t` joined with the newest of `task_versions AS v`: see readTaskWithVersion. */
const TASK_COLUMNS = [
  "t.id",
  "t.tenant_id",
  "t.name",
  "t.description",
  "t.tags",
  "t.status",
  "t.schedule",
  "t.priority",
  "t.catch_up",
  "t.start_at",
  "t.end_at",
  "t.next_run_at",
  "t.made_until",
  "t.version",
  "t.request_version",
  "t.timeout_ms",
  "t.max_attempts",
  "t.error",
  "t.created_at",
  "t.updated_at",
].join(", ");

/** One look at a primary key for each task; NULL for the most, which have none. */
const SECRET_MARKS =
  "(SELECT JSON_ARRAYAGG(JSON_ARRAY(s.name, HEX(s.fingerprint), LENGTH(s.sealed))) FROM task_secrets AS s FORCE INDEX (PRIMARY) WHERE s.part = t.part AND s.task_id = t.id)";

const withVersion = (request: string) =>
  `${TASK_COLUMNS}, ${request}, v.timeout_ms, v.retry, ${SECRET_MARKS}`;

export const TASK_WITH_VERSION_COLUMNS = withVersion("v.request");

/** The same for lists. */
export const LISTED_TASK_COLUMNS = withVersion(listedJson("v.request"));

/** The primary key of a task's newest version. */
export const NEWEST_VERSION =
  "v.part = t.part AND v.task_id = t.id AND v.request_version = t.request_version";

function readTask(row: Row): Task {
  return {
    id: readTaskId(row[0]),
    tenantId: readTenantId(row[1]),
    name: row[2] as string,
    description: row[3] as string | null,
    tags: row[4] as string[],
    status: row[5] as TaskStatus,
    schedule: row[6] as Schedule,
    priority: priorityOfRank(row[7] as number),
    catchUp: row[8] as CatchUp,
    startAtMs: readInstantOrNull(row[9]),
    endAtMs: readInstantOrNull(row[10]),
    nextRunAtMs: readInstantOrNull(row[11]),
    madeUntilMs: readInstantOrNull(row[12]),
    version: row[13] as number,
    requestVersion: row[14] as number,
    timeoutMs: row[15] as number,
    maxAttempts: row[16] as number,
    error: row[17] as string | null,
    createdAtMs: readInstant(row[18]),
    updatedAtMs: readInstant(row[19]),
  };
}

/** Which column of selectTaskSql has the line, and which `jobs_below`. */
export const TASK_LINE = 24;
export const TASK_JOBS_BELOW = 25;

export function readTaskWithVersion(row: Row): TaskWithVersion {
  const task = readTask(row);
  const version: TaskVersion = {
    taskId: task.id,
    requestVersion: task.requestVersion,
    request: row[20] as HttpRequest,
    timeoutMs: row[21] as number,
    retry: row[22] as RetryPolicy,
  };
  if (row[23] === null) return { task, version };
  return { task, version, secrets: readMarks(row[23] as [string, string, number][]) };
}

/** By name: an aggregate promises no order. */
function readMarks(marks: readonly (readonly [string, string, number])[]): SecretMark[] {
  return marks
    .map(([name, hex, bytes]) => ({ name, fingerprint: hex.toLowerCase(), bytes }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The line of a task's jobs: its endpoint's key if that has a limit, else its tenant's, else NULL. Two looks at a primary key (3 µs), or one
 * for the whole statement while nobody has a limit. No locking clause of the statement around them locks them.
 */
export function lineOf(tasks: "tasks" | "t"): string {
  const look = (column: string) =>
    `(SELECT l.limit_key FROM call_limits AS l FORCE INDEX (PRIMARY) WHERE l.limit_key = ${tasks}.${column})`;
  return `IF(EXISTS (SELECT 1 FROM call_limits), COALESCE(${look("endpoint_key")}, ${look("tenant_id")}), NULL)`;
}

const DUE_TASK =
  "id, tenant_id, schedule, priority, catch_up, start_at, end_at, next_run_at, request_version, timeout_ms, max_attempts".split(
    ", ",
  );

/** What the tick reads of a task, and as many NULLs. */
export const DUE_TASK_COLUMNS = [...DUE_TASK, `${lineOf("tasks")} AS limit_key`].join(", ");
export const NO_DUE_TASK_COLUMNS = [...DUE_TASK, "limit_key"]
  .map((column) => `NULL AS ${column}`)
  .join(", ");

/** Where there is a line; nothing where there is none. */
export function readLine(cell: Cell | undefined): { readonly limitKey?: LimitKey } {
  return typeof cell === "string" ? { limitKey: cell as LimitKey } : {};
}

export function readDueTask(row: Row): DueTask {
  return {
    id: readTaskId(row[1]),
    tenantId: readTenantId(row[2]),
    schedule: row[3] as Schedule,
    priority: priorityOfRank(row[4] as number),
    catchUp: row[5] as CatchUp,
    startAtMs: readInstantOrNull(row[6]),
    endAtMs: readInstantOrNull(row[7]),
    nextRunAtMs: readInstant(row[8]),
    requestVersion: row[9] as number,
    timeoutMs: row[10] as number,
    maxAttempts: row[11] as number,
    ...readLine(row[12]),
  };
}

export function readVersion(row: Row): TaskVersion {
  return {
    taskId: readTaskId(row[0]),
    requestVersion: row[1] as number,
    request: row[2] as HttpRequest,
    timeoutMs: row[3] as number,
    retry: row[4] as RetryPolicy,
  };
}

/** The row of lookAheadSql. */
export function readDueAhead([now, ...looks]: Row): DueAhead {
  const priorities = PRIORITIES.map((_, rank) => ({
    firstMs: readInstantOrNull(looks[2 * rank]),
    deepMs: readInstantOrNull(looks[2 * rank + 1]),
  }));
  return { nowMs: readInstant(now), priorities };
}
