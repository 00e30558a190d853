import type { HistoryRequest } from "#core/domain/history.ts";
import type { HttpRequest } from "#core/domain/task.ts";

/** `2026-12-01T09:00:00.000Z`, or null. */
export function isoInstant(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/**
 * A request as JSON; `bodyBase64` only where the body is binary, size and hash only where history has not kept the body.
 */
export function presentRequest(request: HttpRequest | HistoryRequest): unknown {
  const { method, url, headers, body, bodyBase64 } = request;
  const shown = { method, url, headers, body };
  if ("bodySha256" in request && request.bodySha256 !== null)
    return { ...shown, bodyBytes: request.bodyBytes, bodySha256: request.bodySha256 };
  return bodyBase64 === null ? shown : { ...shown, bodyBase64 };
}

/** A request as lists show it: the size of its body instead of the body. */
export function presentRequestInList(request: HttpRequest | HistoryRequest): unknown {
  const { method, url, headers, body, bodyBase64 } = request;
  if ("bodyBytes" in request) return { method, url, headers, bodyBytes: request.bodyBytes };
  const bodyBytes =
    bodyBase64 === null ? Buffer.byteLength(body ?? "") : Buffer.from(bodyBase64, "base64").length;
  return { method, url, headers, bodyBytes };
}
