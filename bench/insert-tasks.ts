/** Tasks by the thousand, inserted as rows: what the API would take minutes for. */
import { partitionOfTask, type TaskId, taskIdToBytes } from "#core/domain/ids.ts";
import type { LoadTask } from "./load-model.ts";
import type { BenchDatabases } from "./stack.ts";

/** What every call of the benches carries, those of raw undici too. */
export const PAYLOAD = JSON.stringify({ report: "daily", rows: 1_000, pad: "x".repeat(160) });
const RETRY: Retry = {
  maxAttempts: 3,
  initialDelaySeconds: 10,
  factor: 2,
  maxDelaySeconds: 60,
  jitter: 0,
};
const GROUP = 2_000;

type Run = Pick<BenchDatabases, "run">;

export interface Retry {
  readonly maxAttempts: number;
  readonly initialDelaySeconds: number;
  readonly factor: number;
  readonly maxDelaySeconds: number;
  readonly jitter: number;
}

/** Takes away whatever an earlier leg has left. */
export async function emptyTables({ run }: Run): Promise<void> {
  for (const table of ["jobs", "tasks", "task_versions", "dead_letters", "workers", "revocations"])
    await run(`TRUNCATE TABLE ${table}`);
}

export async function insertTasks(
  { run }: Run,
  tasks: readonly LoadTask[],
  retry: Retry = RETRY,
): Promise<void> {
  // In the order of the primary key: pages are filled once.
  const sorted = tasks.toSorted((a, b) => partitionOfTask(a.id) - partitionOfTask(b.id));
  for (let from = 0; from < sorted.length; from += GROUP) {
    const group = sorted.slice(from, from + GROUP);
    await run(
      `INSERT INTO task_versions (part, task_id, request_version, request, timeout_ms, retry) VALUES ${group.map((task) => versionRow(task, retry)).join(",")}`,
    );
    await run(
      `INSERT INTO tasks (part, id, tenant_id, name, tags, status, schedule, priority, catch_up, next_run_at, version, request_version, timeout_ms, max_attempts, created_at, updated_at) VALUES ${group.map((task) => taskRow(task, retry)).join(",")}`,
    );
  }
  await run("ANALYZE TABLE tasks, task_versions, jobs");
}

function versionRow({ id, url, timeoutMs }: LoadTask, retry: Retry): string {
  const headers = { "content-type": "application/json" };
  const request = { method: "POST", url, headers, body: PAYLOAD, bodyBase64: null };
  return `(${partitionOfTask(id)},${hex(id)},1,${quoted(request)},${timeoutMs},${quoted(retry)})`;
}

function taskRow(task: LoadTask, retry: Retry): string {
  const { id, tenantId, schedule, priority, nextRunAtMs, timeoutMs } = task;
  return `(${partitionOfTask(id)},${hex(id)},'${tenantId}','${id}','[]','active',${quoted(schedule)},${priority},'all',${instantSql(nextRunAtMs)},1,1,${timeoutMs},${retry.maxAttempts},UTC_TIMESTAMP(3),UTC_TIMESTAMP(3))`;
}

/** A condition of SQL on `tasks`: exactly so many of those that meet `where`, of all tenants alike; all where there are no more. */
export function someTasksSql(count: number, where = "TRUE"): string {
  // The derived table lets an UPDATE of tasks read them too. A skip scan, while schedulers move tasks on, has missed two priorities of four.
  return `tasks.id IN (SELECT id FROM (SELECT /*+ NO_SKIP_SCAN(tasks) */ id FROM tasks WHERE ${where} ORDER BY CRC32(id), id LIMIT ${count}) AS some)`;
}

/** An instant as the databases' own columns have it. */
export function instantSql(ms: number): string {
  return `TIMESTAMP'${new Date(ms).toISOString().replace("T", " ").replace("Z", "")}'`;
}

function hex(id: TaskId): string {
  return `0x${Buffer.from(taskIdToBytes(id)).toString("hex")}`;
}

/** Nothing that the benches write has quotes or backslashes of its own but JSON's. */
function quoted(value: object): string {
  return `'${JSON.stringify(value).replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
