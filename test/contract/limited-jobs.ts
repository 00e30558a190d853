/** Tasks with limits, jobs that wait under them, and takes of those. */
import assert from "node:assert/strict";
import { endpointKey, type LimitKey } from "#core/domain/call-limit.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import type { DueTask, Task } from "#core/domain/task.ts";
import type { LimitChanges, LineRequest, TakenLimited } from "#core/ports/limit-store.ts";
import { addJobs, addTask, dbNow, plannedJob } from "./builders.ts";
import type { ContractStore } from "./contract-store.ts";

export interface LimitedTask {
  readonly task: Task & DueTask;
  readonly key: LimitKey;
}

/** A task whose endpoint has a limit. */
export async function limitedTask(
  store: ContractStore,
  limit: LimitChanges,
  changes: Partial<Task> = {},
): Promise<LimitedTask> {
  const { task, version } = await addTask(store, { task: changes });
  const key = endpointKey(task.tenantId, version.request.url);
  assert(key !== null);
  await store.shard.limits.put(key, limit);
  return { task: { ...task, limitKey: key }, key };
}

/** Jobs of it that wait, due so long from now each. */
export async function addWaiting(
  store: ContractStore,
  { task }: LimitedTask,
  offsetsMs: readonly number[],
  queue?: number,
): Promise<Job[]> {
  const nowMs = await dbNow(store);
  const jobs = offsetsMs.map((offsetMs) => {
    const job = plannedJob(task, nowMs, offsetMs);
    return { ...job, dueAtMs: nowMs + offsetMs, queue: queue ?? job.queue };
  });
  await addJobs(store, task, jobs);
  return jobs;
}

const EVERY_QUEUE = Array.from({ length: 64 }, (_, queue) => queue);

export function lineOf(key: LimitKey, changes: Partial<LineRequest> = {}): LineRequest {
  return {
    key,
    queues: EVERY_QUEUE,
    slotsMax: 1_000,
    tenantSlotsMax: 1_000,
    jobsMax: 1_000,
    ...changes,
  };
}

/** A take that must go through. */
export async function takeLines(
  store: ContractStore,
  workerId: WorkerId,
  lines: readonly LineRequest[],
  aheadMs = 0,
): Promise<TakenLimited> {
  const { kind, ...taken } = await store.shard.limits.takeLimited({ workerId, aheadMs, lines });
  assert.equal(kind, "claimed");
  return taken as TakenLimited;
}

export function takeLine(
  store: ContractStore,
  workerId: WorkerId,
  key: LimitKey,
  changes: Partial<LineRequest> & { readonly aheadMs?: number } = {},
): Promise<TakenLimited> {
  const { aheadMs = 0, ...line } = changes;
  return takeLines(store, workerId, [lineOf(key, line)], aheadMs);
}
