/** Gathers what a run has left: rows of MySQL, those that the archiver has moved, and the calls that the endpoint has seen. */
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { type JobId, jobIdFromBytes, type TaskId } from "#core/domain/ids.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import { listTaskJobs } from "#core/services/jobs/list-task-jobs.ts";
import type { SinkCall } from "#test/support/sink.ts";
import type { FaultDatabase } from "./database.ts";
import type { World } from "./fault.ts";
import type { JobSeen } from "./judge.ts";
import type { Expected } from "./load.ts";

const LOOKED_UP_AT_ONCE = 50;
const PAGE = 50;
/** Tasks whose history is read as a tenant reads it. */
const READ_TASKS = 40;

export async function readJobs(
  { database, history }: World,
  expected: readonly Expected[],
): Promise<Map<JobId, JobSeen>> {
  const rows = await database.run("SELECT id, status, claim_no, lost, reason, attempts FROM jobs");
  const jobs = new Map<JobId, JobSeen>();
  for (const { id, status, claim_no, lost, reason, attempts } of rows) {
    const seen = { status, claimNo: claim_no, lost, reason, attempts: attempts ?? {} };
    jobs.set(jobIdFromBytes(id), seen);
  }
  if (history === null) return jobs;
  const moved = expected.filter(({ id }) => !jobs.has(id));
  for (let from = 0; from < moved.length; from += LOOKED_UP_AT_ONCE) {
    const group = moved.slice(from, from + LOOKED_UP_AT_ONCE);
    const found = await Promise.all(
      group.map(({ id, task }) => history.store.find(task.tenantId, id)),
    );
    for (const entry of found) if (entry !== null) jobs.set(entry.job.id, entry.job);
  }
  return jobs;
}

export function callsByJob(calls: readonly SinkCall[]): Map<JobId, SinkCall[]> {
  const byJob = new Map<JobId, SinkCall[]>();
  for (const call of calls) {
    const key = call.key as JobId;
    const known = byJob.get(key);
    if (known === undefined) byJob.set(key, [call]);
    else known.push(call);
  }
  return byJob;
}

/**
 * How many calls of one executor had come whose results are not in the database: those that may be made again when it is gone.
 * Ask after it has gone and before anybody has taken its jobs: it is told by its lease, the oldest.
 */
export async function countUncommitted({ database, sink }: World): Promise<number> {
  const rows = await database.run(
    `SELECT id, attempt FROM jobs WHERE status = 'running'
       AND worker_id = (SELECT id FROM workers WHERE fenced_at IS NULL ORDER BY lease_until LIMIT 1)`,
  );
  const called = new Set(sink.calls().map(({ key, attempt }) => `${key}/${attempt}`));
  return rows.filter(({ id, attempt }) => called.has(`${jobIdFromBytes(id)}/${attempt}`)).length;
}

/** Reads the jobs of some tasks page by page, as a tenant does: one line for each task whose list is not whole or tells one twice. */
export async function readAsTenant(
  database: FaultDatabase,
  history: HistoryStore,
  expected: readonly Expected[],
): Promise<string[]> {
  const shards = openShards({ ...database, logger: SILENT });
  const deps = { shards, history, clock: systemClock, logger: SILENT };
  const byTask = Map.groupBy(expected, ({ task }) => task.id);
  const problems: string[] = [];
  try {
    for (const [taskId, wanted] of [...byTask].slice(0, READ_TASKS)) {
      const told = await listAll(deps, wanted, taskId);
      const distinct = new Set(told);
      if (distinct.size !== told.length) problems.push(`${taskId}: a job is listed twice`);
      const missing = wanted.filter(({ id }) => !distinct.has(id)).length;
      if (missing > 0) problems.push(`${taskId}: ${missing} jobs are not listed`);
    }
  } finally {
    await shards.close();
  }
  return problems;
}

const SILENT = { info() {}, warn() {}, error() {} };
const NO_FILTER = { statuses: null, fromMs: null, toMs: null };

async function listAll(
  deps: Parameters<typeof listTaskJobs>[0],
  wanted: readonly Expected[],
  taskId: TaskId,
): Promise<JobId[]> {
  const tenantId = wanted[0]?.task.tenantId;
  if (tenantId === undefined) return [];
  const told: JobId[] = [];
  let before: JobId | null = null;
  for (;;) {
    const page = await listTaskJobs(deps, {
      tenantId,
      taskId,
      filter: NO_FILTER,
      before,
      limit: PAGE,
    });
    if (page === null) return told;
    told.push(...page.items.map(({ job }) => job.id));
    if (page.nextBefore === null) return told;
    before = page.nextBefore;
  }
}
