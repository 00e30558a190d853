/**
 * What claims leave in the database, because hundreds of them would fill a claim's time and an executor's memory: payloads of runs
 * by hand, and large bodies. Each is read when its call has a slot, and forgotten with it.
 */
import { requestOfJob } from "#core/domain/request-of-job.ts";
import type { HttpRequest, TaskVersion } from "#core/domain/task.ts";
import type { ClaimedJob, JobStore } from "#core/ports/job-store.ts";
import type { CarriedVersion, TaskStore } from "#core/ports/task-store.ts";

export interface WholeRequestDeps {
  readonly tasks: Pick<TaskStore, "loadVersions">;
  readonly jobs: Pick<JobStore, "find">;
}

/** What the job sends, where the claim has brought all of it; null where something was left out. */
export function carriedRequest(job: ClaimedJob, version: CarriedVersion): HttpRequest | null {
  return mayHavePayload(job) || version.bodyLeftOut === true ? null : version.request;
}

/** The same with what was left out. Null when the job or its version is gone; throws what the stores throw. */
export async function loadRequest(
  { tasks, jobs }: WholeRequestDeps,
  job: ClaimedJob,
  version: CarriedVersion,
): Promise<HttpRequest | null> {
  const laidOver = mayHavePayload(job) ? await jobs.find(job.tenantId, job.id) : { payload: null };
  const whole = version.bodyLeftOut === true ? await loadVersion(tasks, version) : version;
  return laidOver === null || whole === null ? null : requestOfJob(laidOver, whole.request);
}

/** Only runs by hand have one. */
function mayHavePayload({ trigger }: ClaimedJob): boolean {
  return trigger === "manual";
}

async function loadVersion(
  tasks: WholeRequestDeps["tasks"],
  { taskId, requestVersion }: CarriedVersion,
): Promise<Pick<TaskVersion, "request"> | null> {
  const [version] = await tasks.loadVersions([{ taskId, requestVersion }]);
  return version ?? null;
}
