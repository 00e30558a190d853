import type { TestDatabases } from "#test/support/mysql.ts";
import { numbers, TASK_ID } from "./seed-rows.ts";

/**
 * Beside seedRows: limits of 1,000 tenants, each on one endpoint, and jobs that wait under them, in four queues, due within 100 s of now.
 * Every limit has a slot in the hands of each of 10 workers.
 */
export async function seedLimits({ run }: TestDatabases, waiting: number): Promise<void> {
  await run("SET SESSION cte_max_recursion_depth = 1000000");
  await run(
    `INSERT INTO call_limits (limit_key, concurrency, updated_at) SELECT ${KEY}, 20, UTC_TIMESTAMP(3) FROM ${numbers(1_000)}`,
  );
  await run(
    `INSERT INTO workers (id, lease_until) SELECT UNHEX(LPAD(HEX(n), 32, '0')), UTC_TIMESTAMP(3) + INTERVAL 1 HOUR FROM ${numbers(10)}`,
  );
  await run(
    `INSERT INTO limit_slots (limit_key, worker_id, slots, taken_at) SELECT l.limit_key, w.id, 1, UTC_TIMESTAMP(3) FROM call_limits AS l JOIN workers AS w`,
  );
  await run(
    `INSERT INTO jobs (part, id, task_id, tenant_id, task_version, status, priority, queue, scheduled_at, run_at, due_at, max_attempts, timeout_ms, limit_key)
     SELECT n % 4096, CONCAT(UNHEX('019B00000000'), ${TASK_ID}, UNHEX('0000')), ${TASK_ID}, CONCAT('tenant-', n % 1000), 1, 'waiting', n % 4, 16 * (n % 4), TIMESTAMP'2026-01-01 00:00:00.000', ${NEAR}, ${NEAR}, 5, 30000, ${KEY}
     FROM ${numbers(waiting)}`,
  );
  await run(
    "INSERT INTO limited (job_id, part, limit_key, queue, due_at) SELECT id, part, limit_key, queue, due_at FROM jobs WHERE status = 'waiting'",
  );
  await run("ANALYZE TABLE jobs, call_limits, limit_slots, limited, workers");
}

const KEY = "CONCAT('tenant-', n % 1000, '|https://api.example.com:443')";
/** Whatever the key: 4 and 1,000 have a common factor. */
const NEAR = "UTC_TIMESTAMP(3) + INTERVAL (n DIV 1000 % 200) - 100 SECOND";
