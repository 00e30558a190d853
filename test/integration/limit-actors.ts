/** What executors and tenants do about limits of calls, over and over, beside everybody else: steps of the contention test. */
import assert from "node:assert/strict";
import { endpointKey, type LimitKey, tenantKey } from "#core/domain/call-limit.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import type { Task } from "#core/domain/task.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import type { Shard } from "#core/ports/shards.ts";

/** The endpoint of builders' tasks. */
const URL_OF_TASKS = "https://example.com/hook";

/** Takes what it can from all lines, lets go of slots, and releases lines whose limit is gone. */
export async function takeFromLines(
  { limits, jobs }: Shard,
  workerId: WorkerId,
): Promise<readonly ClaimedJob[]> {
  const queues = new Map<LimitKey, number[]>();
  for (const { key, queue } of await limits.listLines(1_000, 100, null))
    queues.set(key, [...(queues.get(key) ?? []), queue]);
  const lines = [...queues].map(([key, ofKey]) => {
    const slotsMax = Math.floor(Math.random() * 4);
    return { key, queues: ofKey, slotsMax, tenantSlotsMax: 4, jobsMax: 20 };
  });
  if (lines.length === 0) return [];
  const result = await limits.takeLimited({ workerId, aheadMs: 1_000, lines });
  assert.ok(result.kind !== "fenced");
  const taken = result.kind === "unknown" ? result.claim : result;
  const gone = taken.lines.filter(({ limit }) => limit === null);
  for (const { key } of gone.slice(0, 3)) await limits.releaseLine(key, 100);
  const kept = taken.lines.slice(0, 5).map(({ key, slots }) => ({
    key,
    slots: Math.min(slots, Math.floor(Math.random() * 2)),
    takenAtMs: taken.claimedAtMs,
  }));
  await limits.keepSlots(workerId, kept);
  return result.kind === "unknown"
    ? (await jobs.adopt({ ...result.claim, workerId })).jobs
    : taken.jobs;
}

/** Sets the limit of a task's endpoint. */
export async function limitEndpoint({ limits }: Shard, task: Task): Promise<void> {
  const key = endpointKey(task.tenantId, URL_OF_TASKS);
  assert.ok(key !== null);
  await limits.put(key, { concurrency: 5 });
}

/** Sets, changes or takes away the limit of a task's endpoint, or of its tenant. */
export async function changeLimit({ limits }: Shard, task: Task): Promise<void> {
  const endpoint = endpointKey(task.tenantId, URL_OF_TASKS);
  assert.ok(endpoint !== null);
  const key = Math.random() < 0.7 ? endpoint : tenantKey(task.tenantId);
  const chance = Math.random();
  if (chance < 0.2) await limits.put(key, { concurrency: null, perSecond: null });
  else if (chance < 0.6) await limits.put(key, { concurrency: 3 + Math.floor(Math.random() * 5) });
  else await limits.put(key, { perSecond: 50 });
  await limits.countWaiting([endpoint, key], 100);
  await limits.list(task.tenantId, null, 10);
}
