/** On what jobs that succeeded have spent their attempts, where every call is answered well. */
import assert from "node:assert/strict";

/** On a machine that is too busy a connection may fail: that call is made again, and its attempt counted. */
export const FAILED_SHARE_MAX = 0.01;

interface Database {
  run(sql: string): Promise<readonly Record<string, unknown>[]>;
}

/** Each attempt of those that no holder has lost was a call that is recorded, and few of these have failed. */
export async function assertFewFailed({ run }: Database, where = "TRUE"): Promise<void> {
  const [row] = await run(
    `SELECT COUNT(*) AS jobs, SUM(attempt) AS attempts, SUM(attempt <> JSON_LENGTH(attempts)) AS unexplained FROM jobs WHERE ${where} AND status = 'succeeded' AND lost = 0`,
  );
  const [jobs, attempts, unexplained] = [row?.jobs, row?.attempts, row?.unexplained].map(Number);
  assert.equal(unexplained, 0, "attempts that were no calls");
  assert(jobs !== undefined && attempts !== undefined);
  assert.ok(attempts <= jobs * (1 + FAILED_SHARE_MAX), `${attempts} attempts of ${jobs} jobs`);
}
