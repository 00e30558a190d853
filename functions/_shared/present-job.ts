/** A job as JSON. */
import { endpointOf } from "#core/domain/call-limit.ts";
import type { AttemptRecord, AttemptTimings, Covers, Job } from "#core/domain/job.ts";
import type { JobWithRequest } from "#core/services/jobs/get-job.ts";
import { isoInstant, presentRequest, presentRequestInList } from "./present-request.ts";

export function presentJob({ job, request }: JobWithRequest, nowMs: number): unknown {
  return { ...present(job, nowMs, request && presentRequest(request)) };
}

export function presentJobInList({ job, request }: JobWithRequest, nowMs: number): unknown {
  return { ...present(job, nowMs, request && presentRequestInList(request)) };
}

/** A job in the list of dead letters. */
export function presentDeadLetter(
  letter: JobWithRequest & { readonly diedAtMs: number },
  nowMs: number,
): unknown {
  const { job, request, diedAtMs } = letter;
  const listed = present(job, nowMs, request && presentRequestInList(request));
  return { ...listed, diedAt: isoInstant(diedAtMs) };
}

function present(job: Job, nowMs: number, request: unknown) {
  // Claimed ahead of its time: for the caller it has not begun, and its call has no number yet.
  const unsent = job.status === "running" && job.runAtMs > nowMs;
  return {
    id: job.id,
    taskId: job.taskId,
    trigger: job.trigger,
    status: unsent ? "pending" : job.status,
    priority: job.priority,
    scheduledAt: isoInstant(job.scheduledAtMs),
    runAt: isoInstant(job.runAtMs),
    attempt: unsent ? job.attempt - 1 : job.attempt,
    maxAttempts: job.maxAttempts,
    attempts: presentAttempts(job.attempts),
    request,
    finishedAt: isoInstant(job.finishedAtMs),
    reason: reasonOf(job),
    limit: limitOf(job),
    retryOf: job.retryOf,
    missed: job.covers === null ? null : presentCovers(job.covers),
  };
}

/** Why it ended or is to end, or which limit it waits for. */
function reasonOf(job: Job): string | null {
  if (job.status === "running") return job.cancelReason;
  const limit = limitOf(job);
  return job.status === "waiting" && limit !== null ? `waiting: limit of ${limit}` : job.reason;
}

function limitOf({ limitKey }: Job): string | null {
  return limitKey && (endpointOf(limitKey) ?? "all calls");
}

/** In the order in which they were claimed, as numbers stand in it that are keys. */
function presentAttempts(attempts: Job["attempts"]): unknown[] {
  return Object.values(attempts).map(presentAttempt);
}

function presentAttempt({ claimedAtMs, startedAtMs, ...record }: AttemptRecord): unknown {
  return {
    attempt: record.attempt,
    claimedAt: isoInstant(claimedAtMs ?? null),
    startedAt: isoInstant(startedAtMs),
    lagMs: record.lagMs,
    durationMs: record.durationMs,
    timings: presentTimings(record.timings),
    statusCode: record.statusCode,
    error: record.error,
    responseBody: record.responseBody,
  };
}

export function presentTimings(timings: AttemptTimings | undefined): unknown {
  if (timings === undefined) return null;
  const [dnsMs, connectMs, tlsMs, firstByteMs, totalMs] = timings;
  return { dnsMs, connectMs, tlsMs, firstByteMs, totalMs };
}

function presentCovers({ count, atLeast, fromMs, toMs }: Covers): unknown {
  const covers = { count, from: isoInstant(fromMs), to: isoInstant(toMs) };
  return atLeast === true ? { ...covers, atLeast } : covers;
}
