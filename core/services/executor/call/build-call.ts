/** What is sent: a job's request, its payload laid over, with our three headers. */
import { FAILURE_BODY_BYTES_KEPT } from "#core/domain/limits.ts";
import type { OwnHeader } from "#core/domain/own-headers.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import type { Call } from "#core/ports/caller.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";

const USER_AGENT = "at-and-cron/1";

/** `secretHeaders` are sent as given: a request has no header of the same name. */
export function buildCall(
  job: ClaimedJob,
  request: HttpRequest,
  secretHeaders: Readonly<Record<string, string>>,
): Call {
  return {
    tenantId: job.tenantId,
    method: request.method,
    url: request.url,
    headers: Object.assign(withUserAgent({ ...request.headers, ...secretHeaders }), {
      "idempotency-key": job.id,
      "x-scheduled-at": new Date(job.scheduledAtMs).toISOString(),
      "x-attempt": String(job.attempt),
    } satisfies Record<OwnHeader, string>),
    body: request.bodyBase64 === null ? request.body : fromBase64(request.bodyBase64),
    timeoutMs: job.timeoutMs,
    responseBytesMax: FAILURE_BODY_BYTES_KEPT,
    // The slots of a limit are few: a connection more costs less than one of them that waits.
    opensAtOnce: job.limitKey !== null,
  };
}

/** A tenant's headers go out as written; ours are refused when a task is saved, so none is doubled. A copy. */
function withUserAgent(headers: Readonly<Record<string, string>>): Record<string, string> {
  const given = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
  return given ? { ...headers } : { "user-agent": USER_AGENT, ...headers };
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
