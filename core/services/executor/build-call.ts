/** What is sent: the version's request, a manual run's payload laid over it, and our three headers. */
import type { Payload } from "#core/domain/job.ts";
import { FAILURE_BODY_BYTES_KEPT } from "#core/domain/limits.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import type { Call } from "#core/ports/caller.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";

const USER_AGENT = "at-and-cron/1";

export function buildCall(job: ClaimedJob, request: HttpRequest): Call {
  return {
    method: request.method,
    url: request.url,
    headers: {
      "user-agent": USER_AGENT,
      ...lowerCased(request.headers),
      ...lowerCased(job.payload?.headers ?? {}),
      "idempotency-key": job.id,
      "x-scheduled-at": new Date(job.scheduledAtMs).toISOString(),
      "x-attempt": String(job.attempt),
    },
    body: bodyOf(request, job.payload),
    timeoutMs: job.timeoutMs,
    responseBytesMax: FAILURE_BODY_BYTES_KEPT,
  };
}

/** Header names meet whatever their case, so that an override replaces instead of doubling. */
function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

function bodyOf(request: HttpRequest, payload: Payload | null): Uint8Array | string | null {
  if (payload?.body !== undefined) return payload.body;
  if (payload?.bodyBase64 !== undefined) return fromBase64(payload.bodyBase64);
  if (request.body !== null) return request.body;
  return request.bodyBase64 === null ? null : fromBase64(request.bodyBase64);
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
