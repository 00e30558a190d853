import type { HistoryRequest } from "#core/domain/history.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import {
  AUTH_SECRET,
  headerSecret,
  type SecretMark,
  shownFingerprint,
} from "#core/domain/task-secrets.ts";

/** `2026-12-01T09:00:00.000Z`, or null. */
export function isoInstant(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

type AnyRequest = HttpRequest | HistoryRequest;

/**
 * A request as JSON; `bodyBase64` only where the body is binary, size and hash only where history has not kept the body. Secrets by
 * name, and with `marks`, those of its task, by their fingerprints.
 */
export function presentRequest(request: AnyRequest, marks?: readonly SecretMark[]): unknown {
  const { method, url, headers, body, bodyBase64 } = request;
  const shown = { method, url, headers, ...presentSecrets(request, marks), body };
  if ("bodySha256" in request && request.bodySha256 !== null)
    return { ...shown, bodyBytes: request.bodyBytes, bodySha256: request.bodySha256 };
  return bodyBase64 === null ? shown : { ...shown, bodyBase64 };
}

/** A request as lists show it: the size of its body instead of the body. */
export function presentRequestInList(request: AnyRequest, marks?: readonly SecretMark[]): unknown {
  const { method, url, headers, body, bodyBase64 } = request;
  const shown = { method, url, headers, ...presentSecrets(request, marks) };
  const here = () =>
    bodyBase64 === null ? Buffer.byteLength(body ?? "") : Buffer.from(bodyBase64, "base64").length;
  return { ...shown, bodyBytes: request.bodyBytes ?? here() };
}

/** What a request says of its secrets, absent where it has none; history keeps their names neither. */
function presentSecrets(request: AnyRequest, marks?: readonly SecretMark[]): object {
  const { secretHeaders, auth } = request as HttpRequest;
  const marked = (name: string) => {
    const mark = marks?.find((one) => one.name === name);
    return mark === undefined ? {} : { fingerprint: shownFingerprint(mark) };
  };
  return {
    ...(secretHeaders === undefined
      ? {}
      : {
          secretHeaders: Object.fromEntries(
            secretHeaders.map((name) => [name, marked(headerSecret(name))]),
          ),
        }),
    ...(auth === undefined ? {} : { auth: { ...auth, ...marked(AUTH_SECRET) } }),
  };
}
