/** Jobs by the thousand, made by the server itself: of every task there is, pending, or finished as if executors had done them. */
import type { RowDataPacket } from "mysql2/promise";

export interface BulkJobs {
  readonly run: (sql: string) => Promise<RowDataPacket[]>;
  readonly status: "pending" | "succeeded" | "dead" | "cancelled";
  /** Each task there is gets so many … */
  readonly perTask: number;
  /** … or each of those that this condition of SQL names. */
  readonly where?: string | undefined;
  /** Scheduled times: the first, and how far apart; epoch ms and ms. */
  readonly fromMs: number;
  readonly stepMs: number;
  /** `due_at` against the database's now: below 0 a finished job is to be archived at once. */
  readonly dueInMs: number;
  /** How much earlier each job of a task is due than its next one, up to `dueInMs`; 0 when left out. */
  readonly dueStepMs?: number;
}

const RECORD = {
  attempt: 1,
  lagMs: 4,
  durationMs: 81,
  statusCode: 200,
  error: null,
  responseBody: "accepted, and queued as rpt_01hzy3v8k2",
};

export async function createBulkJobs(jobs: BulkJobs): Promise<void> {
  const { run, status, perTask, fromMs, stepMs, dueInMs, dueStepMs = 0, where = "TRUE" } = jobs;
  const ms = `(${fromMs} + n * ${stepMs})`;
  const at = `TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ${ms} * 1000 MICROSECOND`;
  const dueMs = `(${dueInMs} - (${perTask - 1} - n) * ${dueStepMs})`;
  const due = `UTC_TIMESTAMP(3) + INTERVAL ${dueMs} * 1000 MICROSECOND`;
  const numbers = `(WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < ${perTask - 1}) SELECT n FROM s) AS s`;
  const record = `JSON_OBJECT('1', JSON_SET('${JSON.stringify(RECORD)}', '$.startedAtMs', ${ms} + 4))`;
  // claim_no, attempt, attempts, finished_at
  const done = status === "pending" ? "0, 0, NULL, NULL" : `1, 1, ${record}, ${at}`;
  await run("SET SESSION cte_max_recursion_depth = 100000");
  await run(
    `INSERT INTO jobs (part, id, task_id, tenant_id, task_version, status, priority, queue, scheduled_at, run_at, due_at, max_attempts, timeout_ms, claim_no, attempt, attempts, finished_at)
     SELECT part, UNHEX(CONCAT(LPAD(HEX(${ms}), 12, '0'), HEX(tasks.id), '0000')), tasks.id, tenant_id, request_version, '${status}', priority, priority * 16, ${at}, ${at}, ${due}, max_attempts, timeout_ms, ${done}
     FROM tasks JOIN ${numbers} WHERE ${where}`,
  );
  if (status !== "dead") return;
  await run(
    "INSERT INTO dead_letters (tenant_id, job_id, part, task_id, died_at) SELECT tenant_id, id, part, task_id, finished_at FROM jobs WHERE status = 'dead' ON DUPLICATE KEY UPDATE died_at = jobs.finished_at",
  );
}
