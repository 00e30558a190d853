/** Somebody who reads a task's history page by page while it changes: sees each job once, and every one that was there. */
import { OperatingError } from "#core/domain/errors.ts";
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { getJob, type JobServiceDeps } from "#core/services/jobs/get-job.ts";
import { listTaskJobs, type TaskJobsPage } from "#core/services/jobs/list-task-jobs.ts";
import type { Ledger } from "./ledger.ts";

const EVERYTHING = { statuses: null, fromMs: null, toMs: null };
const PAGES_MAX = 1_000;

export interface ReaderDeps extends JobServiceDeps {
  readonly ledger: Ledger;
  /** Ids of the task's jobs that are in a store now. */
  readonly present: (taskId: TaskId) => Iterable<JobId>;
  readonly nowMs: () => number;
}

/** Null when a store was away: nothing can be said then. */
export async function readHistoryOf(
  deps: ReaderDeps,
  tenantId: TenantId,
  taskId: TaskId,
  limit: number,
): Promise<Map<JobId, Job> | null> {
  const { ledger } = deps;
  const wanted = new Set(deps.present(taskId));
  const startMs = deps.nowMs();
  const seen = new Map<JobId, Job>();
  let before: JobId | null = null;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page: TaskJobsPage | null = await orNull(
      listTaskJobs(deps, { tenantId, taskId, filter: EVERYTHING, before, limit }),
    );
    if (page === null || !page.historyAvailable) return null;
    for (const { job, request } of page.items) {
      if (seen.has(job.id))
        ledger.violate("a reader met a job twice", "on pages of its task's history", job.id);
      if (request === null) ledger.violate("a reader met a job without its request", "", job.id);
      seen.set(job.id, job);
    }
    before = page.nextBefore;
    if (before === null) break;
  }
  for (const id of wanted) {
    const removed = ledger.removed.get(id) ?? Number.NEGATIVE_INFINITY;
    if (!seen.has(id) && removed < startMs)
      ledger.violate("a reader missed a job", "in its task's history", id, taskId);
  }
  return seen;
}

/** Asks for one job by its id. */
export async function readJob(
  deps: ReaderDeps,
  tenantId: TenantId,
  taskId: TaskId,
  jobId: JobId,
): Promise<void> {
  const startMs = deps.nowMs();
  const found = await orNull(getJob(deps, tenantId, jobId));
  const removed = deps.ledger.removed.get(jobId) ?? Number.NEGATIVE_INFINITY;
  if (found?.kind === "not-found" && removed < startMs)
    deps.ledger.violate("a reader missed a job", "asked for by its id", jobId, taskId);
}

async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof OperatingError) return null;
    throw error;
  }
}
