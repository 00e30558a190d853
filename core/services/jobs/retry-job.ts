/**
 * Event 18 by hand: a dead job goes in line again, under its own id and with its history. One that has been archived since is made
 * anew, with a link to the first; that takes the request of its task as it is now. Both go into the lane that a run by hand would be in.
 */
import type { FieldProblem } from "#core/domain/field-problem.ts";
import type { JobId, TenantId } from "#core/domain/ids.ts";
import { partsOfJobId, randomRun } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import { payloadFaults } from "#core/domain/payload-faults.ts";
import { priorityOfQueue } from "#core/domain/queue.ts";
import { requestOfJob } from "#core/domain/request-of-job.ts";
import type { TenantLanes } from "#core/domain/tenant-lanes.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { Random } from "#core/ports/random.ts";
import type { MadeRun } from "#core/ports/task-store.ts";
import type { JobServiceDeps, JobWithRequest } from "./get-job.ts";
import { withRequests } from "./get-job.ts";
import { readHistory } from "./read-history.ts";

export interface RetryDeps extends JobServiceDeps {
  readonly random: Random;
  /** Where retries are counted; not given: one stays in its lane, and what is made anew goes into the first of its priority. */
  readonly lanes?: TenantLanes;
}

export type Retried =
  | ({ readonly kind: "moved" } & JobWithRequest)
  | { readonly kind: "not-found" }
  | { readonly kind: "not-dead" }
  /** A test, which is sent once. */
  | { readonly kind: "test" }
  | { readonly kind: "task-gone" }
  | { readonly kind: "attempts-full" }
  /** It was a run by hand whose long body history has not kept. */
  | { readonly kind: "body-not-kept" }
  /** It was a run by hand with what `/run` refuses now, as its task has changed. */
  | { readonly kind: "fits-no-longer"; readonly faults: readonly FieldProblem[] }
  | { readonly kind: "history-away" };

/** `weight`: the tenant's; see TenantLanes. */
export async function retryJob(
  deps: RetryDeps,
  tenantId: TenantId,
  jobId: JobId,
  idempotency: Idempotency<JobWithRequest> | null,
  weight?: number,
): Promise<Retried | Replay> {
  const shard = deps.shards.forJob(jobId);
  const job = await shard.jobs.find(tenantId, jobId);
  if (job === null) return retryArchived(deps, tenantId, jobId, idempotency, weight);
  if (job.trigger === "test") return { kind: "test" };
  const [{ request } = { request: null }] = await withRequests(shard, [job]);
  const keep = idempotency && {
    ...idempotency,
    answerOf: (moved: Job) => idempotency.answerOf({ job: moved, request }),
  };
  const queue =
    job.status === "dead"
      ? deps.lanes?.place(tenantId, priorityOfQueue(job.queue), deps.clock.nowMs(), weight)
      : undefined;
  const result = await shard.jobs.retryOne(tenantId, jobId, keep, queue);
  if (result.kind === "moved") return { ...result, request };
  // The archiver has taken it away meanwhile: its copy is in history.
  return result.kind === "not-found"
    ? retryArchived(deps, tenantId, jobId, idempotency, weight)
    : result;
}

async function retryArchived(
  deps: RetryDeps,
  tenantId: TenantId,
  jobId: JobId,
  idempotency: Idempotency<JobWithRequest> | null,
  weight: number | undefined,
): Promise<Retried | Replay> {
  const { taskId } = partsOfJobId(jobId);
  const { tasks } = deps.shards.forTask(taskId);
  // What was retried and has ended since is not dead: its answer is told by the key, also while history is away.
  const replay = idempotency && (await tasks.findAnswer(tenantId, idempotency));
  if (replay !== null) return replay;
  const read = await readHistory(deps, (history) => history.find(tenantId, jobId));
  if (read.kind === "away") return { kind: "history-away" };
  const entry = read.value;
  if (entry === null) return { kind: "not-found" };
  if (entry.job.trigger === "test") return { kind: "test" };
  if (entry.job.status !== "dead") return { kind: "not-dead" };
  if (entry.payloadBody !== null) return { kind: "body-not-kept" };
  const { payload } = entry.job;
  const withRequest = ({ job, version }: MadeRun): JobWithRequest => ({
    job,
    request: requestOfJob(job, version.request),
  });
  const ran = await tasks.runNow<readonly FieldProblem[]>(
    tenantId,
    taskId,
    (task, nowMs, { request }) => {
      const faults = payloadFaults(payload, request);
      if (faults.length > 0) return { kind: "refuse", refusal: faults };
      const run = randomRun(deps.random.bytes(2));
      const queue = deps.lanes?.place(tenantId, task.priority, nowMs, weight);
      const job = makeManualJob(task, "manual", nowMs, run, payload);
      return { ...job, ...(queue !== undefined && { queue }), retryOf: jobId };
    },
    idempotency && {
      ...idempotency,
      answerOf: (made: MadeRun) => idempotency.answerOf(withRequest(made)),
    },
  );
  if (ran.kind === "made") return { kind: "moved", ...withRequest(ran) };
  if (ran.kind === "refused") return { kind: "fits-no-longer", faults: ran.refusal };
  return ran.kind === "not-found" ? { kind: "task-gone" } : ran;
}
