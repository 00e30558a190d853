/** What is sent: the job's request with our three headers. */
import { FAILURE_BODY_BYTES_KEPT } from "#core/domain/limits.ts";
import { requestOfJob } from "#core/domain/request-of-job.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import type { Call } from "#core/ports/caller.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";

const USER_AGENT = "at-and-cron/1";

export function buildCall(job: ClaimedJob, versionRequest: HttpRequest): Call {
  const request = requestOfJob(job, versionRequest);
  return {
    method: request.method,
    url: request.url,
    headers: {
      "user-agent": USER_AGENT,
      ...lowerCased(request.headers),
      "idempotency-key": job.id,
      "x-scheduled-at": new Date(job.scheduledAtMs).toISOString(),
      "x-attempt": String(job.attempt),
    },
    body: request.bodyBase64 === null ? request.body : fromBase64(request.bodyBase64),
    timeoutMs: job.timeoutMs,
    responseBytesMax: FAILURE_BODY_BYTES_KEPT,
  };
}

/** Ours come last and replace, whatever the case of a tenant's. */
function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
