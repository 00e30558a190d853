import type { HttpRequest } from "#core/domain/task.ts";

/** `2026-12-01T09:00:00.000Z`, or null. */
export function isoInstant(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** A request as JSON; `bodyBase64` only where the body is binary. */
export function presentRequest({ method, url, headers, body, bodyBase64 }: HttpRequest): unknown {
  const request = { method, url, headers, body };
  return bodyBase64 === null ? request : { ...request, bodyBase64 };
}

/** A request as lists show it: the size of its body instead of the body. */
export function presentRequestInList({
  method,
  url,
  headers,
  body,
  bodyBase64,
}: HttpRequest): unknown {
  const bodyBytes =
    bodyBase64 === null ? Buffer.byteLength(body ?? "") : Buffer.from(bodyBase64, "base64").length;
  return { method, url, headers, bodyBytes };
}
