/** Finished jobs for the contract of the history port. */
import { randomBytes } from "node:crypto";
import { systemDigest } from "#adapters/system/digest.ts";
import { type HistoryEntry, historyEntryOf, historyRequestOf } from "#core/domain/history.ts";
import { makeJobId, makeTaskId, type TaskId, type TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import type { HttpRequest } from "#core/domain/task.ts";

const sha256 = systemDigest.sha256Hex;

export const REQUEST: HttpRequest = {
  method: "POST",
  url: "https://api.example.com/v1/hooks/nightly-report",
  headers: { "content-type": "application/json", "x-team": "billing" },
  body: JSON.stringify({ report: "daily", customer: 48_213, format: "pdf", dryRun: false }),
  bodyBase64: null,
};

/** A task that was made at `madeAtMs`, and its tenant. */
export function makeOwner(madeAtMs: number): { tenantId: TenantId; taskId: TaskId } {
  const tenantId = `t${randomBytes(6).toString("hex")}` as TenantId;
  return { tenantId, taskId: makeTaskId(madeAtMs, 7, randomBytes(8)) };
}

type Owner = ReturnType<typeof makeOwner>;

/** A job that succeeded with its first call and was due in history at once; `run` tells jobs of one instant apart. */
export function finishedJob(
  owner: Owner,
  scheduledAtMs: number,
  changes: Partial<Job> = {},
  run = 0,
): Job {
  const finishedAtMs = changes.finishedAtMs ?? scheduledAtMs + 93;
  return {
    id: makeJobId(scheduledAtMs, owner.taskId, run),
    taskId: owner.taskId,
    tenantId: owner.tenantId,
    taskVersion: 3,
    trigger: "schedule",
    status: "succeeded",
    priority: "normal",
    queue: 32,
    scheduledAtMs,
    runAtMs: scheduledAtMs,
    dueAtMs: finishedAtMs,
    claimNo: 1,
    attempt: 1,
    lost: 0,
    maxAttempts: 5,
    timeoutMs: 30_000,
    workerId: null,
    cancelReason: null,
    attempts: {
      "1": {
        attempt: 1,
        claimedAtMs: scheduledAtMs - 873,
        startedAtMs: scheduledAtMs + 4,
        lagMs: 4,
        durationMs: 81,
        statusCode: 200,
        error: null,
        responseBody: '{"accepted":true,"queuedAs":"rpt_01hzy3v8k2"}',
        timings: [1.2, 14.8, 31.4, 33.1, 80.9],
      },
    },
    payload: null,
    finishedAtMs,
    reason: null,
    retryOf: null,
    covers: null,
    limitKey: null,
    ...changes,
  };
}

export function entryOf(job: Job, request: HttpRequest | null = REQUEST): HistoryEntry {
  return historyEntryOf(job, request === null ? null : historyRequestOf(request, sha256), sha256);
}
