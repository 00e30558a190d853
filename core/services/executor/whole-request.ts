/**
 * Bodies that a claim leaves in the database, because hundreds of them would fill a claim's time and an executor's memory. Each is
 * read when its call has a slot, and forgotten with it.
 */
import type { HttpRequest, TaskVersion } from "#core/domain/task.ts";
import type { ClaimedJob, JobStore } from "#core/ports/job-store.ts";
import type { CarriedVersion, TaskStore } from "#core/ports/task-store.ts";

export interface WholeRequestDeps {
  readonly tasks: Pick<TaskStore, "loadVersions">;
  readonly jobs: Pick<JobStore, "find">;
}

/** What a call is built from: a job with its payload, and the request that the payload is laid over. */
export interface Whole {
  readonly job: ClaimedJob;
  readonly request: HttpRequest;
}

/** The same at once; null where something was left out. */
export function carriedWhole(job: ClaimedJob, version: CarriedVersion): Whole | null {
  const left = job.payloadLeftOut === true || version.bodyLeftOut === true;
  return left ? null : { job, request: version.request };
}

/** Reads what was left out. Null when the job or its version is gone; throws what the stores throw. */
export async function loadWhole(
  { tasks, jobs }: WholeRequestDeps,
  job: ClaimedJob,
  version: CarriedVersion,
): Promise<Whole | null> {
  const row = job.payloadLeftOut === true ? await jobs.find(job.tenantId, job.id) : job;
  const whole = version.bodyLeftOut === true ? await loadVersion(tasks, version) : version;
  if (row === null || whole === null) return null;
  return { job: { ...job, payload: row.payload }, request: whole.request };
}

async function loadVersion(
  tasks: WholeRequestDeps["tasks"],
  { taskId, requestVersion }: CarriedVersion,
): Promise<TaskVersion | null> {
  const [version] = await tasks.loadVersions([{ taskId, requestVersion }]);
  return version ?? null;
}
