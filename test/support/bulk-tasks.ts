/** Many tasks at once, made by the server itself: a thousand a statement instead of one a transaction. */
import type { RowDataPacket } from "mysql2/promise";

export interface BulkTasks {
  readonly run: (sql: string) => Promise<RowDataPacket[]>;
  readonly count: number;
  /** Tells batches of one database apart: 0 to 255. */
  readonly batch: number;
  /** What they call. */
  readonly url: string;
  readonly schedule: object;
  /** The first next run, epoch ms; those of the tasks are spread evenly over `spreadMs` from there. */
  readonly dueMs: number;
  readonly spreadMs: number;
  readonly timeoutMs?: number;
  readonly maxAttempts?: number;
  /** Of all of them, 0 (critical) to 3; n mod 4 when left out. */
  readonly priority?: number;
}

const RETRY = {
  maxAttempts: 3,
  initialDelaySeconds: 1,
  factor: 1,
  maxDelaySeconds: 10,
  jitter: 0,
};
const COUNT_MAX = 100_000;

/** Task n has partition n mod 4,096, tenant n mod 100 and priority n mod 4. */
export async function createBulkTasks(tasks: BulkTasks): Promise<void> {
  const { run, count, batch, url, schedule, dueMs, spreadMs, timeoutMs = 30_000 } = tasks;
  const retry = { ...RETRY, maxAttempts: tasks.maxAttempts ?? RETRY.maxAttempts };
  if (count > COUNT_MAX) throw new Error(`at most ${COUNT_MAX} tasks`);
  const hex = batch.toString(16).padStart(2, "0");
  // A UUIDv7 that ends in n: 48 bits of time, version and partition, variant, the rest.
  const id = `UNHEX(CONCAT('019000000${hex}07', LPAD(HEX(n % 4096), 3, '0'), '80', LPAD(HEX(n), 14, '0')))`;
  const first = new Date(dueMs).toISOString().replace("T", " ").replace("Z", "");
  const nextRunAt = `TIMESTAMP'${first}' + INTERVAL FLOOR(n * ${spreadMs} / ${count}) * 1000 MICROSECOND`;
  const numbers = `(WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < ${count - 1}) SELECT n FROM s) AS s`;
  const request = { method: "POST", url, headers: {}, body: null, bodyBase64: null };
  await run(`SET SESSION cte_max_recursion_depth = ${COUNT_MAX}`);
  await run(
    `INSERT INTO task_versions (part, task_id, request_version, request, timeout_ms, retry)
     SELECT n % 4096, ${id}, 1, '${JSON.stringify(request)}', ${timeoutMs}, '${JSON.stringify(retry)}' FROM ${numbers}`,
  );
  await run(
    `INSERT INTO tasks (part, id, tenant_id, name, tags, status, schedule, priority, catch_up, next_run_at, version, request_version, timeout_ms, max_attempts, created_at, updated_at)
     SELECT n % 4096, ${id}, CONCAT('bulk-', n % 100), CONCAT('task ${batch} ', n), '[]', 'active', '${JSON.stringify(schedule)}', ${tasks.priority ?? "n % 4"}, 'all', ${nextRunAt}, 1, 1, ${timeoutMs}, ${retry.maxAttempts}, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM ${numbers}`,
  );
}
