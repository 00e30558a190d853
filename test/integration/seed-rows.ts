import type { TestDatabases } from "#test/support/mysql.ts";

/**
 * Fills `tasks` and `jobs` by the server itself. Task n has partition n mod 4,096 and tenant n mod 1,000; one in ten is paused;
 * its next run lies within 100 s of now. Its job n is pending (2 of 5), running, succeeded or dead, due within 100 s of now. Each
 * dead one has its letter.
 */
export async function seedRows(
  databases: TestDatabases,
  counts: { readonly tasks: number; readonly jobs: number },
): Promise<void> {
  await databases.run("SET SESSION cte_max_recursion_depth = 1000000");
  await databases.run(
    `INSERT INTO tasks (part, id, tenant_id, name, tags, status, schedule, priority, catch_up, next_run_at, version, request_version, timeout_ms, max_attempts, created_at, updated_at)
     SELECT n % 4096, ${TASK_ID}, CONCAT('tenant-', n % 1000), CONCAT('task ', n), '[]', IF(n % 10 = 0, 'paused', 'active'), '{"type":"cron","expression":"* * * * *","timezone":"UTC"}', n % 4, 'all', ${NEAR}, 1, 1, 30000, 5, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3)
     FROM ${numbers(counts.tasks)}`,
  );
  await databases.run(
    `INSERT INTO task_versions (part, task_id, request_version, request, timeout_ms, retry)
     SELECT n % 4096, ${TASK_ID}, 1, '{"method":"POST","url":"http://127.0.0.1/","headers":{},"body":null,"bodyBase64":null}', 30000, '{"maxAttempts":5,"initialDelaySeconds":10,"factor":3,"maxDelaySeconds":21600,"jitter":0.2}'
     FROM ${numbers(counts.tasks)}`,
  );
  await databases.run(
    `INSERT INTO jobs (part, id, task_id, tenant_id, task_version, status, priority, queue, scheduled_at, run_at, due_at, max_attempts, timeout_ms)
     SELECT n % 4096, CONCAT(UNHEX('019A00000000'), ${TASK_ID}, UNHEX('0000')), ${TASK_ID}, CONCAT('tenant-', n % 1000), 1, ELT(1 + n % 5, 'pending', 'pending', 'running', 'succeeded', 'dead'), n % 4, 16 * (n % 4), TIMESTAMP'2026-01-01 00:00:00.000', ${NEAR}, ${NEAR}, 5, 30000
     FROM ${numbers(counts.jobs)}`,
  );
  await databases.run(
    "INSERT INTO dead_letters (tenant_id, job_id, part, task_id, died_at) SELECT tenant_id, id, part, task_id, run_at FROM jobs WHERE status = 'dead'",
  );
  await databases.run("ANALYZE TABLE tasks, task_versions, jobs, dead_letters");
}

/** What requests leave behind: as many answers by Idempotency-Key, kept until within 100 s of now, and revocations of the last seconds. */
export async function seedRequestRows({ run }: TestDatabases, count: number): Promise<void> {
  const rows = numbers(count);
  await run("SET SESSION cte_max_recursion_depth = 1000000");
  await run(
    `INSERT INTO idempotency_keys (part, tenant_id, route, \`key\`, body_hash, answer, expires_at)
     SELECT n % 4096, CONCAT('tenant-', n % 1000), 'POST /v1/tasks', CONCAT('key ', n), UNHEX(SHA2(n, 256)), '{}', ${NEAR} FROM ${rows}`,
  );
  await run(
    `INSERT INTO revocations (at, task_id) SELECT UTC_TIMESTAMP(3) - INTERVAL n SECOND, ${TASK_ID} FROM ${rows}`,
  );
  await run("ANALYZE TABLE idempotency_keys, revocations");
}

/** Fills the control database with 3,000 tenants, each with two keys and an IAM principal. */
export async function seedControlRows({ run, databasePrefix }: TestDatabases): Promise<void> {
  const control = `${databasePrefix}control`;
  const rows = numbers(3_000);
  await run(
    `INSERT INTO ${control}.tenants (id, name, created_at) SELECT CONCAT('tenant-', n), CONCAT('tenant ', n), UTC_TIMESTAMP(3) FROM ${rows}`,
  );
  for (const digit of ["0", "1"]) {
    await run(
      `INSERT INTO ${control}.api_keys (key_hash, tenant_id, scopes, created_at) SELECT UNHEX(SHA2(CONCAT('${digit}', n), 256)), CONCAT('tenant-', n), '["read", "write"]', UTC_TIMESTAMP(3) FROM ${rows}`,
    );
  }
  await run(
    `INSERT INTO ${control}.principals (arn, tenant_id, scopes, created_at) SELECT CONCAT('arn:aws:iam::123456789012:role/', n), CONCAT('tenant-', n), '["read"]', UTC_TIMESTAMP(3) FROM ${rows}`,
  );
  await run(`ANALYZE TABLE ${control}.tenants, ${control}.api_keys, ${control}.principals`);
}

/** A UUIDv7 of the partition n mod 4,096 that ends in n. */
export const TASK_ID =
  "UNHEX(CONCAT('0190000000007', LPAD(HEX(n % 4096), 3, '0'), '80', LPAD(HEX(n), 14, '0')))";
const NEAR = "UTC_TIMESTAMP(3) + INTERVAL (n % 200) - 100 SECOND";

export function numbers(count: number): string {
  return `(WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < ${count - 1}) SELECT n FROM s) AS s`;
}
